#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run_example.py EXPECTED COMMAND...: runs an example; it must succeed and print exactly what its .expected file holds, where there is one."""
import difflib
import pathlib
import subprocess
import sys


def main(expected, *command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, errors="replace")
    if done.returncode != 0:
        print(f"{done.stdout}\n{command[-1]} ended with {done.returncode}")
        return 1
    expected = pathlib.Path(expected)
    if not expected.exists():
        print(done.stdout)
        return 0
    wanted = expected.read_text()
    if done.stdout != wanted:
        print("".join(difflib.unified_diff(wanted.splitlines(True), done.stdout.splitlines(True), expected.name, "printed")))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
