# SPDX-License-Identifier: MIT
"""All C++ is as clang-format 14 lays it out with .clang-format; other versions differ in details, so the version is fixed."""
import pathlib
import re
import shutil
import subprocess

import house

PROGRAM = "clang-format-14"
STYLE = "{BasedOnStyle: Google, ColumnLimit: 150}"


def missing():
    return None if shutil.which(PROGRAM) else f"{PROGRAM} is not installed"


def check(root):
    sources = house.files(root, ".hpp", ".cpp", ".cu", ".cuh")
    style = root / ".clang-format"
    style = f"file:{style}" if style.exists() else STYLE
    done = subprocess.run(
        [PROGRAM, f"--style={style}", "--dry-run", "-Werror", *map(str, sources)], stderr=subprocess.PIPE, text=True, errors="replace")
    faults = re.findall(r"^(\S+?):(\d+):\d+: error: code should be clang-formatted", done.stderr, re.M)
    first = {}
    for name, line in faults:
        first.setdefault(pathlib.Path(name).relative_to(root), line)
    for name, line in first.items():
        yield f"{name}:{line}: not in the house's format. Fix: {PROGRAM} -i {name}"
    if done.returncode != 0 and not first:
        yield f"{PROGRAM} failed: {done.stderr}"


ACCEPTED = {"include/heddle/core/a.hpp": "inline int f() { return 1; }\n"}
REFUSED = {"not in the house's format": {"include/heddle/core/a.hpp": "inline int f()  {return 1;}\n"}}
