# SPDX-License-Identifier: MIT
"""Every header compiles alone, with what its component may see and nothing else.

What a header reads anyway may stand before it: if it compiles so, and all that stands before it compiles alone, it compiles alone. So of headers that read
each other one file is compiled, which includes the innermost of them first. Where it does not compile, each of its headers is compiled alone."""
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


def compiler():
    return shutil.which(os.environ.get("CXX", "g++"))


def missing():
    return None if compiler() else "no compiler is installed"


def kind_of(name):
    """Whether a header may see Eigen and MPI."""
    return bool(OF_EIGEN.search(name)), bool(OF_MPI.search(name))


def compiled(root, kind, names):
    of_eigen, of_mpi = kind
    seen = [*(["-isystem", EIGEN] if of_eigen else []), *(house.mpi_folders() if of_mpi else [])]
    command = [compiler(), "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{root / 'include'}", *seen, "-x", "c++", "-"]
    return subprocess.run(command, input="".join(f'#include "{name}"\n' for name in names), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace")


def faults_of(root, chain):
    if compiled(root, kind_of(chain[0]), chain).returncode == 0:
        return []
    found = [(name, compiled(root, kind_of(name), [name])) for name in chain]
    return [f"include/{name}: it does not compile alone:\n{done.stdout}" for name, done in found if done.returncode != 0]


def chains(root, names):
    """Those that take long first."""
    reading = house.Reading(root)
    for kind in sorted(set(map(kind_of, names)), reverse=True):  # what may not see Eigen stands in no file that may
        of_kind = [name for name in names if kind_of(name) == kind]
        yield from house.in_chains(of_kind, lambda outer, inner: inner in reading.of(outer), reading.lines)


def check(root):
    mpi = house.mpi_folders()
    names = [str(header.relative_to(root / "include")) for header in house.headers(root)]
    work = list(chains(root, [name for name in names if mpi or not OF_MPI.search(name)]))
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        for faults in pool.map(lambda chain: faults_of(root, chain), work):
            yield from faults
    print(f"{sum(map(len, work))} headers compiled in {len(work)} files")


LACKING = "#pragma once\ninline std::string name;\n"
WHOLE = "#pragma once\n#include <string>\ninline std::string name;\n"
HEADER = "include/heddle/run/a.hpp"
ACCEPTED = {HEADER: WHOLE}
REFUSED = {
    "include/heddle/run/a.hpp: it does not compile alone": {HEADER: LACKING},
    # Its own test may be compiled after others in one file, and says nothing of it.
    "core/a.hpp: it does not compile alone": {"include/heddle/core/a.hpp": LACKING, "tests/core/a_test.cpp": '#include "heddle/core/a.hpp"\n'},
    "c.hpp: it does not compile alone": {"include/heddle/plan/c.hpp": "#pragma once\n#include <Eigen/Core>\n"},
    # Neither a header that is included after <string>, nor one that includes it for others too late, nor one that does on a condition, has it.
    "run/d.hpp: it does not compile alone": {
        "include/heddle/run/d.hpp": LACKING, "include/heddle/run/e.hpp": '#pragma once\n#include <string>\n#include "heddle/run/d.hpp"\n'},
    "run/f.hpp: it does not compile alone": {
        "include/heddle/run/f.hpp": LACKING + '#include "heddle/run/g.hpp"\n', "include/heddle/run/g.hpp": WHOLE.replace("name", "other")},
    "run/h.hpp: it does not compile alone": {
        "include/heddle/run/h.hpp": '#pragma once\n#ifdef ABSENT\n#include "heddle/run/g.hpp"\n#endif\n' + LACKING,
        "include/heddle/run/g.hpp": WHOLE.replace("name", "other")},
}
