# SPDX-License-Identifier: MIT
"""Every header compiles alone, with what its component may see and nothing else.

A test whose first include is its own header compiles it alone already, unless its room reads precompiled headers. All other headers are compiled here."""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess

import house

EIGEN = "/usr/include/eigen3"
OF_EIGEN = re.compile(r"heddle/(compute/eigen|transport|backend)/")
OF_MPI = re.compile(r"heddle/(transport/mpi\w*|backend/\w*mpi\w*)\.hpp$")
FIRST = re.compile(r'^#include ["<](.*)[">]', re.M)
LISTS = {name: re.compile(rf"^set\({name} ([^)]*)\)", re.M) for name in ("rooms_of_cpu_threads", "rooms_that_compute")}


def compiler():
    return shutil.which(os.environ.get("CXX", "g++"))


def missing():
    return None if compiler() else "no compiler is installed"


def precompiled_rooms(root):
    """Rooms whose tests read precompiled headers, as tests/CMakeLists.txt says."""
    path = root / "tests" / "CMakeLists.txt"
    text = path.read_text() if path.exists() else ""
    rooms = {name: set(pattern.search(text)[1].split()) if pattern.search(text) else set() for name, pattern in LISTS.items()}
    return rooms["rooms_of_cpu_threads"] - rooms["rooms_that_compute"]


def compiled_by_its_test(root, header, precompiled):
    name = str(header.relative_to(root / "include"))
    test = root / "tests" / name.removeprefix("heddle/").replace(".hpp", "_test.cpp")
    if not test.exists() or name.split("/")[1] in precompiled:
        return False
    first = FIRST.search(test.read_text())
    return first is not None and first[1] == name


def fault_of(root, header):
    name = str(header.relative_to(root / "include"))
    if OF_MPI.search(name) and not house.mpi_folders():
        return None
    seen = [*(["-isystem", EIGEN] if OF_EIGEN.search(name) else []), *(house.mpi_folders() if OF_MPI.search(name) else [])]
    command = [compiler(), "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{root / 'include'}", *seen, "-x", "c++", "-"]
    done = subprocess.run(command, input=f'#include "{name}"\n', stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return None if done.returncode == 0 else f"include/{name}: it does not compile alone:\n{done.stdout}"


def check(root):
    precompiled = precompiled_rooms(root)
    left = [header for header in house.headers(root) if not compiled_by_its_test(root, header, precompiled)]
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        yield from filter(None, pool.map(lambda header: fault_of(root, header), left))


LACKING = "#pragma once\ninline std::string name;\n"
WHOLE = "#pragma once\n#include <string>\ninline std::string name;\n"
HEADER, TEST = "include/heddle/run/a.hpp", "tests/run/a_test.cpp"
ACCEPTED = {
    HEADER: WHOLE, "include/heddle/core/b.hpp": LACKING, "tests/core/b_test.cpp": '#include "heddle/core/b.hpp"\n',  # the test would tell
    "tests/CMakeLists.txt": "set(rooms_of_cpu_threads run)\nset(rooms_that_compute core)\n",
}
REFUSED = {
    "include/heddle/run/a.hpp: it does not compile alone": {HEADER: LACKING},
    "it does not compile alone:": {HEADER: LACKING, TEST: '#include <string>\n#include "heddle/run/a.hpp"\n'},
    "a.hpp: it does not compile alone": {
        HEADER: LACKING, TEST: '#include "heddle/run/a.hpp"\n', "tests/CMakeLists.txt": "set(rooms_of_cpu_threads run transport)\n"},
    "c.hpp: it does not compile alone": {"include/heddle/plan/c.hpp": "#pragma once\n#include <Eigen/Core>\n"},
}
