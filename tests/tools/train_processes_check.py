# SPDX-License-Identifier: MIT
"""Runs the program behind ./heddle train --processes: the same hash as on threads, and every bad input as one sentence and a non-zero exit.

usage: train_processes_check.py TRAIN TRAIN_PROCESSES MPIRUN NUMBER_FLAG
"""
import contextlib
import os
import pty
import re
import signal
import subprocess
import sys
import time

TRAIN, PROCESSES, *MPIRUN = sys.argv[1:]
SMALL = ("--data", "synthetic", "--epochs", "1")
ROW = re.compile(r"^(\S.*?) +(\d) +([\d.]+) / ([\d.]+) +(\d+) / (\d+) .* ([0-9a-f]{16})$", re.M)
faults = []


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, timeout=240)


def check(what, good, seen=""):
    if not good:
        faults.append(f"{what}: {seen}")


def trains(threads_hash, processes, plans):
    ended = run(*MPIRUN, str(processes), PROCESSES, *SMALL, "--processes", str(processes))
    check(f"{processes} processes train", ended.returncode == 0, ended.stdout + ended.stderr)
    rows = ROW.findall(ended.stdout)
    check(f"plans of {processes} devices", [row[0] for row in rows] == plans, ended.stdout)
    check("one process prints", ended.stdout.count(" test images, ") == 1, ended.stdout)
    for plan, _, built, measured, said, counted, found in rows:
        check(f"memory of {plan}", built == measured, (built, measured))
        check(f"bytes of {plan}", said == counted, (said, counted))
        check(f"hash of {plan}", found == threads_hash, (found, threads_hash))


def refused(what, words, *command):
    ended = run(*command)
    lines = [line for line in ended.stderr.splitlines() if line.startswith("heddle train: ")]
    check(what, ended.returncode != 0, f"exit {ended.returncode}")
    check(what, len(lines) == 1 and words in lines[0], ended.stderr)
    check(what, "accuracy" not in ended.stdout, "it trained all the same")


def ends_at_an_interrupt():
    """^C in the middle of a plan: nobody is left. The sentence is that of ./heddle (script_check.py)."""
    ours, terminal = pty.openpty()
    running = subprocess.Popen([*MPIRUN, "4", PROCESSES, "--data", "synthetic", "--epochs", "1000", "--processes", "4"], stdin=terminal, stdout=terminal,
                               stderr=terminal, start_new_session=True)
    os.close(terminal)
    seen = b""
    begun = time.monotonic()
    while b"%" not in seen and time.monotonic() - begun < 120:
        seen += os.read(ours, 4096)
    running.send_signal(signal.SIGINT)
    with contextlib.suppress(OSError):  # until nobody has the terminal open any more
        while os.read(ours, 4096):
            pass
    check("^C ends mpirun", running.wait(timeout=60) != 0, running.returncode)
    left = [folder for folder in os.listdir("/proc") if folder.isdigit() and runs_here(folder)]
    check("no process is left", not left, left)


def runs_here(process):
    try:
        return os.readlink(f"/proc/{process}/exe") == os.path.realpath(PROCESSES)
    except OSError:  # gone, or somebody else's
        return False


on_threads = ROW.findall(run(TRAIN, *SMALL).stdout)
check("threads train", len(on_threads) == 4, on_threads)
threads_hash = on_threads[0][-1] if on_threads else ""
trains(threads_hash, 1, ["Single"])
trains(threads_hash, 2, ["DataParallel<2>", "Pipeline, 1F1B"])
trains(threads_hash, 4, ["DataParallel<4>", "Hybrid: 2 pipelines"])
check("sound options", run(PROCESSES, *SMALL, "--processes", "4", "--check").returncode == 0)
odd = "[heddle.R03] there are to be 3 processes, but the plans have 1, 2 and 4 devices"
refused("an odd number", odd, PROCESSES, *SMALL, "--processes", "3", "--check")
refused("an odd number, started all the same", odd, *MPIRUN, "3", PROCESSES, *SMALL, "--processes", "3")
refused("another number than was started", "[heddle.R03] the plan has 4 devices, but MPI has started 2 processes", *MPIRUN, "2", PROCESSES, *SMALL, "--processes", "4")
refused("no number", "--processes", PROCESSES, *SMALL, "--processes", "many", "--check")
refused("no data", "[heddle.D01]", *MPIRUN, "2", PROCESSES, "--data", "no such folder", "--processes", "2")
refused("threads with --processes", "Fix: start ./heddle train --processes", TRAIN, *SMALL, "--processes", "2")
ends_at_an_interrupt()
for fault in faults:
    print("FAULT", fault)
print(f"{len(faults)} faults")
sys.exit(1 if faults else 0)
