# SPDX-License-Identifier: MIT
"""Every header compiles alone, with what its component may see and nothing else.

What a header reads anyway may stand before it: if it compiles so, and all that stands before it compiles alone, it compiles alone. So of headers that read
each other one file is compiled, which includes the innermost of them first. Where it does not compile, each of its headers is compiled alone.
clang++, if it is there, precompiles some headers that many read, and of these each file has the largest that all its headers read. Each of them is
precompiled by itself: clang++ 14 lost a macro where one had been precompiled behind another. g++ takes three times as long to precompile as to compile."""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

import house

EIGEN = "/usr/include/eigen3"
OF_EIGEN = re.compile(r"heddle/(compute/eigen|transport|backend)/")
OF_MPI = re.compile(r"heddle/(transport/mpi\w*|backend/\w*mpi\w*)\.hpp$")


def compiler():
    return shutil.which(os.environ["CXX"]) if "CXX" in os.environ else shutil.which("clang++") or shutil.which("g++")


def precompiles():
    return "clang" in pathlib.Path(compiler()).name


def missing():
    return None if compiler() else "no compiler is installed"


def kind_of(name):
    """Whether a header may see Eigen and MPI."""
    return bool(OF_EIGEN.search(name)), bool(OF_MPI.search(name))


def compiled(root, kind, names, before=None, into=None):
    """Behind what is precompiled, and precompiled into a file if there is one."""
    of_eigen, of_mpi = kind
    cuda = house.cuda_folders() if any(map(house.OF_CUDA.search, names)) else []
    seen = [*(["-isystem", EIGEN] if of_eigen or cuda else []), *(house.mpi_folders() if of_mpi else []), *cuda]
    command = [compiler(), "-std=c++20", "-Wall", "-Wextra", "-Werror", *(["-include-pch", before] if before else []), f"-I{root / 'include'}", *seen,
               *(["-x", "c++-header", "-fpch-instantiate-templates", "-o", into, "-"] if into else ["-fsyntax-only", "-x", "c++", "-"])]
    return subprocess.run(command, input="".join(f'#include "{name}"\n' for name in names), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace")


def faults_of(root, chain, before=None, into=None):
    if compiled(root, kind_of(chain[0]), chain, before, into).returncode == 0:
        return []
    found = [(name, compiled(root, kind_of(name), [name])) for name in chain]
    return [f"include/{name}: it does not compile alone:\n{done.stdout}" for name, done in found if done.returncode != 0]


PRECOMPILED = [f"heddle/{name}.hpp" for name in ("graph/leaf", "seams/error", "plan/program/program", "plan/plan", "run/rank_tensors", "run/trainer",
                                                 "transport/mpi_header", "compute/eigen/eigen_core")]


def chains(reading, names, files):
    """(what is precompiled, headers that are compiled behind it), those that take long first."""
    def before(name):
        """A header that may not see Eigen or MPI is not precompiled with them."""
        fitting = [head for head in files if head in reading.of(name) and all(a <= b for a, b in zip(kind_of(head), kind_of(name)))]
        return max(fitting, key=reading.lines, default=None)

    kinds = {}
    for name in names:
        if name not in files:
            kinds.setdefault((kind_of(name), before(name) or ""), []).append(name)
    for (_, head), of_kind in sorted(kinds.items(), reverse=True):  # what may not see Eigen stands in no file that may
        for chain in house.in_chains(of_kind, lambda outer, inner: inner in reading.of(outer), reading.lines):
            yield files.get(head), chain


def check(root):
    mpi, reading = house.mpi_folders(), house.Reading(root)
    names = [str(header.relative_to(root / "include")) for header in house.headers(root)]
    names = [name for name in names if (mpi or not OF_MPI.search(name)) and not house.lacks_cards(name)]
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        files = {head: pathlib.Path(folder) / f"{number}.pch" for number, head in enumerate(PRECOMPILED) if head in names and precompiles()}
        for faults in pool.map(lambda head: faults_of(root, [head], None, files[head]), files):
            yield from faults
        files = {head: file for head, file in files.items() if file.exists()}
        work = list(chains(reading, names, files))
        for faults in pool.map(lambda job: faults_of(root, job[1], job[0]), work):
            yield from faults
    print(f"{len(names)} headers compiled in {len(files) + len(work)} files")


LACKING = "#pragma once\ninline std::string name;\n"
WHOLE = "#pragma once\n#include <string>\ninline std::string name;\n"
HEADER = "include/heddle/run/a.hpp"
HEAD = "include/heddle/seams/error.hpp"
ACCEPTED = {HEADER: WHOLE, HEAD: WHOLE.replace("name", "other"), "include/heddle/run/b.hpp": '#pragma once\n#include "heddle/seams/error.hpp"\ninline std::string third;\n'}
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
    # What is precompiled is so by itself, and stands before no header that does not read it before its first line of code.
    "seams/error.hpp: it does not compile alone": {HEAD: LACKING},
    "run/i.hpp: it does not compile alone": {HEAD: WHOLE.replace("name", "other"), "include/heddle/run/i.hpp": LACKING},
    "run/j.hpp: it does not compile alone": {HEAD: WHOLE.replace("name", "other"), "include/heddle/run/j.hpp": LACKING + '#include "heddle/seams/error.hpp"\n'},
}
