#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counts the plans that tests lower and check both by the compiler and while they run (tests/plan/lowered_again.hpp).

usage: rm -f FILE; HEDDLE_PLANS_FILE=FILE ctest ...    each test appends a line for each of its plans
       lowered_again.py FILE                            counts different lines
       lowered_again.py --self-check PROGRAM            PROGRAM fails, and says so, if a plan is lowered otherwise, or if it has noted none
"""
import collections
import os
import re
import subprocess
import sys
import tempfile

KINDS = {
    "plan": "plans have the same Programs both ways",
    "inference": "inferences have the same Program both ways",
    "refused": "plans are refused both ways in the same words",
    "type_only": "plans are refused in what only a type can ask",
}


def counted(lines):
    """Lines of several programs that name a plan alike and have the same Program count once."""
    count = collections.Counter(line.split(" ", 1)[0] for line in set(lines))
    return [f"{count.pop(kind, 0)} {words}" for kind, words in KINDS.items()] + [f"{number} lines of {kind}" for kind, number in count.items()]


def self_check(program):
    lines = ["plan 1 A\n", "plan 2 A\n", "plan 1 A\n", "refused 0 B\n"]
    assert [line.split()[0] for line in counted(lines)] == ["2", "0", "1", "0"]
    with tempfile.TemporaryDirectory() as folder:
        # Plans that are spoilt on purpose are no plans of the tests: their lines go to a file that is not counted.
        plans = os.path.join(folder, "plans.txt")
        done = subprocess.run([program], stderr=subprocess.PIPE, text=True, env={**os.environ, "HEDDLE_PLANS_ARE_SPOILT": "1", "HEDDLE_PLANS_FILE": plans})
        with open(plans, encoding="utf-8") as file:
            lines = list(file)
    print(done.stderr)
    assert done.returncode == 1 and "> is lowered otherwise while a program runs: training of number 0: 0 and 1\n" in done.stderr
    assert lines and all(re.fullmatch(r"(plan|inference|refused|type_only) \d+ \w+\n", line) for line in lines), lines


if __name__ == "__main__":
    if sys.argv[1] == "--self-check":
        self_check(sys.argv[2])
    else:
        with open(sys.argv[1], encoding="utf-8") as file:
            print("\n".join(counted(file)))
