# SPDX-License-Identifier: MIT
"""clang-tidy finds nothing in the headers, read through one file that includes all of them. The checks are those of .clang-tidy."""
import pathlib
import re
import shutil
import subprocess
import tempfile

import house

EIGEN = "/usr/include/eigen3"
OF_MPI = re.compile(r"(transport/mpi\w*|backend/\w*mpi)\.hpp$")


def program():
    return shutil.which("clang-tidy-19") or shutil.which("clang-tidy")


def missing():
    return None if program() else "clang-tidy is not installed"


def check(root):
    base = root / "include"
    mpi, cuda = house.mpi_folders(), house.cuda_folders()
    read = [str(path.relative_to(base)) for path in house.headers(root)]
    read = [name for name in read if (mpi or not OF_MPI.search(name)) and not house.lacks_cards(name)]
    with tempfile.TemporaryDirectory() as folder:
        unit = pathlib.Path(folder) / "all_headers.cpp"
        unit.write_text("".join(f'#include "{name}"\n' for name in read))
        style = root / ".clang-tidy"
        command = [program(), "--quiet", f"--header-filter={re.escape(str(base))}/.*", "--warnings-as-errors=*", str(unit)]
        command[1:1] = [f"--config-file={style}"] if style.exists() else ["--checks=-*,modernize-use-nullptr,clang-diagnostic-*"]
        done = subprocess.run(
            [*command, "--", "-std=c++20", f"-I{base}", f"-isystem{EIGEN}", *mpi, *(cuda or [])],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, errors="replace")
    for line in done.stdout.splitlines():
        if re.search(r": (warning|error): ", line):
            yield line.replace(f"{root}/", "")
    if done.returncode != 0 and not re.search(r": (warning|error): ", done.stdout):
        yield f"{program()} failed: {done.stdout}"


ACCEPTED = {"include/heddle/core/a.hpp": "inline int* p = nullptr;\n"}
REFUSED = {
    "use nullptr": {"include/heddle/core/a.hpp": "inline int* p = 0;\n"},
    "unknown type name": {"include/heddle/core/a.hpp": "inline thing* p = nullptr;\n"},
}
