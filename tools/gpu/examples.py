# SPDX-License-Identifier: MIT
"""Runs the programs of examples/on_cards that were built, and compares what they print with what the tests expect of them on the emulator.

usage: examples.py FOLDER [SECONDS]    where tools/gpu_check has put the programs, and how long each may take, by default 40; exit 1 if one fails or
prints something else
Words must be equal. A number may be off by 2 % or by 0.02: a card adds in another order, and its exp and log are others.
"""
import functools
import os
import pathlib
import re
import shutil
import signal
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


def visible(listed, chosen):
    """How many devices CUDA shows a process, of those that `nvidia-smi -L` lists: all, or those of CUDA_VISIBLE_DEVICES before the first that is none."""
    uuids = [(re.search(r"UUID: ([^)]*)", line) or ["", ""])[1] for line in listed.splitlines() if line.startswith("GPU ")]
    instances = re.findall(r"UUID: (MIG-[^)]*)", listed)
    if chosen is None:
        return len(uuids)
    found = []
    for part in map(str.strip, chosen.split(",")):
        if part.startswith("MIG-"):  # of instances a process has one
            return 1 if any(uuid.startswith(part) for uuid in instances) and not found else len(found)
        names = [n for n, uuid in enumerate(uuids) if (part == str(n) if part.isdigit() else part and uuid.startswith(part))]
        if not names:
            break
        if names[0] in found:
            return 0  # a card that is named twice leaves none
        found.append(names[0])
    return len(found)


@functools.lru_cache(None)
def cards():
    listed = subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE, text=True, check=False).stdout
    return visible(listed, os.environ.get("CUDA_VISIBLE_DEVICES"))


def members(session):
    """The processes of a session that run, in whatever groups they are."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, its_session = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
        except (OSError, ValueError):
            continue  # it has ended meanwhile
        if int(its_session) == session and state != "Z":
            yield int(folder.name)


def end_all(session):
    """Asks every process of a session to end, and ends what has not after 2 s: a rank that stayed would share the cards with all that comes later."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        for process in members(session):
            try:
                os.kill(process, number)
            except ProcessLookupError:
                pass
        end = time.monotonic() + 2
        while number == signal.SIGTERM and time.monotonic() < end and any(members(session)):
            time.sleep(0.05)


def output_of(command, seconds):
    """The exit code of a command and what it has printed; None and that after so many seconds. Nothing of it runs on."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True) as process:
        try:
            printed, _ = process.communicate(timeout=seconds)
            return process.returncode, printed
        except subprocess.TimeoutExpired:
            end_all(process.pid)
            try:
                return None, process.communicate(timeout=2)[0]
            except subprocess.TimeoutExpired:  # who left the session has its output yet
                return None, ""
        finally:
            end_all(process.pid)


def run(folder, limit, name, needed, starter, library):
    """The cells of a row: what came of it, seconds, the last line; and whether it is wrong."""
    program = folder / name
    if not program.exists():
        return f"SKIPPED: it was not built{', ' + library + ' was not found' if library else ''}", "", "", False
    if cards() < needed:
        return f"SKIPPED: it needs {needed} cards, {cards()} is here" if cards() == 1 else f"SKIPPED: it needs {needed} cards, {cards()} are here", "", "", False
    if starter and not shutil.which(starter[0]):
        return f"SKIPPED: {starter[0]} was not found", "", "", False
    begun = time.monotonic()
    code, printed = output_of([*starter, str(program)], limit)
    seconds = f"{time.monotonic() - begun:.1f}"
    last = (printed.strip().splitlines() or [""])[-1].replace("|", "\\|")
    if code is None:
        return f"**no end within {limit} s**", seconds, last, True
    if code != 0:
        return f"**ended with {code}**", seconds, last, True
    if not alike((SOURCES / f"{name}.expected").read_text(), printed):
        return "**prints something else**", seconds, last, True
    return "prints what is expected", seconds, last, False


def main(folder, limit="40"):
    print("| example | what came of it | seconds | its last line |\n|---|---|---:|---|")
    wrong = 0
    for name, needed, starter, library in PROGRAMS:
        came, seconds, last, is_wrong = run(pathlib.Path(folder).resolve(), int(limit), name, needed, starter, library)
        wrong += is_wrong
        print(f"| {name} | {came} | {seconds} | {last} |", flush=True)
    print(f"\nexamples: {wrong} rows wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # what runs is ended first
    sys.exit(main(*sys.argv[1:]))
