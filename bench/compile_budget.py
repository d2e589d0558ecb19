#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What Heddle costs a compiler: seconds and peak memory against the budgets.

usage: bench/compile_budget.py [--compilers g++,clang++,clang++-19,nvcc] [--rounds N] [--cpu] [--only WORDS] [--markdown FILE]

Seconds are the median of the rounds; under --cpu, for a machine that does other things too, the least processor time of them. Memory is
the largest resident set of any one process of the compiler (wait4). A budget that is not kept is marked and does not fail the run; a plan
that should compile and does not, or the reverse, does. --only picks the rows whose name has these words.
"""
import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HERE / "tests" / "house"))
import programs  # noqa: E402: it knows what a block of code in a page is

FIRST_PROGRAM = "<!-- program: first -->"
MNIST_PROGRAM = "<!-- trained under each of its plans by tests/equivalence/readme_test.cpp -->"
BROKEN_PLAN = """#include <heddle/heddle.hpp>
using namespace heddle;
struct Broken : Sequential<Named<"linear1", Linear<784, 50>>, ReLU, Named<"linear2", Linear<60, 10>>> {};
using Refused = Plan<Broken, CrossEntropy, Adam, Batch<64>, DataParallel<4>>;
static_assert(devices<Refused> == 4);
int main() {}
"""
REPAIRED_PLAN = BROKEN_PLAN.replace("60", "50")  # must compile: else the broken one is refused for another reason
MOST_ERRORS, MOST_LINES = 1, 15


class Case:
    """One thing to compile: its source (a path or text), whether only types are used, its budget by kind of compiler."""

    def __init__(self, name, source, types_only, seconds, megabytes, optimise=False, repaired=None, compiled=False):
        self.name, self.source, self.types_only, self.seconds, self.megabytes = name, source, types_only, seconds, megabytes
        self.optimise, self.repaired = optimise, repaired  # a case with a repaired twin must itself be refused
        self.compiled = compiled  # whether it is for heddle::compiled, which holds what is the same in every program


def program_of(page, mark):
    """The C++ program that follows a mark directly: what a reader compiles."""
    found = programs.FENCED.match(page, page.index(mark + "\n") + len(mark) + 1) if mark + "\n" in page else None
    if found is None or found.group(1) != "cpp":
        raise SystemExit(f"compile_budget.py: no program follows '{mark}' in README.md. Fix: put the mark on the line before its ```cpp block.")
    return found.group(2)


def gpt2_program(blocks):
    """A program that trains the GPT-2 of examples/by_subject/models.cpp, of so many blocks."""
    models = (HERE / "examples" / "by_subject" / "models.cpp").read_text()
    model = models[models.index("struct GptAttention"):models.index("static_assert(parameters<Gpt2>")].replace("Repeat<12,", f"Repeat<{blocks},")
    return f"""#include <cstdio>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
using namespace heddle;
{model}
using Trained = Plan<Gpt2, CrossEntropy, AdamW, Batch<8>, Pipeline<Balanced<4>, OneFOneB, Microbatches<8>>>;
int main() {{
  Trainer<Trained, CpuThreads> trainer{{{{.learning_rate = 1e-4}}, Seed{{1}}}};
  const std::vector<std::int32_t> ids(8 * 1024), next(8 * 1024);
  std::printf("%f\\n", static_cast<double>(trainer.step(examples(ids, next, 1024, 1024)).loss.value()));
}}
"""


def cases():
    readme = (HERE / "README.md").read_text()
    all_kinds = lambda s: {"g++": s, "clang": s, "nvcc": None}
    large = (HERE / "bench" / "large_plan.cpp").read_text()
    everything = large.replace("Hybrid<Pipeline<Balanced<8>, OneFOneB,", "Hybrid<TensorParallel<8>, Pipeline<Balanced<8>, Interleaved<2>,")
    everything = everything.replace("DataParallel<16>", "Sharded<16>").replace("== 128", "== 1024").replace("axis::data", "axis::shard")
    large_seconds = {"g++": 3.0, "clang": 3.0, "nvcc": 8.0}
    return [
        Case("heddle.hpp alone, syntax only", "#include <heddle/heddle.hpp>\n", True, all_kinds(1.0), 250),
        Case("README's first program, -O2", program_of(readme, FIRST_PROGRAM), False, all_kinds(8.0), 1000, optimise=True),
        Case("README's program with images, -O2", program_of(readme, MNIST_PROGRAM), False, all_kinds(10.0), 1000, optimise=True),
        Case("README's first program, -O2, for heddle::compiled", program_of(readme, FIRST_PROGRAM), False, all_kinds(4.0), 1000, optimise=True, compiled=True),
        Case("README's program with images, -O2, for heddle::compiled", program_of(readme, MNIST_PROGRAM), False, all_kinds(None), 1000, optimise=True,
             compiled=True),
        Case("GPT-2 small in 4 stages, trained, -O2", gpt2_program(12), False, all_kinds(25.0), 1500, optimise=True),
        Case("the same of 48 blocks, -O2", gpt2_program(48), False, all_kinds(25.0), 1500, optimise=True),
        Case("large plan, all checks", HERE / "bench" / "large_plan.cpp", True, large_seconds, None),
        Case("the same, two chunks a device", large.replace("OneFOneB", "Interleaved<2>"), True, large_seconds, None),
        Case("the same, split backwards", large.replace("OneFOneB", "ZeroBubbleH1"), True, large_seconds, None),
        Case("8 x 8 x 16: split layers, two chunks, slices", everything, True, large_seconds, None),
        Case("a broken plan", BROKEN_PLAN, True, all_kinds(None), None, repaired=REPAIRED_PLAN),
    ]


def kind_of(compiler):
    return "nvcc" if "nvcc" in compiler else "clang" if "clang" in compiler else "g++"


def command_for(compiler, case, source, output):
    include = [f"-I{HERE / 'include'}"]
    if not case.types_only:
        include.append("-I/usr/include/eigen3")
    if kind_of(compiler) == "nvcc":  # it has no syntax-only mode
        return [compiler, "-std=c++20", *include, "-x", "cu", "-c", str(source), "-o", str(output)]
    if case.optimise:
        compiled = ["-DHEDDLE_COMPILED"] if case.compiled else []
        return [compiler, "-std=c++20", "-O2", "-pthread", *compiled, *include, "-c", str(source), "-o", str(output)]
    return [compiler, "-std=c++20", "-fsyntax-only", *include, str(source)]


def compile_once(command, log):
    """Exit code, seconds, processor seconds, and the largest resident set in MB among the compiler's processes."""
    with open(log, "w") as out:
        start = time.monotonic()
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=dict(os.environ, LC_ALL="C"))
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        busy = usage.ru_utime + usage.ru_stime  # of the compiler's own children as well
        return child.returncode, time.monotonic() - start, busy, usage.ru_maxrss * 1024 / 1e6  # Linux counts it in KiB


def judge(case, kind, code, seconds, megabytes, text):
    """The row's last cell, and whether the result is wrong (not merely slow)."""
    errors, lines = len(re.findall(r"\berror:", text)), len(text.splitlines())
    if case.repaired:
        within = code != 0 and errors == MOST_ERRORS and lines < MOST_LINES
        return f"{errors} error{'' if errors == 1 else 's'}, {lines} lines" + ("" if within else ", OVER: 1 error, under 15 lines"), not within
    if code != 0:
        first = next((line for line in text.splitlines() if "error" in line), text[:160])
        return f"FAILED: {first.strip()[:160]}", True
    budget, over = [], False
    if case.seconds[kind] is not None:
        budget.append(f"{case.seconds[kind]:g} s")
        over = over or seconds > case.seconds[kind]
    if case.megabytes is not None and kind != "nvcc":
        budget.append(f"{case.megabytes} MB")
        over = over or megabytes > case.megabytes
    return (("OVER " if over else "within ") + ", ".join(budget)) if budget else "no budget", False


def measure(case, compiler, rounds, cpu, folder):
    """(row of the table, whether it is wrong)"""
    if kind_of(compiler) == "nvcc" and not case.types_only:
        return (case.name, compiler, "-", "-", "not measured: nvcc compiles the types-only part"), False
    source = case.source
    if isinstance(source, str):
        source = folder / "source.cpp"
        source.write_text(case.source)
    if not source.is_file():
        return (case.name, compiler, "-", "-", f"not measured: no {source.relative_to(HERE)}"), True
    log, runs = folder / "log", []
    if case.repaired:
        twin = folder / "repaired.cpp"
        twin.write_text(case.repaired)
        if compile_once(command_for(compiler, case, twin, folder / "object.o"), log)[0] != 0:
            return (case.name, compiler, "-", "-", "FAILED: its repaired twin does not compile"), True
    for _ in range(rounds):
        runs.append(compile_once(command_for(compiler, case, source, folder / "object.o"), log))
    seconds = min(run[2] for run in runs) if cpu else statistics.median(run[1] for run in runs)
    megabytes = max(run[3] for run in runs)
    verdict, wrong = judge(case, kind_of(compiler), runs[-1][0], seconds, megabytes, log.read_text(errors="replace").replace(f"{folder}/", ""))
    return (case.name, compiler, f"{seconds:.2f} s", f"{megabytes:.0f} MB", verdict), wrong


def progress(words, terminal=sys.stderr.isatty()):
    """How far the program is: one line that is written over on a terminal, a line for each compilation elsewhere."""
    print(f"\r\033[K{words}" if terminal else words, end="" if terminal else "\n", file=sys.stderr, flush=True)


def find(compiler):
    return shutil.which(compiler) or (compiler == "nvcc" and shutil.which("nvcc", path="/usr/local/cuda/bin")) or None


def self_check():
    page = f"text\n{FIRST_PROGRAM}\n```cpp\nint first;\n```\n{MNIST_PROGRAM}\n```sh\nls\n```\n```cpp\nint other;\n```\n"
    assert program_of(page, FIRST_PROGRAM) == "int first;\n"
    for wrong in (page, "no mark"):
        try:
            program_of(wrong, MNIST_PROGRAM)
        except SystemExit as refusal:
            assert "no program follows" in str(refusal)
        else:
            raise AssertionError("a mark without its program is not refused")
    sources = [case.source for case in cases() if case.name.startswith("README")]
    assert len(sources) == 4 and all("int main(" in source and "Trainer<" in source for source in sources), "README's programs are not measured"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compilers", default="g++,clang++,clang++-19,nvcc")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--markdown", type=pathlib.Path)
    parser.add_argument("--self-check", action="store_true")
    options = parser.parse_args()
    if options.rounds < 1:
        parser.error("--rounds takes a number from 1")
    if options.self_check:
        return self_check() or 0
    wanted = [case for case in cases() if options.only in case.name]
    if not wanted:
        parser.error(f"--only: no row has '{options.only}' in its name; there are: {', '.join(case.name for case in cases())}")
    rows, wrong = [("what", "compiler", "seconds", "memory", "budget")], False
    with tempfile.TemporaryDirectory() as scratch:
        for compiler in options.compilers.split(","):
            program = find(compiler)
            for case in wanted:
                if program is None:
                    rows.append((case.name, compiler, "-", "-", f"not measured: no {compiler}"))
                    continue
                progress(f"{compiler}: {case.name}")
                row, bad = measure(case, program, options.rounds, options.cpu, pathlib.Path(scratch))
                rows.append((row[0], compiler, *row[2:]))
                wrong = wrong or bad
    if sys.stderr.isatty():
        progress("")
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)) + "  " + row[4])
    if options.markdown:
        lines = ["| " + " | ".join(row) + " |" for row in rows]
        options.markdown.write_text("\n".join([lines[0], "|---" * 5 + "|", *lines[1:]]) + "\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
