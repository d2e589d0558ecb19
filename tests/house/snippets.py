# SPDX-License-Identifier: MIT
"""The C++ of README.md and docs/*.md compiles. A block without #include stands after the two front doors, inside namespace heddle's use.
The front doors are read once for all blocks that name them.
A block is left out if the line before it is <!-- not compiled: why -->, if programs.py tries it, or if it needs MPI and there is none."""
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import tempfile

import house

FRONT_DOORS = ("#include <heddle/heddle.hpp>\n", "#include <heddle/backend/cpu_threads.hpp>\n")
EXEMPT = re.compile(r"<!-- (not compiled: \S.*|(program|refused): \w+) -->")
EIGEN = "/usr/include/eigen3"


def missing():
    return None if shutil.which("g++") else "g++ is not installed"


def blocks(text):
    """(line number, source, whether it is exempt) of each ```cpp block."""
    lines = text.splitlines()
    start = None
    for number, line in enumerate(lines):
        if start is None and line.strip() == "```cpp":
            start = number + 1
        elif start is not None and line.strip() == "```":
            exempt = start > 1 and EXEMPT.fullmatch(lines[start - 2].strip())
            yield start + 1, "\n".join(lines[start:number]) + "\n", bool(exempt)
            start = None
    if start is not None:
        yield start + 1, "#error this block has no end\n", False


def compiled(root, *arguments):
    command = ["g++", "-std=c++20", f"-I{root / 'include'}", "-isystem", EIGEN, *house.mpi_folders(), *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")


def compile_block(root, doors, page, line, source):
    includes = "#include" in source
    read_once = not includes or all(door in source for door in FRONT_DOORS)
    with tempfile.TemporaryDirectory() as folder:
        unit = pathlib.Path(folder) / "snippet.cpp"
        unit.write_text(source if includes else f"using namespace heddle;\n{source}")
        done = compiled(root, "-fsyntax-only", *(["-include", doors] if read_once else []), unit)
    if done.returncode == 0:
        return None
    return f"{page.relative_to(root)}:{line}: this block does not compile\n{done.stdout}"


def check(root):
    work, mpi = [], house.mpi_folders()
    for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        if page.exists():
            work += [(page, line, source) for line, source, exempt in blocks(page.read_text())
                     if not exempt and (mpi or "_mpi.hpp>" not in source)]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        doors = pathlib.Path(folder) / "doors.hpp"
        doors.write_text("".join(FRONT_DOORS))
        made = compiled(root, "-x", "c++-header", doors, "-o", f"{doors}.gch")
        if made.returncode != 0:
            yield f"the front doors do not compile\n{made.stdout}"
        faults = list(pool.map(lambda job: compile_block(root, doors, *job), work))
    print(f"{len(work)} blocks compiled")
    yield from (fault for fault in faults if fault)


DOORS = {"include/heddle/heddle.hpp": "namespace heddle { struct A {}; }\n", "include/heddle/backend/cpu_threads.hpp": ""}
ACCEPTED = DOORS | {
    "README.md": "text\n```cpp\nA a;\n```\n```cpp\n#include <vector>\nstd::vector<int> v;\n```\n<!-- not compiled: an error is shown -->\n```cpp\nB b;\n```\n"
}
REFUSED = {
    "README.md:2": DOORS | {"README.md": "```cpp\nB b;\n```\n"},
    "docs/tour.md:3": DOORS | {"docs/tour.md": "<!-- not compiled: -->\n```cpp\nB b;\n```\n"},
    "no end": DOORS | {"docs/tour.md": "```cpp\nA a;\n"},
}
