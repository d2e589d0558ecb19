#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run_example.py EXPECTED COMMAND...: runs an example; it must succeed and print exactly what its .expected file holds, where there is one.
`<seconds>` in that file stands for any decimal number without a sign, such as 0.041; spaces before the number may be any number of spaces."""
import difflib
import pathlib
import re
import subprocess
import sys

SECONDS = re.compile(" *<seconds>")


def fits(wanted, printed):
    """Whether one printed line is the wanted one, times aside."""
    return re.fullmatch(r" *\d+\.\d+".join(map(re.escape, SECONDS.split(wanted))), printed) is not None


def masked(wanted, printed):
    """The printed lines; those that fit the wanted line at their place are that line."""
    pairs = zip(printed, wanted + [None] * len(printed))
    return [want if want is not None and fits(want, got) else got for got, want in pairs]


def self_check():
    assert fits("a  <seconds> b\n", "a     12.50 b\n") and fits("a\n", "a\n") and fits("1.5 s\n", "1.5 s\n")
    assert not any(fits(*pair) for pair in [("a <seconds>\n", "a fast\n"), ("a <seconds>\n", "a -1.0\n"), ("a <seconds>\n", "a 1.0 s\n"), ("1.5\n", "1x5\n")])
    assert masked(["<seconds>\n"], ["0.1\n", "0.2\n"]) == ["<seconds>\n", "0.2\n"]


def main(expected, *command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, errors="replace")
    if done.returncode != 0:
        print(f"{done.stdout}\n{command[-1]} ended with {done.returncode}")
        return 1
    expected = pathlib.Path(expected)
    if not expected.exists():
        print(done.stdout)
        return 0
    wanted = expected.read_text().splitlines(True)
    printed = masked(wanted, done.stdout.splitlines(True))
    if printed != wanted:
        print("".join(difflib.unified_diff(wanted, printed, expected.name, "printed")))
        return 1
    return 0


if __name__ == "__main__":
    self_check()
    sys.exit(main(*sys.argv[1:]))
