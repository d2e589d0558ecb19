#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every rule is guarded: where a Diagnosis with a code is made, a copy of the headers in which it is never made turns a test red.

    python3 tests/house/mutate_rules.py              all rules; minutes
    python3 tests/house/mutate_rules.py P11 S03      the rules of these codes
    python3 tests/house/mutate_rules.py plan/options/batch   the rules of headers whose path has these words
    python3 tests/house/mutate_rules.py --bounds ... not the rules, but the comparisons that lead to them; half an hour for all

A place is a construction `Diagnosis{Code{'X', 1}...}`: the mutant has the code of "nothing found" instead. Where a lambda makes it, each
`return lambda(...)` is a place of its own; so is each use of a member that does nothing but make it. The tests tried are those that contain
the code: cases of tests/fail/ first, then doctests, the header's own before the others. A test is red if it does not compile, does not run to
its end, or says something else.

A bound is an operator in the condition of the `if` that a place stands in, or of the last one before it: < becomes <=, == becomes !=, && becomes
||, 1 that is added or taken away becomes 0, and the other way round. A mutant that no test need see has its reason in REASONS.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import house

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fail"))
import run_fail  # noqa: E402

MADE = re.compile(r"\bDiagnosis(?:\s+\w+)?\s*\{\s*Code\s*\{\s*'([A-Z])'\s*,\s*(\d+)\s*\}")
CODE = re.compile(r"Code\s*\{\s*'[A-Z]'\s*,\s*\d+\s*\}")
LAMBDA = re.compile(r"const auto (\w+) = \[[^\]]*\]\s*(?:\([^)]*\)\s*)?\{\s*return Diagnosis\s*\{")
IF = re.compile(r"\bif (?:constexpr )?\(")
OPERATOR = re.compile(r" (?:(?:<=|>=|==|!=|<|>|&&|\|\|) |[+-] 1\b)")
OTHER = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&"}
# Why no test need see the mutant of an operator -> (line, the operator and, if it stands there more than once, what follows it).
REASONS = {
    "a model of exactly 4,096 layers, or of 1,024 different ones, takes longer to compile than all tests of the room": [
        ("if (graph.node_count > MostNodes)", " > "),
        ("if (graph.leaf_count > Layout::most_leaves)", " > "),
    ],
    "the second of two layers is never layer 0": [("if (twice < 0) return {};", " < ")],
    "parts of as many bytes may be told in either order": [("if (a.bytes > b.bytes) {", " > ")],
    "two instructions never stand in one place": [
        ('if (reduced.last > sum) return refuse(" adds up before it has reduced the gradient of ", use);', " > "),
        ('if (start.first < reduced.last) return refuse(" sends before it has reduced the gradient of ", use);', " < "),
        ('if (wait.first > sum) return refuse(" adds up before it has sent the gradient of ", use);', " > "),
        ("if (seen(ListOp::step, p.uses[own].bucket).first < sum.first)", " < "),
        ("if (seen([](const Instruction& line) { return line.op == ListOp::norm || line.op == ListOp::unscale; }).first < sum.first)", " < "),
    ],
    "of an idle time of which just half is waiting either remark is right": [
        ("if (waiting >= limits.imbalance_percent && (!few || 2 * waiting > idle)) return;", " > "),
    ],
    "gradients that are reduced fill multiples of 4,096 bytes": [
        ("if (p.batch.ranks == 1 || largest < 0 || 4 * most.payload < limits.overlap.value || most.bytes < 1024) return;", " < 1024"),
    ],
}
EXEMPT = [place for places in REASONS.values() for place in places]
MEMBER = re.compile(r"^  (?:\[\[nodiscard\]\] )?(?:static )?constexpr Diagnosis (\w+)\([^{;]*\) (?:const )?\{\n\s*return Diagnosis\s*\{", re.M)
NEVER = "\nnamespace heddle { template <class Made> constexpr auto never(const Made&) { return Made{}; } }\n"
EIGEN = "/usr/include/eigen3"
LONGEST_TEST_SECONDS = 120
SLOW = ("anchors", "backend", "equivalence", "golden")  # a bound is guarded in its own room


def missing():
    return None if shutil.which("g++") else "g++ is not installed"


def end_of_statement(text, begin):
    depth, quoted = 0, False
    for i in range(begin, len(text)):
        if text[i] == '"' and text[i - 1] != "\\":
            quoted = not quoted
        elif not quoted and text[i] in "({[":
            depth += 1
        elif not quoted and text[i] in ")}]":
            depth -= 1
        elif not quoted and depth == 0 and text[i] == ";":
            return i
    return len(text)


def end_of_function(text, begin):
    """The end of the function that the lambda at `begin` stands in: the next brace two columns left of it."""
    column = begin - (text.rfind("\n", 0, begin) + 1)
    found = re.compile(rf"^ {{{max(column - 2, 0)}}}\}}", re.M).search(text, begin)
    return found.start() if found else len(text)


def spots(text):
    """(offset, code, the text with the rule never broken) of each place."""
    for made in MADE.finditer(text):
        code = f"{made.group(1)}{int(made.group(2)):02}"
        by = next((m for m in LAMBDA.finditer(text) if m.start() < made.start() < m.end() + 40), None)
        uses = []
        if by:
            after = end_of_statement(text, made.start())
            uses = list(re.compile(rf"return {by.group(1)}\(").finditer(text, after, end_of_function(text, by.start())))
        member = next((m for m in MEMBER.finditer(text) if m.start() < made.start() < m.end()), None)
        if member:
            uses = list(re.compile(rf"return (?:\w+\.)?{member.group(1)}\(").finditer(text))
        for use in uses:
            begin, end = use.start() + len("return "), end_of_statement(text, use.start())
            yield use.start(), code, text[:begin] + f"heddle::never({text[begin:end]})" + text[end:]
        if not uses:
            inside = CODE.search(text, made.start())
            yield made.start(), code, text[: inside.start()] + "Code{'-', 0}" + text[inside.end() :]


def places(text):
    """(line number, code, what is done, the text with the rule never broken) of each place."""
    for offset, code, mutant in spots(text):
        yield text.count("\n", 0, offset) + 1, code, "can be left out", mutant


def indentation(text, offset):
    line = text[text.rfind("\n", 0, offset) + 1 :]
    return len(line) - len(line.lstrip(" "))


def condition_of(text, offset):
    """Begin and end of the condition of the last `if` before the place whose block, or function, was not left since; None if there is none."""
    for found in reversed(list(IF.finditer(text, 0, offset))):
        depth, end = 1, found.end()
        while depth > 0:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        lines = text[end:offset].split("\n")[1:-1]
        if end <= offset and all(len(line) - len(line.lstrip(" ")) >= indentation(text, found.start()) for line in lines if line.strip()):
            return found.end(), end - 1
    return None


def bounds(text):
    """(line number, code, what is done, the text with another operator) of each operator in a condition."""
    seen = set()
    for offset, code, _ in spots(text):
        begin, end = condition_of(text, offset) or (0, 0)
        for found in OPERATOR.finditer(text, begin, end):
            if found.start() in seen:
                continue
            seen.add(found.start())
            was, now = found.group(0), OTHER.get(found.group(0).strip(), found.group(0).strip()[0] + " 0")
            line = text[text.rfind("\n", 0, found.start()) + 1 : text.find("\n", found.start())].strip()
            if not any(line == exempt and text.startswith(operator, found.start()) for exempt, operator in EXEMPT):
                done = f"takes {now} for{was}in `{text[begin:end]}`"
                yield text.count("\n", 0, found.start()) + 1, code, done, f"{text[:found.start()]} {now} {text[found.end():].lstrip()}"


def tests_of(root, code, header, slow=()):
    """Cases, then doctests that contain the code; those of the header first. None of the folders that are too slow."""
    words = re.compile(rf"heddle\.{code}\b|Code\{{\s*'{code[0]}'\s*,\s*{int(code[1:])}\s*\}}|\b{code}\b")
    cases = sorted((root / "tests" / "fail").glob(f"{code}_*.cpp"))
    doctests = [path for path in house.files(root / "tests", ".cpp") if path.name.endswith("_test.cpp") and words.search(path.read_text())]
    doctests = [path for path in doctests if path.relative_to(root / "tests").parts[0] not in slow]
    own = str(header.with_suffix("")) + "_test.cpp"
    return cases + sorted(doctests, key=lambda path: (not str(path).endswith(own), path.stat().st_size))


def silent(text):
    """core/rule.hpp, so that a Diagnosis of nothing has no words: a test that reads them must see that they are missing."""
    text = re.sub(r"(constexpr Diagnosis\(Code broken,[^{]*\{)", r"\1 if (broken.letter == '-') return;", text)
    return re.sub(r"(operator<<\([^)]*\) \{)(?=\n    text)", r"\1 if (ok()) return *this;", text)


class Scratch:
    """A copy of the headers, and tests against it."""

    def __init__(self, root, folder, both_twins):
        self.root, self.folder, self.include = root, folder, folder / "include"
        self.both_twins = both_twins  # another bound may refuse what is sound
        self.anyway = {}  # tests that are red without any mutant guard nothing: what they need may not be here
        shutil.copytree(root / "include", self.include)
        rule = self.include / "heddle" / "core" / "rule.hpp"
        rule.write_text(silent(rule.read_text()) + NEVER)
        self.flags = ["-std=c++20", "-O0", f"-I{self.include}", f"-I{root / 'tests'}", f"-isystem{EIGEN}", "-pthread"]
        self.flags += ["-include", str(root / "tests" / "rooms.hpp")] if (root / "tests" / "rooms.hpp").exists() else []
        self.main = folder / "main.o"
        self.run(["g++", *self.flags, "-c", str(root / "tests" / "main.cpp"), "-o", str(self.main)])

    def run(self, command, seconds=600):
        try:
            return subprocess.run(command, cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds).returncode
        except subprocess.TimeoutExpired:
            return 124

    def is_red(self, test):
        if test.parent.name == "fail":
            twins = [(0, "")] if not self.both_twins else [run_fail.compile_twin("g++", "g++", test, [str(self.include), EIGEN], repaired=True)]
            twins.append(run_fail.compile_twin("g++", "g++", test, [str(self.include), EIGEN], repaired=False))
            return any(run_fail.complaints(*twins, run_fail.patterns_of(test.read_text(), "g++")))
        program = self.folder / "test"
        source = ["-DHEDDLE_GOLDEN_DIR=\"" + str(self.root / "tests" / "golden") + "\"", str(test), str(self.main), "-o", str(program)]
        return self.run(["g++", *self.flags, *source]) != 0 or self.run([str(program)], LONGEST_TEST_SECONDS) != 0

    def is_red_with(self, header, mutant, test):
        target = self.include / header
        sound = target.read_text()
        target.write_text(mutant + (NEVER if sound.endswith(NEVER) else ""))
        try:
            return self.is_red(test)
        finally:
            target.write_text(sound)

    def is_red_anyway(self, test):
        if test not in self.anyway:
            self.anyway[test] = self.is_red(test)
        return self.anyway[test]

    def guard_of(self, header, mutant, tests):
        return next((test for test in tests if self.is_red_with(header, mutant, test) and not self.is_red_anyway(test)), None)


def check(root, wanted=()):
    wanted = list(wanted)
    found_in = bounds if "--bounds" in wanted else places
    wanted = [word for word in wanted if not word.startswith("--")]
    work = []
    for path in house.headers(root):
        header = path.relative_to(root / "include")
        work += [(header, *place) for place in found_in(path.read_text())]
    if wanted:
        work = [place for place in work if any(word == place[2] or word in str(place[0]) for word in wanted)]
    guarded = 0
    with tempfile.TemporaryDirectory() as folder:
        scratch = Scratch(root, pathlib.Path(folder), found_in is bounds)
        for number, (header, line, code, done, mutant) in enumerate(work, 1):
            if sys.stderr.isatty():  # elsewhere the lines of the results tell how far this is
                print(f"\r\033[K{number} of {len(work)}: {header}:{line}: {code}\r", end="", file=sys.stderr, flush=True)
            guard = scratch.guard_of(header, mutant, tests_of(root, code, header.relative_to("heddle"), SLOW if found_in is bounds else ()))
            guarded += guard is not None
            if guard is None:
                print(f"{header}:{line}: {code} {done}: nothing is red", flush=True)
                yield f"include/{header}:{line}: {code} {done} and no test that names it turns red"
            else:
                print(f"{header}:{line}: {code} {done}: red is {guard.relative_to(root)}", flush=True)
    print(f"{guarded} of {len(work)} rules are guarded")


RULE = "#pragma once\nstruct Code { char letter; int number; };\nstruct Diagnosis { Code code{'-', 0}; };\n"
HEADER = '#pragma once\n#include "heddle/core/rule.hpp"\ninline Diagnosis f(int i) {\n  if (i < 0) return Diagnosis{Code{\'X\', 1}};\n  return {};\n}\n'
BY_LAMBDA = HEADER.replace(
    "  if (i < 0) return Diagnosis{Code{'X', 1}};\n",
    "  const auto broken = [&] { return Diagnosis{Code{'X', 1}}; };\n  if (i < 0) return broken();\n  if (i > 9) return broken();\n")
TEST = '#include "heddle/core/a.hpp"\nint main() { return f(-1).code.letter == Code{\'X\', 1}.letter ? 0 : 1; }\n'
PROJECT = {"include/heddle/core/rule.hpp": RULE, "include/heddle/core/a.hpp": HEADER, "tests/main.cpp": ""}
ACCEPTED = PROJECT | {"tests/core/a_test.cpp": TEST}
REFUSED = {
    "heddle/core/a.hpp:4: X01 can be left out": PROJECT | {"tests/core/a_test.cpp": TEST.replace("? 0 : 1", "? 0 : 0")},
    "a.hpp:4: X01": PROJECT | {"tests/core/b_test.cpp": "int main() { return 0; }\n"},
    "a.hpp:4: X01 can": PROJECT | {"tests/core/a_test.cpp": TEST.replace("{ return", "{ this is no C++; return")},
    "a.hpp:6: X01": ACCEPTED | {"include/heddle/core/a.hpp": BY_LAMBDA},
}

assert [mutant for _, _, _, mutant in bounds(HEADER)] == [HEADER.replace("i < 0", "i <= 0")]
assert [done for _, _, done, _ in bounds(BY_LAMBDA)] == ["takes <= for < in `i < 0`", "takes >= for > in `i > 9`"]

if __name__ == "__main__":
    faults = list(check(house.ROOT, sys.argv[1:]))
    print("\n".join(faults))
    sys.exit(1 if faults else 0)
