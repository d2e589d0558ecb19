#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What ranks say that were compiled in two ways: builds_check.py PROGRAM OTHER MPIRUN OPTION

Two processes of one program train. Of two programs with other flags none trains: they say which flags differ.
"""
import subprocess
import sys

faults = []


def start(mpirun, number, *programs):
    parts = [part for program in programs for part in (":", number, "1", program, "builds")][1:]
    done = subprocess.run([mpirun, *parts], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=60)
    print(f"$ {done.args}: {done.returncode}\n{done.stdout}{done.stderr}", flush=True)
    return done.returncode, done.stdout, done.stderr


def expect(what, holds):
    if not holds:
        faults.append(what)


def main(program, other, mpirun, number):
    for one in (program, other):
        code, printed, _ = start(mpirun, number, one, one)
        expect(f"two processes of {one} train", code == 0 and printed == "replicas are the same\n")
    code, printed, said = start(mpirun, number, program, other)
    expect("no process of two builds trains", code == 1 and printed == "")
    expect("the ranks are named", "[heddle.R08] rank 1 was compiled otherwise than rank 0: " in said)
    expect("the flag is named with both values", "-ffast-math is on in rank 1 and off in rank 0" in said)
    for fault in faults:
        print("FAULT", fault)
    print(f"{len(faults)} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
