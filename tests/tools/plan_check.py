# SPDX-License-Identifier: MIT
"""Runs the program behind ./heddle plan as a user would: a table and the type to paste, which the compiler takes; or one sentence.

usage: plan_check.py PROGRAM COMPILER SOURCE_FOLDER
"""
import os
import re
import subprocess
import sys
import tempfile

PROGRAM, COMPILER, SOURCE = sys.argv[1:4]
faults = []


def run(*arguments, where=None):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120, cwd=where)


def check(what, good, ended):
    if not good:
        faults.append(f"{what}: exit {ended.returncode}\n{ended.stdout}{ended.stderr}")


def rows_of(page):
    lines = page.splitlines()
    begin = next(n for n, line in enumerate(lines) if line.strip().startswith("step "))
    return lines[begin + 1:lines.index("", begin)]


def compiles(text, devices, memory):
    """The type that was found, as a program names it; its devices and its memory are what the table says."""
    with tempfile.TemporaryDirectory() as folder:
        unit = os.path.join(folder, "found.cpp")
        with open(unit, "w", encoding="utf-8") as file:
            file.write(f'#include "known_models.hpp"\nusing namespace known_models;\nusing Found = {text};\n'
                       f"static_assert(devices<Found> == {devices});\n"
                       f"static_assert((peak_memory<Found>().value + 5'000'000) / 10'000'000 == {memory});\n")
        return subprocess.run([COMPILER, "-std=c++20", "-fsyntax-only", "-I", f"{SOURCE}/include", "-I", f"{SOURCE}/tools", unit],
                              capture_output=True, text=True, timeout=120, env={**os.environ, "LC_ALL": "C"})


for arguments, devices in ((("gpt2",), 8), (("gpt2-xl", "--devices", "16", "--batch", "64", "--memory", "16GB", "--values", "float32"), 16)):
    ended = run(*arguments)
    page = ended.stdout
    check(f"{arguments}", ended.returncode == 0 and "times as long" in page and " simulated, " in page, ended)
    rows = rows_of(page)
    check(f"{arguments}: rows", 3 <= len(rows) <= 8 and all(len(row) <= 100 for row in rows), ended)
    found = next(line for line in page.splitlines() if line.startswith("Plan<"))
    hundredths = round(100 * float(re.search(r"([\d.]+) GB", rows[0])[1]))
    compiled = compiles(found, devices, hundredths)
    if compiled.returncode != 0:
        faults.append(f"{found}\n{compiled.stderr[:2000]}")

ended = run("gpt2", "--devices", "4", "--tensor", "1", "--no-recompute", "--values", "float32", "--machine", "b200")
check("what is not wished", ended.returncode == 0 and not re.search("TensorParallel|Recompute|Mixed", ended.stdout) and "180_GB" in ended.stdout, ended)
ended = run("gpt-175b", "--devices", "8")
check("too large a model", ended.returncode == 1 and ended.stderr.startswith("heddle plan: [heddle.M20] no plan of 8 devices trains Gpt175B")
      and "Fix: take more devices" in ended.stderr, ended)
for arguments, words in ((("gpt2", "--memory", "12"), "'12' is no memory"), (("gpt2", "--memory", "-3GB"), "'-3GB' is no memory"),
                         (("gpt2", "--memory", "GB"), "'GB' is no memory"), (("gpt2", "--devices", "0"), "--devices: 0 is out of range"),
                         (("gpt2", "--batch", "-8"), "--batch: -8 is out of range"),
                         (("gpt2", "--batch", "0"), "--batch: 0 is out of range"), (("gpt2", "--stages", "0"), "--stages: 0 is out of range"),
                         (("mnist", "--memory", "0.0000000001GB"), "--memory: '0.0000000001GB' is less than a byte. Write what a device has, as in"), (("gpt3",), "gpt3 not in"), ((), "model is required"),
                         (("gpt2", "--efficiency", "2"), "--efficiency"), (("gpt2", "--efficiency", "nan"), "--efficiency")):
    ended = run(*arguments)
    check(f"{arguments}", ended.returncode == 2 and words in ended.stderr and ended.stderr.count("\n") == 1, ended)
ended = run("mnist", "--devices", "8", "--stages", "8")
check("more stages than layers", ended.returncode == 1 and ended.stderr == "heddle plan: [heddle.M20] no plan of 8 devices trains Mnist with Batch<64>: "
      "it has 3 layers to cut into 8 stages. Fix: ask for at most 3.\n", ended)
ended = run("mnist", "--devices", "2", "--memory", "700KB")
memories = [re.search(r" ([\d.]+) KB ", row) for row in rows_of(ended.stdout)] if ended.returncode == 0 else []
check("memory of a small model", memories and all(memory and 0 < float(memory[1]) <= 700 for memory in memories), ended)
ended = run("mnist", "--devices", "2", "--memory", "100KB")
check("what a small model needs", ended.returncode == 1 and re.search(r"need more, the smallest at least \d\d\d\.\d\d KB\. Fix: ", ended.stderr), ended)
ended = run("gpt2", "--devices", "4")
check("where the model of the type is", ended.stdout.endswith("\nGpt2 is defined in tools/known_models.hpp.\n"), ended)
ended = run("gpt2", "--machine", "abacus")
check("no machine", ended.returncode == 1 and "[heddle.D01]" in ended.stderr and "abacus" in ended.stderr and ended.stderr.count("\n") == 1, ended)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "machine.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"heddle machine": 1, "alpha": 1e-6, "beta": 1e-9, "per_flop": 2e-11, "devices": 4}')
    ended = run("mnist", "--machine", path, "--devices", "4", "--values", "float32")
    check("a measured machine", ended.returncode == 0 and path in ended.stdout and "any memory" in ended.stdout and "Memory<" not in ended.stdout, ended)
    ended = run("mnist", "--machine", path, "--devices", "8")
    check("too few devices", ended.returncode == 1 and "[heddle.M17] a plan is searched for 8 devices, the Machine has 4." in ended.stderr, ended)
with open(os.path.join(SOURCE, "docs", "planning.md"), encoding="utf-8") as file:
    shown = re.findall(r"\$ \./heddle plan ([^\n]*)\n(.*?)```", file.read(), re.S)
check("docs/planning.md shows a plan and one with a profile", len(shown) == 2 and "--profile" in shown[1][0], ended)
for arguments, page in shown:
    ended = run(*arguments.split(), where=SOURCE)
    check(f"docs/planning.md shows what is printed for {arguments}", ended.stdout == page, ended)

# With a profile: the cut by it is proposed as a type that compiles, and is faster than that by operations.
compiled = compiles(next(line for line in shown[1][1].splitlines() if line.startswith("Plan<")), 4,
                    round(100 * float(re.search(r"([\d.]+) GB", rows_of(shown[1][1])[0])[1])))
check("the type of a measured cut compiles", compiled.returncode == 0 and "extending::CutBefore<" in shown[1][1], compiled)
check("it takes less than the cut by operations", float(re.search(r"the second takes ([\d.]+) times as long", shown[1][1])[1]) > 1.1, ended)
ended = run(*shown[1][0].split(), "--memory", "1.8GB", where=SOURCE)
check("the other cut does not fit", re.search(r"\ncut by counted operations, Balanced<4>: a step of [^\n]* GB, which does not fit in 1800_MB a device\n\n",
                                              ended.stdout), ended)
with open(os.path.join(SOURCE, "tests", "tools", "gpt2_profile.json"), encoding="utf-8") as file:
    profile = file.read()
line = re.search(r"\n \[8, [^\n]*,", profile)[0]
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "profile.json")
    for what, text, words in (
            ("no JSON", "seconds by layer", "[heddle.M21] '"), ("another file", '{"heddle machine": 1}', "lacks \"heddle profile\" where it belongs"),
            ("a cut end", profile[:-5], "[heddle.M21] '"), ("another model", profile.replace("Gpt2", "Gpt2Xl", 1), "a profile is of 'Gpt2Xl', but"),
            ("a layer missing", profile.replace(line, ""), "a profile lacks layer 8 'h.0.ln_2 LayerNorm<768>' of Gpt2."),
            ("a layer twice", profile.replace(line, line + line), "a profile has layer 8 'h.0.ln_2 LayerNorm<768>' twice."),
            ("a negative time", profile.replace(line, re.sub(r", [^,]*\],$", ", -1],", line)), "'h.0.ln_2 LayerNorm<768>' with -1 seconds."),
            ("no number", profile.replace(line, re.sub(r", [^,]*\],$", ", nan],", line)), "'h.0.ln_2 LayerNorm<768>' with no number seconds."),
            ("an infinite time", profile.replace(line, re.sub(r", [^,]*\],$", ", inf],", line)), "'h.0.ln_2 LayerNorm<768>' with infinite seconds."),
            ("rows", profile.replace('"rows": 1', '"rows": 0', 1), "a profile is of 0 rows.")):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        ended = run("gpt2", "--devices", "4", "--profile", path)
        check(f"a profile with {what}", ended.returncode == 1 and words in ended.stderr and "[heddle.M2" in ended.stderr and "Fix: " in ended.stderr
              and ended.stderr.count("\n") == 1, ended)
    ended = run("gpt2", "--profile", os.path.join(folder, "none.json"))
    check("no profile", ended.returncode == 1 and "[heddle.D01]" in ended.stderr, ended)
ended = run("gpt2", "--devices", "8", "--stages", "3")
check("stages that do not divide", ended.returncode == 1 and "[heddle.M19] a plan is searched for 3 stages, which do not divide 8 devices." in ended.stderr, ended)
ended = run("--help")
check("help", ended.returncode == 0 and "--devices" in ended.stdout, ended)

print("\n".join(faults) if faults else "plan: every proposal compiles and every mistake is one sentence")
sys.exit(1 if faults else 0)
