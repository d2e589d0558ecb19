#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ends one of four processes in every way and looks at the others: ending_check.py PROGRAM MPIRUN [OPTIONS OF MPIRUN...]

What Heddle promises: a process that throws is named by all others, which end by themselves. What mpirun does is also told: when a process ends
without MPI_Finalize, Open MPI ends the others before their deadline.
"""
import re
import subprocess
import sys

PATIENCE = 100  # seconds: only a hang reaches it


def start(program, mpirun, how, rank):
    done = subprocess.run([*mpirun, program, "ending", how, str(rank)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=PATIENCE)
    print(f"$ {how} {rank}: {done.returncode}\n{done.stdout}", flush=True)
    said = dict(re.findall(r"process (\d): (.*)", done.stdout))
    return done.returncode, {int(process): words for process, words in said.items()}


def goes_on_without_one(mpirun):
    """Whether this mpirun can leave the others alone when a process ends."""
    version = subprocess.run([mpirun, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    return bool(re.search(r"\((Open MPI|OpenRTE)\) 4\.", version))  # mpirun and mpiexec name themselves differently


def expect(holds, what):
    if not holds:
        sys.exit(f"ending_check.py: {what}")


def main(program, *mpirun):
    code, said = start(program, mpirun, "fine", 0)
    expect(code == 0 and said == {process: "trained" for process in range(4)}, "four processes do not train")
    for rank in range(4):
        code, said = start(program, mpirun, "throw", rank)
        expect(code != 0, "a process threw and mpirun says that all is well")
        for process in range(4):
            words = f"[heddle.R01] rank {rank} was lost at "
            expect(said.get(process, "").startswith(words), f"process {process} does not name rank {rank}")
            expect("the disk is on fire" in said[process], f"process {process} does not say why")
    code, said = start(program, mpirun, "silent", 2)
    expect(code != 0, "a process was silent and mpirun says that all is well")
    for process in (0, 1, 3):
        expect("rank 2 was lost at " in said.get(process, ""), f"process {process} does not name the silent rank 2")
        expect("within the deadline of 3000 ms" in said[process], f"process {process} does not name the deadline")
    for how in ("exit", "kill"):
        code, said = start(program, mpirun, how, 1)
        expect(code != 0, f"a process ended by {how} and mpirun says that all is well")
        for process, words in said.items():
            expect(process != 1 and "rank 1 was lost at " in words, f"process {process} names another rank than 1")
        if goes_on_without_one(mpirun[0]):
            _, said = start(program, [mpirun[0], "--enable-recovery", *mpirun[1:]], how, 1)
            for process in (0, 2, 3):
                expect("rank 1 was lost at " in said.get(process, ""), f"process {process} does not name rank 1, which has ended by {how}")


if __name__ == "__main__":
    main(*sys.argv[1:])
