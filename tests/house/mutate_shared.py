#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What lowering and checks both ask is checked all the same: a function of a Program, Graph or BatchDivision that is wrong is refused at build.

    python3 tests/house/mutate_shared.py                all functions; minutes
    python3 tests/house/mutate_shared.py levels trained_count   those of these names
    python3 tests/house/mutate_shared.py --twice ...    each with a second mistake

In a copy of the headers each function that gives a number or a flag gives another one: a flag is false and a number one at most; the second
mistakes are that a flag is true and a number one more. tests/house/shared_plans.cpp is compiled with each mutant, and tells which of its plans a check
refuses. Where no check refuses any, the script compares what the lowering makes of the plans: if that is what it was, nothing is to be refused. If it
is not, the mutant has its reason in REASONS, or there is a hole in the checks.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import house

FILES = ("plan/program/*.hpp", "graph/graph.hpp", "plan/options/batch.hpp")
ONLY = {"batch.hpp": "struct BatchDivision {"}  # the part of a header that is shared
PLANS = "tests/house/shared_plans.cpp"
FUNCTION = re.compile(
    r"constexpr (?P<type>bool|int|std::int64_t) (?P<name>\w+)\((?P<parameters>[^()]*)\)(?: const)? \{")
VARIANTS = {
    "bool": {"is false": "false", "is true": "true"},
    "int": {"is 1 at most": "was > 1 ? 1 : was", "is 1 more": "was + 1"},
}
VARIANTS["std::int64_t"] = VARIANTS["int"]
TOLD = re.compile(r"static assertion failed:? \"?plan (\w+)")
# Functions of which no check says anything although what is made of the plans changes -> why that is right.
REASONS = {
    ("travels", "is true"): "parts that nobody writes have room to spare",
    ("gathers_input", "is false"): "what is gathered is kept for the backward, which reads the same of it",
    ("flat_elements", "is 1 at most"): "neither lowering nor checks ask it: the number of the Program, by which this script compares, does",
    ("total", "is 1 at most"): "stages that are cut elsewhere compute the same",
    ("needs_gradient", "is false"): "operations are counted with it, by which stages are cut: those that are cut elsewhere compute the same",
    ("last_untrained", "is 1 at most"): "layers before the first trained one make gradients that nobody reads",
}


def missing():
    return None if shutil.which("g++") else "g++ is not installed"


def end_of_block(text, begin):
    depth = 1
    while depth > 0:
        depth += {"{": 1, "}": -1}.get(text[begin], 0)
        begin += 1
    return begin - 1


def mutants(text, only=None, mistakes=1):
    """(name, what is wrong, the text with it) of each function."""
    first = text.index(only) if only else 0
    last = end_of_block(text, first + len(only)) if only else len(text)
    for found in FUNCTION.finditer(text, first, last):
        end = end_of_block(text, found.end())
        body = text[found.end() : end]
        for what, value in list(VARIANTS[found["type"]].items())[:mistakes]:
            unused = "[[maybe_unused]] " if "was" not in value else ""
            wrong = f" {unused}const {found['type']} was = [&]() -> {found['type']} {{{body}}}(); return {value}; "
            yield found["name"], what, text[: found.end()] + wrong + text[end:]


def work_of(root, mistakes):
    include = root / "include" / "heddle"
    for pattern in FILES:
        for path in sorted(include.glob(pattern)):
            for name, what, text in mutants(path.read_text(), ONLY.get(path.name), mistakes):
                yield path.relative_to(include), name, what, text


class Scratch:
    """A copy of the headers, and the plans against it."""

    def __init__(self, root, folder):
        self.root, self.folder, self.include = root, folder, folder / "include"
        shutil.copytree(root / "include", self.include)
        self.sound = self.programs()

    def compile(self, *options):
        command = ["g++", "-std=c++20", "-O0", f"-I{self.include}", *options, str(self.root / PLANS)]
        try:
            return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, 124, "error: it does not end")

    def programs(self):
        """What the lowering makes of the plans; nothing if it makes nothing."""
        program = self.folder / "programs"
        if self.compile("-DHEDDLE_PROGRAMS", "-o", str(program)).returncode != 0:
            return ""
        return subprocess.run([str(program)], stdout=subprocess.PIPE, text=True, timeout=60).stdout

    def verdict(self):
        """Which plans are refused; or why nothing is to be refused; or None if that is a hole."""
        compiled = self.compile("-fsyntax-only")
        refused = TOLD.findall(compiled.stdout)
        if refused:
            return "refused: " + ", ".join(sorted(set(refused)))
        if compiled.returncode != 0:
            return "the plans do not compile"
        return "no plan is another" if self.programs() == self.sound else None

    def verdict_with(self, header, text):
        target = self.include / "heddle" / header
        sound = target.read_text()
        target.write_text(text)
        try:
            return self.verdict()
        finally:
            target.write_text(sound)


def check(root, wanted=()):
    mistakes = 2 if "--twice" in wanted else 1
    names = [word for word in wanted if not word.startswith("--")]
    work = [one for one in work_of(root, mistakes) if not names or one[1] in names]
    counts, holes = {}, 0
    with tempfile.TemporaryDirectory() as folder:
        scratch = Scratch(root, pathlib.Path(folder))
        if not scratch.sound or scratch.compile("-fsyntax-only").returncode != 0:
            yield f"{PLANS}: with no mutant it does not compile"
            return
        for header, name, what, text in work:
            verdict, reason = scratch.verdict_with(header, text), REASONS.get((name, what))
            kind = (verdict or "accepted").split(":")[0]
            counts[kind] = counts.get(kind, 0) + 1
            print(f"{header}: {name} {what}: {verdict or 'accepted, ' + (reason or 'and nobody knows why')}", flush=True)
            if verdict is None and reason is None:
                yield f"include/heddle/{header}: {name}() {what}, and every check accepts plans that are lowered otherwise"
            if verdict is not None and reason is not None:
                yield f"include/heddle/{header}: {name}() {what} is refused, or changes nothing; take it off the list of reasons"
    print(f"{len(work)} mutants: " + ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())))


HEADER = "#pragma once\nstruct Storage {\n  [[nodiscard]] constexpr int parts() const { return 2; }\n" + (
    "  constexpr bool sliced() const { return parts() > 1; }\n};\n")
SHARED = ('#include "heddle/plan/program/a.hpp"\n#ifdef HEDDLE_PROGRAMS\n#include <cstdio>\n'
          'int main() { std::printf("%d %d", Storage{}.parts(), Storage{}.sliced()); }\n'
          "#else\nWHAT\n#endif\n")
PROJECT = {"include/heddle/plan/program/a.hpp": HEADER}
ACCEPTED = PROJECT | {PLANS: SHARED.replace("WHAT", 'static_assert(Storage{}.parts() == 2, "plan a");\nstatic_assert(Storage{}.sliced(), "plan b");')}
REFUSED = {
    "parts() is 1 at most, and every check accepts": PROJECT | {PLANS: SHARED.replace("WHAT", 'static_assert(Storage{}.parts() > 0, "plan a");')},
    "sliced() is false, and every check accepts": PROJECT | {PLANS: SHARED.replace("WHAT", 'static_assert(Storage{}.parts() == 2, "plan a");')},
    "with no mutant it does not compile": PROJECT | {PLANS: SHARED.replace("WHAT", 'static_assert(Storage{}.parts() == 3, "plan a");')},
}

if __name__ == "__main__":
    faults = list(check(house.ROOT, sys.argv[1:]))
    print("\n".join(faults))
    sys.exit(1 if faults else 0)
