#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a test program: fails if it fails, and exits with 77 (skipped) if it says `SKIPPED: why`. A failure is never a skip."""
import subprocess
import sys

SKIPPED = 77


def judge(code, output):
    if code != 0:
        return code if 0 < code < 126 and code != SKIPPED else 1
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
    assert judge(SKIPPED, "") == 1, "only the printed reason makes a skip"
    assert run([sys.executable, "-c", "raise SystemExit(3)"]) == 3


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-check"]:
        self_check()
    else:
        sys.exit(run(sys.argv[1:]))
