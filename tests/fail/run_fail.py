#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Judges one must-not-compile case on one compiler.

A case is tests/fail/<code>_<rule>.cpp with two twins, one token apart: the broken one, and under -DHEDDLE_REPAIRED the repaired one.
It passes only if the repaired twin compiles, the broken twin does not, every pattern of the case is found, `error:` occurs exactly
once, and what the compiler says stays under 15 lines. Lines of a case that are read here:
    // expect: <regular expression>            every compiler
    // expect-g++: / expect-clang: / expect-nvcc: <regular expression>
    // compilers: g++ clang++ nvcc             default: g++ clang++
    // slow: nvcc                              of these compilers, those on which only -DHEDDLE_SLOW_TESTS=ON judges the case
    // mistake: <words>                        a row of docs/first_mistakes.md, which must say as many errors and, but for the door, lines
    // flags: -fno-exceptions                  for both twins
    // broken-flags: -std=c++17                for the broken twin, which then needs no text of its own
    // needs: cuda_runtime_api.h               skipped unless a folder has this file
    // broken-without: Eigen/Core              the broken twin is compiled without the folders that have this file
    // errors: 2                               where the compiler adds one of its own that no library can take away; errors-g++: 2 on g++ alone

With --precompiled FOLDER the headers that a case names are read from there (--precompile makes them): most of what the cases cost is reading them.
A twin that does not pass so, or whose answer may be too long without them, is compiled as a user compiles it.
--precompile also compiles repaired twins, many in one file; those that compile so are not compiled again, unless their text changes.
So it does with broken twins: where the part of a case in what the compiler says of all (answers.py) passes, the case is not compiled again.
An error that cases share is said of the first alone. Cases without any are compiled together again, as long as one more is answered for. A second error of
a case that a case before it shares is hidden. clang reads the cases from the last to the first, so this stays so on both only where cases on both sides
share it; -DHEDDLE_SLOW_TESTS=ON compiles each twin alone, and sees that too.
"""
import argparse
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import answers

SKIPPED = 77
MOST_LINES = 15
LINES_OF_ANOTHER_ERROR = 5
SPARE_LINES = {"g++": 2, "clang": 1}  # a door that is not the first header of a case shortens "In file included from" by at most so many
DEFAULT_COMPILERS = "g++ clang++"


def family(compiler):
    name = pathlib.Path(compiler).name
    return "nvcc" if name.startswith("nvcc") else "clang" if name.startswith("clang") else "g++"


def find(compiler):
    """The program behind a compiler's name; clang++ is the newest of the two that Heddle is tried with."""
    if compiler == "clang++":
        return shutil.which("clang++-19") or shutil.which("clang++")
    if compiler == "nvcc":
        return shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    return shutil.which(compiler)


def patterns_of(text, kind):
    return [p.strip() for p in re.findall(rf"^// expect(?:-{re.escape(kind)})?:(.*)$", text, re.M)]


FRONT_DOOR = "heddle/heddle.hpp"
DOORS = {  # what is precompiled, and the headers of Heddle that it reads; what takes longest first
    "spmd": ["heddle/backend/spmd_threads.hpp", FRONT_DOOR],
    "cpu": ["heddle/backend/cpu_threads.hpp"],
    "field": ["heddle/backend/field_threads.hpp"],
    "front_door": [FRONT_DOOR],
    "synthetic": ["heddle/io/synthetic.hpp"],
    "deadlock": ["heddle/core/fire.hpp", "heddle/plan/check/deadlock.hpp"],
}


def included_by(text):
    return re.findall(r'^#include "(heddle/[^"]*)"', text, re.M)


def headers_of_broken(text):
    return set(included_by(re.sub(r"^#ifdef HEDDLE_REPAIRED\n.*\n#else\n", "", text, flags=re.M)))


def door_of(text):
    """The first door that reads nothing that the broken twin does not include, since a case may have a name of another header; none if there is none."""
    return next((door for door, held in DOORS.items() if headers_of_broken(text).issuperset(held)), None)


def spare_lines(text, kind):
    """By how many lines an answer may be longer without the door: not at all if the case reads the same headers first."""
    door = door_of(text)
    return SPARE_LINES.get(kind, 0) if door is not None and included_by(text)[:len(DOORS[door])] != DOORS[door] else 0


def without_door(words, folder):
    """clang tells of the door in a line of its own."""
    return re.sub(rf"^In file included from {re.escape(str(folder))}.*\n", "", words, flags=re.M)


def reads(includes):
    """The flags for these folders: Heddle's is the user's own, the others are of the system."""
    return [word for folder in includes for word in (["-I" + folder] if (pathlib.Path(folder) / "heddle").is_dir() else ["-isystem", folder])]


def precompiled(folder, compiler, door):
    """The header that lies beside its precompiled form, and that form: a folder for each compiler, since none reads that of another."""
    header = pathlib.Path(folder) / pathlib.Path(compiler).name / f"{door}.hpp"
    return header, header.with_suffix(".hpp.gch" if family(compiler) == "g++" else ".hpp.pch")


NOT_PRECOMPILED = {"g++": ("synthetic", "spmd")}  # this compiler reads these doors so few times that to precompile them takes longer


def cases_of(compiler):
    """The cases of this compiler that read a door, by door."""
    by_door = {}
    for case in sorted(pathlib.Path(__file__).parent.glob("*.cpp")):
        text = case.read_text()
        compilers = [name for name in words_after("compilers", text) or DEFAULT_COMPILERS.split() if name not in words_after("slow", text)]
        if door_of(text) and compiler in compilers and not flags_of(text) and not breaks_by_command(text):
            by_door.setdefault(door_of(text), []).append(case)
    return by_door


def precompile(compiler, includes, folder):
    """Exit code and words of the compiler that turns the doors of its cases into files that it reads faster."""
    words = ""
    for door in cases_of(compiler):
        header, target = precompiled(folder, compiler, door)
        if door in NOT_PRECOMPILED.get(family(compiler), ()):
            target.unlink(missing_ok=True)
            continue
        header.parent.mkdir(parents=True, exist_ok=True)
        header.write_text("".join(f'#include "{name}"\n' for name in DOORS[door]))
        more = ["-fpch-instantiate-templates"] if family(compiler) == "clang" else []  # else every case instantiates what inline functions use
        command = [find(compiler), "-std=c++20", *reads(includes), "-w", *more, "-x", "c++-header", str(header), "-o", str(target)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        words += done.stdout
        if done.returncode != 0:
            return done.returncode, words
    return 0, words


TO_AN_OBJECT = ["-c", "-x", "cu", "-Xcompiler", "-fsyntax-only"]  # the host's compiler, which comes last, only reads: no object is left
TOGETHER = 40  # broken twins in one file: the more, the more share an error that is said of one of them
REPAIRED_TOGETHER = 240  # repaired ones, which share what they instantiate
BY_ITSELF = re.compile(r"^#define", re.M)  # what cannot stand beside others
OUTSIDE = re.compile(r"^(namespace heddle|template <>|template <[^>]*> struct heddle::)", re.M)  # what cannot stand inside a namespace: cases with it share a file if their names differ


def compiled_together(folder, compiler):
    return pathlib.Path(folder) / pathlib.Path(compiler).name / "repaired.txt"


def answers_together(folder, compiler):
    return pathlib.Path(folder) / pathlib.Path(compiler).name / "broken.json"


def mark_of(case):
    return f"{case.name} {hashlib.sha256(case.read_bytes()).hexdigest()}"


def compile_together(cases, door, compiler, includes, folder):
    """Those of the repaired twins that compile, each in a namespace of its own; where some do not, halves are tried."""
    texts = [case.read_text() for case in cases]
    include = re.compile(r"^#include .*\n", re.M)
    unit = pathlib.Path(folder) / pathlib.Path(compiler).name / f"{door}_together.cpp"
    unit.write_text("".join(sorted({line for text in texts for line in include.findall(text)})) + "#define HEDDLE_REPAIRED\n" +
                    "".join(apart(i, text, include.sub("", text)) for i, text in enumerate(texts)))
    to = TO_AN_OBJECT if family(compiler) == "nvcc" else ["-fsyntax-only"]
    command = [find(compiler), "-std=c++20", "-w", *flags_of_precompiled(folder, compiler, door), *reads(includes), *to, str(unit)]
    if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
        return cases
    half = len(cases) // 2
    return [case for part in (cases[:half], cases[half:]) if part and half for case in compile_together(part, door, compiler, includes, folder)]


def groups(cases, door, most=TOGETHER):
    """So many as share a file; those that read more than the door are apart, since one may lack what another reads, and so are those outside a namespace."""
    held = set(DOORS.get(door, ()))
    for more, outside in ((False, False), (True, False), (False, True), (True, True)):
        kind = [case for case in cases if (not headers_of_broken(text := case.read_text()) <= held, bool(OUTSIDE.search(text))) == (more, outside)]
        yield from (kind[first:first + most] for first in range(0, len(kind), most))


def apart(number, text, inside):
    """The text of a case between others."""
    return f"{inside}\n" if OUTSIDE.search(text) else f"namespace case_{number} {{\n{inside}}}\n"


def compile_repaired(compiler, includes, folder):
    """Notes which repaired twins need no compilation of their own."""
    by_door = {door: [case for case in cases if not BY_ITSELF.search(case.read_text())] for door, cases in cases_of(compiler).items()}
    if family(compiler) == "nvcc":  # it reads no door
        by_door = {"every": [case for cases in by_door.values() for case in cases]}
    good = [case for door, cases in by_door.items() for group in groups(cases, door, REPAIRED_TOGETHER)
            for case in compile_together(group, door, compiler, includes, folder)]
    compiled_together(folder, compiler).write_text("".join(f"{mark_of(case)}\n" for case in good))
    return f"{len(good)} of {sum(map(len, by_door.values()))} repaired twins compiled together\n"


def compile_broken_together(cases, door, compiler, includes, folder):
    """What the compiler says of each broken twin, by mark; of some nothing. Where an answer cannot be divided, halves are tried."""
    include = re.compile(r"^#include .*", re.M)
    texts = [re.sub(r"^#ifdef HEDDLE_REPAIRED\n.*\n#else\n(.*)\n#endif\n", r"\n\n\n\1\n\n", case.read_text(), flags=re.M) for case in cases]
    unit = pathlib.Path(folder) / pathlib.Path(compiler).name / f"{door}_broken_together.cpp"
    unit.write_text("".join(sorted({f"{line}\n" for text in texts for line in include.findall(text)})) +
                    "".join(apart(i, text, f'#line 1 "{case}"\n{include.sub("", text)}\n#line 1 "between_cases"\n')
                            for i, (case, text) in enumerate(zip(cases, texts))))
    every_error = "-ferror-limit=0" if family(compiler) == "clang" else "-fmax-errors=0"
    command = [find(compiler), "-std=c++20", "-Wno-return-type", every_error, *flags_of_precompiled(folder, compiler, door), *reads(includes), "-fsyntax-only", str(unit)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=dict(os.environ, LC_ALL="C"))
    parts = answers.divided(done.stdout, [str(case) for case in cases], str(unit)) if done.returncode != 0 else None
    if parts is not None:
        return {mark_of(case): parts[str(case)] for case in cases if str(case) in parts}
    half = len(cases) // 2
    found = {}
    for part in (cases[:half], cases[half:]) if half else ():
        found |= compile_broken_together(part, door, compiler, includes, folder)
    return found


def compile_broken(compiler, includes, folder):
    """Notes what the compiler says of broken twins that it reads many in one file; those without an answer are asked again, as long as one more gets an answer.
    A case to which every compiler adds an error is compiled alone, since the added error may name no case."""
    found, tried = {}, 0
    for door, cases in cases_of(compiler).items():
        left = [case for case in cases if not BY_ITSELF.search(case.read_text()) and not words_after("errors", case.read_text())]
        left = left[::-1] if family(compiler) == "clang" else left
        tried, before = tried + len(left), len(left) + 1
        while 0 < len(left) < before:
            before = len(left)
            for group in groups(left, door):
                found |= compile_broken_together(group, door, compiler, includes, folder)
            left = [case for case in left if mark_of(case) not in found]
    answers_together(folder, compiler).write_text(json.dumps(found))
    return f"{len(found)} of {tried} broken twins answered for together\n"


def flags_of_precompiled(folder, compiler, door):
    """g++ finds it beside the header, clang is told."""
    if folder is None or door is None:
        return []
    header, target = precompiled(folder, compiler, door)
    if not target.exists():
        return []
    return ["-include", str(header)] if family(compiler) == "g++" else ["-include-pch", str(target)]


def words_after(mark, text):
    return [word for line in re.findall(rf"^// {mark}:(.*)$", text, re.M) for word in line.split()]


def flags_of(text):
    return words_after("flags", text)


def flags_of_broken(text):
    return words_after("broken-flags", text)


def errors_of(text, kind):
    """How many errors a compiler of this kind says: one, but where a line of the case names another number, for all or for this kind."""
    return int(([*words_after(f"errors-{re.escape(kind)}", text), *words_after("errors", text)] or ["1"])[0])


def breaks_by_command(text):
    """The twins are one text: what breaks one of them stands in the command."""
    return bool(flags_of_broken(text) or words_after("broken-without", text))


def folders_for(text, includes, repaired):
    lacking = [] if repaired else words_after("broken-without", text)
    return [folder for folder in includes if not any((pathlib.Path(folder) / name).exists() for name in lacking)]


def compile_twin(program, kind, case, includes, repaired, more=()):
    """Exit code and words of the compiler, in the form in which a user meets them."""
    text = case.read_text()
    flags = ["-std=c++20", *flags_of(text), *([] if repaired else flags_of_broken(text)), *more, *reads(folders_for(text, includes, repaired))]
    flags += ["-DHEDDLE_REPAIRED"] if repaired else []
    environment = dict(os.environ, LC_ALL="C")
    with tempfile.TemporaryDirectory() as folder:
        if kind == "nvcc":
            command = [program, *flags, "-c", "-x", "cu", "-o", str(pathlib.Path(folder) / "case.o"), str(case)]
        else:
            command = [program, *flags, "-fsyntax-only", str(case)]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment)
    return done.returncode, done.stdout


def complaints_of_repaired(code, output, _):
    if code != 0:
        yield f"the repaired twin does not compile:\n{output}"


def counts(output):
    """Errors and lines of what a compiler says."""
    return len(re.findall(r"\berror\s*:", output)), len(output.splitlines())


def complaints_of_broken(code, output, patterns, most_lines=MOST_LINES, wanted=1):
    if not patterns:
        yield "the case has no line '// expect: <regular expression>'"
    if code == 0:
        yield "the broken twin compiles"
    for pattern in patterns:
        if not re.search(pattern, output):
            yield f"the pattern is not found: {pattern}"
    errors, lines = counts(output)
    most_lines += (wanted - 1) * LINES_OF_ANOTHER_ERROR
    if errors != wanted:
        yield f"'error:' occurs {errors} times, not {'once' if wanted == 1 else wanted}"
    if lines >= most_lines:
        yield f"the compiler says {lines} lines, {most_lines - 1} are allowed"


def complaints(repaired, broken, patterns):
    """What is wrong with the two results; nothing if the case passes."""
    yield from complaints_of_repaired(*repaired, MOST_LINES)
    yield from complaints_of_broken(*broken, patterns)


def twin_complaints(text):
    if breaks_by_command(text):
        return
    twins = re.findall(r"^#ifdef HEDDLE_REPAIRED\n(.*?)(?:^#else\n(.*?))?^#endif$", text, re.M | re.S)
    if len(twins) != 1:
        yield "there are no two twins: one '#ifdef HEDDLE_REPAIRED ... #else ... #endif' is expected"
    elif any(len(twin.splitlines()) > 1 for twin in twins[0]):
        yield "the twins differ by more than a line"


def page_complaints(page, case, compiler, output):
    """The row of the case on the page says what this compiler says, if it has a column there."""
    column = {"g++": 0, "clang++-14": 1, "clang++": 2, "clang++-19": 2}.get(compiler)
    if page is None or column is None or not re.search(r"^// mistake:", case.read_text(), re.M):
        return
    row = re.search(rf"^\|.*\|[^|]*\(\.\./tests/fail/{re.escape(case.name)}\) \|$", page.read_text(), re.M)
    told = re.findall(r"\| (\d+) / (\d+) (?=\|)", row[0]) if row else []
    if len(told) != 3:
        yield f"{page.name} has no row with three counts that ends in the name of the case. Fix: first_mistakes.py --write"
        return
    errors, lines = counts(output)
    if int(told[column][0]) != errors or abs(int(told[column][1]) - lines) > max(SPARE_LINES.values()):
        yield f"{page.name} says {' errors, '.join(told[column])} lines, but there are {errors} errors, {lines} lines. Fix: first_mistakes.py --write"


def answer_together(case, compiler, folder):
    """What the compiler said of the broken twin beside others; nothing if it was not asked so, or of another text."""
    together = answers_together(folder, compiler) if folder is not None else None
    return json.loads(together.read_text()).get(mark_of(case)) if together is not None and together.exists() else None


def answered_well(case, compiler, folder, page, said):
    """Whether the broken twin passes by what the compiler said of it beside others."""
    text, kind, told = case.read_text(), family(compiler), without_door(said, folder)
    most_lines = MOST_LINES - spare_lines(text, kind)
    return not [*complaints_of_broken(1, told, patterns_of(text, kind), most_lines, errors_of(text, kind)), *page_complaints(page, case, compiler, told)]


def passed(folder, compiler, case):
    """Lies beside the doors with the text of the case if both twins pass by what was compiled together: then judged.sh has nothing to start."""
    return pathlib.Path(folder) / pathlib.Path(compiler).name / "passed" / case.name


def note_passed(cases, compiler, folder, page):
    """Judges what was compiled together, and says how many cases pass so."""
    shutil.rmtree(passed(folder, compiler, pathlib.Path("case")).parent, ignore_errors=True)
    passed(folder, compiler, pathlib.Path("case")).parent.mkdir(parents=True)
    said = json.loads(answers_together(folder, compiler).read_text())
    repaired = set(compiled_together(folder, compiler).read_text().splitlines())
    good = [case for case in cases if mark_of(case) in said and mark_of(case) in repaired and not list(twin_complaints(case.read_text()))
            and answered_well(case, compiler, folder, page, said[mark_of(case)])]
    for case in good:
        shutil.copy(case, passed(folder, compiler, case))
    return f"{len(good)} of {len(cases)} cases pass by what was compiled together\n"


def judge(case, compiler, includes, folder=None, page=None):
    """What is wrong with the case, and what the compiler says of the broken twin."""
    text, kind, program = case.read_text(), family(compiler), find(compiler)
    more = flags_of_precompiled(folder, compiler, door_of(text)) if not flags_of(text) and not breaks_by_command(text) else []  # it has no flags of a case

    def compiled(repaired, complaints):
        """What is wrong with a twin, and what the compiler says of it: with what is precompiled, or else as a user compiles it."""
        code, words = compile_twin(program, kind, case, includes, repaired, more)
        if more and list(complaints(code, without_door(words, folder), MOST_LINES - spare_lines(text, kind))):
            code, words = compile_twin(program, kind, case, includes, repaired)
        return list(complaints(code, without_door(words, folder), MOST_LINES)), words

    together = compiled_together(folder, compiler) if folder is not None else None
    compiles = together is not None and together.exists() and mark_of(case) in together.read_text().splitlines()
    repaired, _ = ([], "") if compiles else compiled(True, complaints_of_repaired)
    wanted = errors_of(text, kind)

    def complaints(code, output, most_lines):
        return complaints_of_broken(code, output, patterns_of(text, kind), most_lines, wanted)

    said = answer_together(case, compiler, folder)
    if said is not None and answered_well(case, compiler, folder, page, said):
        broken, words = [], said
    else:
        broken, words = compiled(False, complaints)
    return [*twin_complaints(text), *repaired, *broken], words


GOOD_CASE = """// expect: the sum is not two
#ifdef HEDDLE_REPAIRED
constexpr int sum = 2;
#else
constexpr int sum = 3;
#endif
static_assert(sum == 2, "the sum is not two");
"""
BAD_CASES = {
    "the broken twin compiles": GOOD_CASE.replace("= 3", "= 2"),
    "the repaired twin does not compile": GOOD_CASE.replace("= 2;", "= 4;"),
    "the pattern is not found": GOOD_CASE.replace("expect: the sum", "expect: the product"),
    "the case has no line": GOOD_CASE.replace("// expect:", "// says:"),
    "'error:' occurs 2 times": GOOD_CASE + 'static_assert(sum < 3, "too big");\n',
    "'error:' occurs 1 times, not 2": GOOD_CASE.replace("// expect", "// errors: 2\n// expect"),
    "there are no two twins": '// expect: sum\nstatic_assert(false, "sum");\n',
    "the twins differ by more than a line": GOOD_CASE.replace("#else", "constexpr int more = 1;\n#else"),
}


RULE = """template <bool Holds> struct rule { static_assert(Holds, "the sum is not two"); };
template <int Sum> struct Rules : rule<Sum == 2> {};
"""
FIRES = """// expect: the sum is not two
#include "rule.hpp"
#ifdef HEDDLE_REPAIRED
constexpr int sum = 2;
#else
constexpr int sum = 3;
#endif
"""


def check_broken_together():
    """Beside good cases a bad case is refused still; so is one whose only error is said of its neighbour."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "rule.hpp").write_text(RULE)
        own = 'static_assert(sum == 2, "the sum is not two");\n'
        bad = {name: text + "int main() { return sum; }\n" for name, text in BAD_CASES.items() if "twins" not in name}
        written = {"good.cpp": GOOD_CASE, "silent.cpp": FIRES.replace("= 3", "= 2") + own, "first.cpp": FIRES + "Rules<sum> held;\n", "shared.cpp": FIRES + "Rules<sum> held;\n",
                   "two.cpp": FIRES + own + own.replace("== 2", "< 3"), "own.cpp": FIRES + own}
        written |= {f"bad_{i}.cpp": text for i, text in enumerate(bad.values())}
        cases = [pathlib.Path(folder) / name for name in written]
        for case, text in zip(cases, written.values()):
            case.write_text(text)
        for compiler in DEFAULT_COMPILERS.split():
            if not find(compiler):
                continue
            (pathlib.Path(folder) / compiler).mkdir()
            found = compile_broken_together(cases, None, compiler, [folder], folder)
            answers_together(folder, compiler).write_text(json.dumps(found))
            parts = {case.name: found.get(mark_of(case), "") for case in cases}
            assert counts(parts["good.cpp"])[0] == 1 and counts(parts["two.cpp"])[0] == 2 and not parts["silent.cpp"], parts
            assert (counts(parts["first.cpp"])[0], counts(parts["shared.cpp"])[0]) == (1, 0), parts
            alone = compile_twin(find(compiler), family(compiler), cases[0], [], False)[1]
            assert parts["good.cpp"].splitlines()[:-1] == alone.splitlines()[:-1] and counts(parts["good.cpp"]) == counts(alone), (parts["good.cpp"], alone)
            refused = {case.name: judge(case, compiler, [folder], folder)[0] for case in cases}
            assert [name for name, why in refused.items() if not why] == ["good.cpp", "first.cpp", "shared.cpp", "own.cpp"], refused
            for i, reason in enumerate(bad):
                assert any(reason in complaint for complaint in refused[f"bad_{i}.cpp"]), f"not refused beside others: {reason}"
            for good in ({"good.cpp", "first.cpp"}, {"first.cpp"}):  # what has passed before is not kept, and own.cpp has no repaired twin that compiles
                repaired = [case for case in cases if case.name in good | {"silent.cpp", "shared.cpp", "two.cpp"}]
                compiled_together(folder, compiler).write_text("".join(f"{mark_of(case)}\n" for case in repaired))
                note_passed(cases, compiler, folder, None)
                assert {case.name for case in cases if passed(folder, compiler, case).exists()} == good
            compiled_together(folder, compiler).unlink()
            cases[0].write_text(GOOD_CASE.replace("= 3", "= 2"))
            assert any("the broken twin compiles" in why for why in judge(cases[0], compiler, [folder], folder)[0]), "not refused: an answer for another text"
            cases[0].write_text(GOOD_CASE)
    told = "In file included from b.hpp:2,\n                 from c.hpp:3:\na.cpp:1:1:   required from here\na.hpp:1:1: error: no\n"
    told += "b.cpp:1:1:   required from here\nb.hpp:1:1: error: no\nIn file included from a.hpp:4:\nb.cpp:2:1:   required from here\nd.hpp:1:1: error: no\n"
    of_b = answers.divided(told, ["a.cpp", "b.cpp"], "u.cpp")["b.cpp"]
    assert of_b.startswith("In file included from c.hpp:3:\nb.cpp:1:1"), f"not put back: by which headers b.hpp is read: {of_b}"
    assert "In file included from a.hpp:4,\n                 from b.hpp:2,\n                 from c.hpp:3:\nb.cpp:2:1" in of_b, f"not whole: by which headers d.hpp is read: {of_b}"
    twice = "a.cpp:1:1: error: no\n    1 | text\n"
    assert answers.divided(twice + twice[:21] + "\n", ["a.cpp"], "u.cpp")["a.cpp"].count("text") == 1, "put back: what a case has had quoted before"
    assert answers.divided("In file included from u.cpp:1:\nx.hpp:1:1: error: whose?\n", ["a.cpp"], "u.cpp") is None, "divided: an error of no case"
    assert answers.divided("a.cpp:1:1: error: no\nb.cpp:1:1: note: here\n", ["a.cpp", "b.cpp"], "u.cpp") is None, "divided: an error of two cases"
    assert answers.divided("a.cpp:1:1: error: no\nx.hpp:1:1: fatal error: end\n", ["a.cpp"], "u.cpp") is None, "divided: an answer that stops"


def check_outside():
    """Twins that specialise a template share a file too, and are still told apart."""
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "sum.hpp").write_text("template <int> struct Sum;\n")
        text = GOOD_CASE.replace("\n#ifdef", '\n#include "sum.hpp"\n#ifdef', 1) + "template <> struct Sum<0> { static_assert(sum < 4); };\n"
        written = {"one.cpp": text, "two.cpp": text.replace("Sum<0>", "Sum<1>").replace("sum ", "other ").replace("sum <", "other <"), "silent.cpp": "template <> struct Sum<2> {};\n"}
        cases = [pathlib.Path(folder) / name for name in written]
        for case, words in zip(cases, written.values()):
            case.write_text(words)
        assert [len(group) for group in groups(cases, None)] == [3]
        for compiler in filter(find, DEFAULT_COMPILERS.split()):
            (pathlib.Path(folder) / compiler).mkdir()
            assert compile_together(cases, None, compiler, [folder], folder) == cases
            found = compile_broken_together(cases, None, compiler, [folder], folder)
            assert {mark: counts(said)[0] for mark, said in found.items()} == {mark_of(case): 1 for case in cases[:2]}, found


def self_check():
    check_outside()
    with tempfile.TemporaryDirectory() as folder:
        case = pathlib.Path(folder) / "X01_case.cpp"
        case.write_text(GOOD_CASE)
        for compiler in DEFAULT_COMPILERS.split():
            if find(compiler):
                assert not judge(case, compiler, [])[0], f"a good case is refused on {compiler}"
        for reason, text in BAD_CASES.items():
            case.write_text(text)
            assert any(reason in complaint for complaint in judge(case, "g++", [])[0]), f"not refused: {reason}"
    with tempfile.TemporaryDirectory() as folder:
        (pathlib.Path(folder) / "g++").mkdir()
        main_too = "int main() { return sum; }\n"
        names = {"X01_good.cpp": GOOD_CASE + main_too, "X02_bad.cpp": BAD_CASES["the repaired twin does not compile"] + main_too, "X03_good.cpp": GOOD_CASE + main_too}
        for name, text in names.items():
            (pathlib.Path(folder) / name).write_text(text)
        good = compile_together([pathlib.Path(folder) / name for name in names], None, "g++", [], folder)
        assert [case.name for case in good] == ["X01_good.cpp", "X03_good.cpp"], f"compiled together: {good}"
        marks = {mark_of(case) for case in good}
        good[0].write_text(GOOD_CASE + "// changed\n")
        assert mark_of(good[0]) not in marks and mark_of(good[1]) in marks
    check_broken_together()
    long_answer = "x.cpp:1:1: error: the sum\n" + "note\n" * (MOST_LINES - 1)
    assert any("lines" in c for c in complaints((0, ""), (1, long_answer), ["sum"])), "not refused: a long answer"
    assert not list(complaints((0, ""), (1, long_answer[:-5]), ["sum"])), "refused: an answer of just the lines allowed"
    first, second = '#include "heddle/backend/cpu_threads.hpp"\n', '#include "heddle/graph/loss.hpp"\n'
    assert door_of(first) == "cpu" and spare_lines(first + second, "g++") == 0 and spare_lines(second + first, "g++") == SPARE_LINES["g++"]
    assert door_of(second) is None and spare_lines(second, "clang") == 0
    assert flags_of("// flags: -a -b\n// expect: -c\n") == ["-a", "-b"]
    assert errors_of("// errors: 2\n", "g++") == 2 and errors_of("// errors-g++: 2\n", "g++") == 2 and errors_of("// errors-g++: 2\n", "clang") == 1
    with tempfile.TemporaryDirectory() as folder:
        case, page = pathlib.Path(folder) / "X01_case.cpp", pathlib.Path(folder) / "page.md"
        case.write_text("// mistake: a sum\n" + GOOD_CASE)
        page.write_text("| a sum | 1 / 9 | 1 / 9 | 2 / 9 | [No.](../tests/fail/X01_case.cpp) |\n")
        said = "error: no\n" + "note\n" * 8
        assert not list(page_complaints(page, case, "g++", said)) and not list(page_complaints(None, case, "g++", said))
        assert not list(page_complaints(page, case, "nvcc", "error: no\n")), "refused: a compiler that the page does not tell of"
        assert any("2 errors, 9 lines" in c for c in page_complaints(page, case, "clang++", said)), "not refused: a page that says something else"
        assert any("12 lines" in c for c in page_complaints(page, case, "g++", said + "note\n" * 3)), "not refused: other lines"
        page.write_text("")
        assert any("no row" in c for c in page_complaints(page, case, "g++", said)), "not refused: a page without the row"
    assert breaks_by_command("// broken-flags: -std=c++17\n") and not breaks_by_command("// flags: -a\n")
    assert folders_for("// broken-without: Eigen/Core\n", [], False) == []
    assert patterns_of("// expect: a\n// expect-g++: b\n// expect-clang: c\n", "g++") == ["a", "b"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--self-check", action="store_true")
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("--precompiled", metavar="FOLDER")
    parser.add_argument("--precompile", action="store_true")
    parser.add_argument("case", nargs="?", type=pathlib.Path)
    options = parser.parse_args()
    if options.self_check:
        self_check()
        return 0
    if options.case is None and not options.precompile:
        parser.error("name a case")
    if find(options.compiler) is None:
        print(f"SKIPPED: {options.compiler} is not installed")
        return SKIPPED
    if options.precompile:
        told = (options.compiler, options.include, options.precompiled)
        if family(options.compiler) == "nvcc":  # what it says of broken twins is not divided
            compiled_together(options.precompiled, options.compiler).parent.mkdir(parents=True, exist_ok=True)
            print(compile_repaired(*told))
            return 0
        code, words = precompile(*told)
        if code == 0:
            words += compile_repaired(*told) + compile_broken(*told)
            words += note_passed([case for cases in cases_of(options.compiler).values() for case in cases], options.compiler, options.precompiled, options.page)
        print(words)
        return code
    lacking = [name for name in words_after("needs", options.case.read_text()) if not any((pathlib.Path(folder) / name).exists() for folder in options.include)]
    if lacking:
        print(f"SKIPPED: {', '.join(lacking)} was not found")
        return SKIPPED
    found, words = judge(options.case, options.compiler, options.include, options.precompiled, options.page)
    found += page_complaints(options.page, options.case, options.compiler, without_door(words, options.precompiled))
    print(words)
    for complaint in found:
        print(f"{options.case.name} on {options.compiler}: {complaint}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
