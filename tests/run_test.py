#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a test program: fails if it fails or has no test case to run, and exits with 77 (skipped) if it says `SKIPPED: why`. A failure is never a skip."""
import re
import subprocess
import sys

SKIPPED = 77
NONE_RAN = re.compile(r"^\[doctest\] test cases: +0 \|", re.M)


def judge(code, output):
    if code != 0:
        return code if 0 < code < 126 and code != SKIPPED else 1
    if NONE_RAN.search(output):
        return 1
    return SKIPPED if any(line.startswith("SKIPPED:") for line in output.splitlines()) else 0


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    sys.stdout.write(done.stdout)
    if done.returncode < 0:
        print(f"run_test.py: the program ended by signal {-done.returncode}")
    return judge(done.returncode, done.stdout)


def self_check():
    assert judge(0, "fine\n") == 0
    assert judge(0, "SKIPPED: no GPU here\n") == SKIPPED
    assert judge(1, "SKIPPED: no GPU here\n") == 1, "a failure hidden behind a skip"
    assert judge(-11, "") == 1, "a crash"
    assert judge(0, "[doctest] test cases:  0 |  0 passed | 0 failed | 12 skipped\n") == 1, "no test case ran"
    assert judge(0, "[doctest] test cases: 10 | 10 passed | 0 failed | 12 skipped\n") == 0
    assert judge(SKIPPED, "") == 1, "only the printed reason makes a skip"
    assert run([sys.executable, "-c", "raise SystemExit(3)"]) == 3


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-check"]:
        self_check()
    else:
        sys.exit(run(sys.argv[1:]))
