# SPDX-License-Identifier: MIT
"""All C++ is as clang-format 14 lays it out with .clang-format; other versions differ in details, so the version is fixed. What it joins by mistake, a
heading of a docstring with the line above it, is refused as well."""
import pathlib
import re
import shutil
import subprocess

import house

PROGRAM = "clang-format-14"
JOINED = re.compile(r"^\s*///.*[^.\s] (?:Shape|Moves|Errors|Source|Tested)  \S")
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
    for path in house.headers(root):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if JOINED.match(line):
                yield f"{path.relative_to(root)}:{number}: a heading of a docstring stands inside a line. Fix: begin a line with it, and indent the one before."
    if done.returncode != 0 and not first:
        yield f"{PROGRAM} failed: {done.stderr}"


ACCEPTED = {"include/heddle/core/a.hpp": "/// Errors  none; O01 of a number\n///         that is none\n/// Tested  core/a_test\ninline int f() { return 1; }\n"}
REFUSED = {"not in the house's format": {"include/heddle/core/a.hpp": "inline int f()  {return 1;}\n"},
           "stands inside a line": {"include/heddle/core/a.hpp": "/// Errors  none, as said Tested  core/a_test\ninline int f() { return 1; }\n"}}
