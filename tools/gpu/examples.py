# SPDX-License-Identifier: MIT
"""Runs the programs of examples/on_cards that were built, and compares what they print with what the tests expect of them on the emulator.

usage: examples.py FOLDER    where tools/gpu_check has put the programs; exit 1 if one fails or prints something else
Words must be equal. A number may be off by 2 % or by 0.02: a card adds in another order, and its exp and log are others.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import time

SOURCES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "on_cards"
NUMBER = re.compile(r"\d+(?:\.\d+)?")
# A program, how many cards it needs, what starts it, and what it cannot be built without.
PROGRAMS = [("mnist_on_card", 1, [], "zlib.h"), ("gpt_on_card", 1, [], ""), ("one_word", 1, [], ""), ("own_parts", 1, [], ""),
            ("one_process_per_gpu_without_mpi", 4, [sys.executable, str(SOURCES.parents[1] / "tests" / "ranks_apart.py"), "4"], ""),
            ("one_process_per_gpu", 4, ["mpirun", "--allow-run-as-root", "-np", "4"], "mpicxx")]


def alike(wanted, printed):
    """Whether two texts say the same, numbers within their bounds."""
    if NUMBER.sub("#", wanted).split() != NUMBER.sub("#", printed).split():
        return False
    pairs = zip(map(float, NUMBER.findall(wanted)), map(float, NUMBER.findall(printed)))
    return all(abs(a - b) <= max(0.02, 0.02 * abs(a)) for a, b in pairs)


def cards():
    listed = subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, text=True, check=False).stdout
    return sum(line.startswith("GPU ") for line in listed.splitlines())


def run(folder, name, needed, starter, library):
    """The cells of a row: what came of it, seconds, the last line; and whether it is wrong."""
    program = folder / name
    if not program.exists():
        return f"SKIPPED: it was not built{', ' + library + ' was not found' if library else ''}", "", "", False
    if cards() < needed:
        return f"SKIPPED: it needs {needed} cards, {cards()} is here" if cards() == 1 else f"SKIPPED: it needs {needed} cards, {cards()} are here", "", "", False
    if starter and not shutil.which(starter[0]):
        return f"SKIPPED: {starter[0]} was not found", "", "", False
    begun = time.monotonic()
    try:
        ended = subprocess.run([*starter, str(program)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=40)
    except subprocess.TimeoutExpired:
        return "**no end within 40 s**", "40", "", True
    seconds = f"{time.monotonic() - begun:.1f}"
    last = (ended.stdout.strip().splitlines() or [""])[-1].replace("|", "\\|")
    if ended.returncode != 0:
        return f"**ended with {ended.returncode}**", seconds, last, True
    if not alike((SOURCES / f"{name}.expected").read_text(), ended.stdout):
        return "**prints something else**", seconds, last, True
    return "prints what is expected", seconds, last, False


def main(folder):
    print("| example | what came of it | seconds | its last line |\n|---|---|---:|---|")
    wrong = 0
    for name, needed, starter, library in PROGRAMS:
        came, seconds, last, is_wrong = run(pathlib.Path(folder).resolve(), name, needed, starter, library)
        wrong += is_wrong
        print(f"| {name} | {came} | {seconds} | {last} |", flush=True)
    print(f"\nexamples: {wrong} rows wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
