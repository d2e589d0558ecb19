#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A process ends without a word in every collective and transfer of a step: exits_check.py PROGRAM MPIRUN NUMBER_FLAG [all]

With `all` every process does so in each of them, else one of those that take part, and another one in the next.
Nobody tells the others, so they notice by the deadline. Each survivor must then name the process that has ended, or one that it has itself lost
because of it; the one that is named first in every world is the process that has ended. Open MPI leaves the survivors alone only with
--enable-recovery, which it has had until version 4.
"""
import re
import subprocess
import sys

DEADLINE = 4  # seconds that a process waits for another
PATIENCE = 200  # seconds: only a hang reaches it
PROCESSES = 32  # at once: to start twice as many takes three times the seconds of a core
RANKS = {"slices": 2, "sequences": 2, "interleaves": 2, "halves": 2, "product": 4}


def start(program, mpirun, flag, plan, first):
    worlds = PROCESSES // RANKS[plan]
    command = [mpirun, "--enable-recovery", flag, str(worlds * RANKS[plan]), program, "exits", plan, str(first), str(DEADLINE)]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=PATIENCE)
    cases = re.search(r"^cases (\d+)$", done.stdout, re.M)
    if not cases:
        sys.exit(f"exits_check.py: {plan} did not begin\n{done.stdout}{done.stderr}")
    said = {}
    for case, process, words in re.findall(r"^case (\d+) process (\d): (.*)$", done.stdout, re.M):
        said.setdefault(int(case), {})[int(process)] = words
    return int(cases[1]), worlds, said


def faults(plan, case, said):
    """What the survivors of one world did not say."""
    expected = [re.match(r"expects (\d); ", words) for words in said.values()]
    lost = int(expected[0][1]) if expected and expected[0] else -1
    survivors = {process for process in range(RANKS[plan]) if process != lost}
    if set(said) != survivors:
        yield f"{plan}, case {case}: processes {sorted(survivors - set(said))} said nothing: {said}"
    for process, words in said.items():
        if f"[heddle.R01] rank {lost} was lost at " not in words or "within the deadline" not in words:
            yield f"{plan}, case {case}, process {process}: {words}"


def main(program, mpirun, flag, which=""):
    version = subprocess.run([mpirun, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    if not re.search(r"\((Open MPI|OpenRTE)\) 4\.", version):  # mpirun and mpiexec name themselves differently
        print("SKIPPED: this mpirun ends all processes when one ends (only Open MPI 4 has --enable-recovery)")
        sys.exit(77)
    found = []
    for plan in RANKS:
        first, cases, wanted, played = 0, 1, 1, 0
        while first < wanted:
            cases, worlds, said = start(program, mpirun, flag, plan, first)
            for case in range(first, min(cases, first + worlds)):
                found.extend(faults(plan, case, said.get(case, {})))
                played += 1
            first += worlds
            wanted = cases if which == "all" else -(-cases // RANKS[plan])  # the first part leaves all of them once (exits.hpp)
        print(f"{plan}: {played} of {cases} cases", flush=True)
    for fault in found:
        print("FAULT", fault)
    print(f"{len(found)} faults")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
