#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs two programs and compares what they print: same_bits.py PROGRAM OTHER. Both are to end well, and to print as many lines as plans were trained."""
import subprocess
import sys

PLANS = 4


def printed(program):
    done = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=False)
    print(f"$ {program}\n{done.stdout}", flush=True)
    if done.returncode != 0:
        sys.exit(f"same_bits.py: {program} ended with {done.returncode}")
    return done.stdout


def complaint(first, second):
    if len(first.splitlines()) != PLANS:
        return f"{len(first.splitlines())} plans are printed, not {PLANS}"
    return None if first == second else "a plan ends with other bits where its kernels come from the unit"


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-check"]:
        assert complaint("a: 1\n" * PLANS, "a: 1\n" * PLANS) is None
        assert complaint("a: 1\n" * PLANS, "a: 1\n" * (PLANS - 1) + "a: 2\n") and complaint("", "")
        sys.exit(0)
    sys.exit(complaint(*map(printed, sys.argv[1:])))
