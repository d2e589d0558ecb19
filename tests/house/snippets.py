# SPDX-License-Identifier: MIT
"""The C++ of README.md and docs/*.md compiles. A block without #include stands after the two front doors, inside namespace heddle's use.
Blocks stand together in one file, each in a namespace of its own, behind a block that may read no header but those that they certainly read: so none finds
what it does not include. The names of all are declared once more behind them, without a namespace, since a block stands alone where a user reads it: none is Heddle's.
What does not compile so is compiled alone. The front doors are precompiled.
A block is left out if the line before it is <!-- not compiled: why -->, if programs.py tries it, or if it needs MPI and there is none."""
import concurrent.futures
import pathlib
import re
import shutil
import subprocess
import tempfile

import house

FRONT_DOORS = ("#include <heddle/heddle.hpp>\n", "#include <heddle/backend/cpu_threads.hpp>\n")
of_doors = [re.search("<(.*)>", door)[1] for door in FRONT_DOORS]
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
    command = ["g++", "-std=c++20", "--param", "ggc-min-heapsize=1048576", f"-I{root / 'include'}", "-isystem", EIGEN, *house.mpi_folders(), *(house.cuda_folders() or []), *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")


IN_NO_NAMESPACE = re.compile(r"^(#(?!include\b)|[ \t]+#|extern\b|template <>|namespace (heddle|std)\b)|\bstruct heddle::", re.M)
INCLUDE = re.compile(r"^#include .*$", re.M)
DIRECTIVE = re.compile(r"^using namespace .*$", re.M)
TYPE = re.compile(r"^(?:template <.*> ?)?(?:(?:struct|class|union|concept|enum(?: class)?) (\w+)|using (\w+) =)", re.M)
OTHER = re.compile(r"^(?!using |return |namespace |struct |class |enum )(?:template <.*> ?)?(?:[\w:]+(?:<[^;={}]*>)?[&*]* )+(\w+)(?=(\()|\[|\{|;| =)", re.M)
NAMESPACE = re.compile(r"^namespace \w+ \{.*?^\}", re.M | re.S)
MOST_TOGETHER = 20  # blocks in one file


class Block:
    def __init__(self, page, line, source, reading):
        self.page, self.line, self.source = page, line, source
        includes = list(house.included(source))
        self.plain = not includes and "#include" not in source
        self.reads = frozenset().union(*map(reading.of, of_doors if self.plain else includes))
        self.may_read = frozenset().union(*map(reading.perhaps, of_doors if self.plain else includes))
        self.alone = len(INCLUDE.findall(source)) != len(includes) or IN_NO_NAMESPACE.search(source) is not None
        outside = NAMESPACE.sub("", source)
        self.functions = {found[1] for found in OTHER.finditer(outside) if found[2]} - {"main"}
        self.names = {found[1] or found[2] for found in TYPE.finditer(outside)} | {found[1] for found in OTHER.finditer(outside) if not found[2]}

    def text(self):
        return f"using namespace heddle;\n{self.source}" if self.plain else self.source


def together(chain):
    parts = []
    for number, block in enumerate(chain):
        parts += [*INCLUDE.findall(block.text()), f"namespace of_block_{number} {{", INCLUDE.sub("", block.text()), "}"]
    parts += [directive for block in chain for directive in DIRECTIVE.findall(block.text())]
    parts += [f"struct {name}; {name}* declared_{name}();" for name in sorted(set().union(*(block.names for block in chain)))]
    parts += [f"struct For_{name} {{}}; void {name}(For_{name}); inline void call_{name}() {{ {name}(For_{name}{{}}); }}"
              for name in sorted(set().union(*(block.functions for block in chain)))]
    return "\n".join([*parts, ""])


def faults_of(root, doors, chain):
    """(compilations, faults) of blocks that stand together; where they do not compile so, halves are tried."""
    with tempfile.TemporaryDirectory() as folder:
        unit = pathlib.Path(folder) / "snippet.cpp"
        unit.write_text(together(chain) if len(chain) > 1 else chain[0].text())
        done = compiled(root, "-fsyntax-only", *(["-include", doors] if doors else []), unit)
    if done.returncode == 0:
        return 1, []
    if len(chain) == 1:
        return 1, [f"{chain[0].page.relative_to(root)}:{chain[0].line}: this block does not compile\n{done.stdout}"]
    halves = [faults_of(root, doors, part) for part in (chain[:len(chain) // 2], chain[len(chain) // 2:])]
    return 1 + sum(count for count, _ in halves), [fault for _, faults in halves for fault in faults]


def chains(blocks):
    blocks = list(blocks)
    contains = lambda outer, inner: blocks[inner].may_read <= blocks[outer].reads
    among = [number for number, block in enumerate(blocks) if not block.alone]
    for chain in house.in_chains(among, contains, lambda number: len(blocks[number].reads)):
        parts = -(-len(chain) // MOST_TOGETHER)
        yield from ([blocks[number] for number in chain[len(chain) * part // parts:len(chain) * (part + 1) // parts]] for part in range(parts))
    yield from ([block] for block in blocks if block.alone)


def check(root):
    blocks_of_pages, mpi, reading = [], house.mpi_folders(), house.Reading(root)
    for page in [root / "README.md", *sorted((root / "docs").glob("*.md"))]:
        if page.exists():
            blocks_of_pages += [Block(page, line, source, reading) for line, source, exempt in blocks(page.read_text())
                                if not exempt and (mpi or "_mpi.hpp>" not in source) and not any(map(house.lacks_cards, house.INCLUDE.findall(source)))]
    behind_doors = frozenset().union(*map(reading.perhaps, of_doors))
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        doors = pathlib.Path(folder) / "doors.hpp"
        doors.write_text("".join(FRONT_DOORS))
        made = compiled(root, "-x", "c++-header", doors, "-o", f"{doors}.gch")
        if made.returncode != 0:
            yield f"the front doors do not compile\n{made.stdout}"
        work = [(doors, chain) for chain in chains(block for block in blocks_of_pages if block.reads >= behind_doors)]
        work += [(None, chain) for chain in chains(block for block in blocks_of_pages if not block.reads >= behind_doors)]
        found = list(pool.map(lambda job: faults_of(root, *job), work))
    print(f"{len(blocks_of_pages)} blocks compiled in {sum(count for count, _ in found)} files")
    yield from (fault for _, faults in found for fault in faults)


DOORS = {"include/heddle/heddle.hpp": "namespace heddle { struct A {}; }\n", "include/heddle/backend/cpu_threads.hpp": ""}
ACCEPTED = DOORS | {
    "README.md": "text\n```cpp\nA a;\n```\n```cpp\n#include <vector>\nstd::vector<int> v;\n```\n<!-- not compiled: an error is shown -->\n```cpp\nB b;\n```\n"
}
OF_TWO = DOORS | {"include/heddle/heddle.hpp": "#pragma once\nnamespace heddle { struct A {}; }\n",
                  "include/heddle/more.hpp": "#pragma once\n#include <heddle/backend/cpu_threads.hpp>\n#include <heddle/heddle.hpp>\nnamespace heddle { struct B {}; }\n"}
REFUSED = {
    "README.md:2": DOORS | {"README.md": "```cpp\nB b;\n```\n"},
    "docs/tour.md:3": DOORS | {"docs/tour.md": "<!-- not compiled: -->\n```cpp\nB b;\n```\n"},
    # A block that compiles only behind another, or only in a namespace.
    "README.md:6: this block does not compile\n": OF_TWO | {
        "README.md": "```cpp\nusing C = A;\n```\n\n```cpp\nB b;\n```\n```cpp\n#include <heddle/more.hpp>\nheddle::B b;\n```\n"},
    "README.md:5: this block does not compile\n": OF_TWO | {"README.md": "```cpp\nA a;\n```\n```cpp\nstruct A {};\nA a;\n```\n"},
    # A header that reads another one only behind a third.
    "README.md:7: this block does not compile\n": DOORS | {
        "include/heddle/asking.hpp": "#pragma once\n#define HEDDLE_ASKED\n",
        "include/heddle/asked.hpp": "#pragma once\n#ifdef HEDDLE_ASKED\n#include <heddle/more.hpp>\n#endif\n",
        "include/heddle/more.hpp": "#pragma once\nnamespace heddle { struct B {}; }\n",
        "README.md": "```cpp\n#include <heddle/asking.hpp>\n#include <heddle/asked.hpp>\nheddle::B b;\n```\n"
                     "```cpp\n#include <heddle/asked.hpp>\n#include <heddle/asking.hpp>\nheddle::B b;\n```\n"},
    "no end": DOORS | {"docs/tour.md": "```cpp\nA a;\n"},
}
