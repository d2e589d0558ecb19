#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a test program: fails if it fails or has no test case to run, and exits with 77 (skipped) if it says `SKIPPED: why`. A failure is never a skip."""
import os
import sys  # nothing else: what it takes to read `re` and `subprocess` is most of a short test's seconds, hundreds of times

SKIPPED = 77
OF_CASES = "[doctest] test cases:"
RESTORED = (13, 25)  # SIGPIPE and SIGXFSZ, which Python ignores and a program must not


def none_ran(line):
    return line.startswith(OF_CASES) and line.removeprefix(OF_CASES).split()[:2] == ["0", "|"]


def judge(code, output):
    if code != 0:
        return code if 0 < code < 126 and code != SKIPPED else 1
    lines = output.splitlines()
    if any(map(none_ran, lines)):
        return 1
    return SKIPPED if any(line.startswith("SKIPPED:") for line in lines) else 0


def started(command):
    """(exit code, or less than 0 for a signal; what it prints)"""
    reading, writing = os.pipe()
    to_pipe = [(os.POSIX_SPAWN_DUP2, writing, number) for number in (1, 2)]
    child = os.posix_spawnp(command[0], command, os.environ, file_actions=to_pipe, setsigdef=RESTORED)
    os.close(writing)
    with open(reading, errors="replace") as pipe:
        output = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), output


def run(command):
    code, output = started(command)
    sys.stdout.write(output)
    if code < 0:
        print(f"run_test.py: the program ended by signal {-code}")
    return judge(code, output)


def self_check():
    assert judge(0, "fine\n") == 0
    assert judge(0, "SKIPPED: no GPU here\n") == SKIPPED
    assert judge(1, "SKIPPED: no GPU here\n") == 1, "a failure hidden behind a skip"
    assert judge(-11, "") == 1, "a crash"
    assert judge(0, "[doctest] test cases:  0 |  0 passed | 0 failed | 12 skipped\n") == 1, "no test case ran"
    assert judge(0, "[doctest] test cases: 10 | 10 passed | 0 failed | 12 skipped\n") == 0
    assert judge(SKIPPED, "") == 1, "only the printed reason makes a skip"
    assert run([sys.executable, "-c", "raise SystemExit(3)"]) == 3
    assert run([sys.executable, "-c", "import os; os.abort()"]) == 1
    shown = "import sys; sys.stdout.buffer.write(b'\\xff on 1'); sys.stdout.flush(); sys.stderr.write(' and 2')"
    assert started([sys.executable, "-c", shown]) == (0, "\ufffd on 1 and 2"), "what it prints is read whole"
    assert started(["bash", "-c", "kill -PIPE $$; exit 0"])[0] == -13, "a program does not ignore what it did not before"


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-check"]:
        self_check()
    else:
        sys.exit(run(sys.argv[1:]))
