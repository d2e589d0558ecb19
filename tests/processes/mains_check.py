#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What run_main says when processes end with an error: mains_check.py PROGRAM MPIRUN [OPTIONS OF MPIRUN...]

A fault that all have found is said once, before MPI begins and after it has ended as well. A lost rank is told by all that have lost it, and by itself. A fault of one process is said although the
others go on, and nobody hangs. Of a process that leaves without a word ./heddle run says it.
"""
import pathlib
import re
import subprocess
import sys
import time

PATIENCE = 25  # seconds: only a hang, or a process that waits for others to go on, reaches it
faults = []


def start(program, mpirun, how):
    begun = time.monotonic()
    done = subprocess.run([*mpirun, program, "mains", how], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=PATIENCE)
    print(f"$ {how}: {done.returncode} after {time.monotonic() - begun:.1f} s\n{done.stdout}{done.stderr}", flush=True)
    return done.returncode, done.stdout, done.stderr


def expect(what, holds):
    if not holds:
        faults.append(what)


def main(program, *mpirun):
    code, printed, said = start(program, mpirun, "fine")
    expect("a program that ends well", code == 0 and printed == "sums are taken\n" and said == "")
    code, printed, _ = start(program, mpirun, "code")
    expect("the exit code of the body", code == 7 and printed == "sums are taken\n")
    for how, what in (("early", "folder"), ("late", "file"), ("after", "report")):
        code, printed, said = start(program, mpirun, how)
        line = f"[heddle.D01] no {what} was given. Fix: give one."
        expect(f"{how}: the exit code is 1", code == 1)
        expect(f"{how}: all have found it, one says it", re.findall(r"^.*heddle.*$", said, re.M) == [line])
    for how, lost in (("lost", 2), ("lost_first", 0)):
        code, printed, said = start(program, mpirun, how)
        expect(f"{how}: the exit code is 1", code == 1 and printed == "")
        expect(f"{how}: the process says why", f"process {lost}: the disk is on fire\n" in said)
        for process in {0, 1, 2, 3} - {lost}:
            expect(f"{how}: process {process} names rank {lost}", f"process {process}: [heddle.R01] rank {lost} was lost at " in said)
        expect(f"{how}: each says one sentence", len(re.findall(r"^process \d: ", said, re.M)) == 4)
    begun = time.monotonic()
    code, printed, said = start(program, mpirun, "early_one")
    expect("early_one: one process ends before MPI begins, and the others are ended", code == 1 and printed == "")
    expect("early_one: it says why", re.findall(r"^process.*$", said, re.M) == ["process 1: only here"])
    expect("early_one: it does not wait for the others", time.monotonic() - begun < 15)
    code, printed, said = start(program, mpirun, "quiet")
    expect("quiet: one process ends and the others are ended", code == 1 and printed == "")
    expect("quiet: it says why", re.findall(r"^process.*$", said, re.M) == ["process 1: only here"])
    script = str(pathlib.Path(__file__).resolve().parents[2] / "heddle")
    for code, ended, rest in ((0, 1, "0 in the middle, without MPI_Finalize. Fix: let its main function end; look for _exit() or quick_exit() in it."),
                              (3, 3, "3 while others ran, so all were ended. Fix: look at what it said last, or for an exit() in it.")):
        found, printed, said = start(program, [script, "run", "-np", "4"], f"leaves_{code}")
        expect(f"leaves_{code}: ./heddle run says which process has ended and how",
               found == ended and printed == "" and said == f"heddle: process 1 of '{pathlib.Path(program).name}' ended with exit code {rest}\n")
    for fault in faults:
        print("FAULT", fault)
    print(f"{len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
