#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what the mutants program counts with the table in docs/proof.md.

usage: mutants_check.py PROGRAM            exit 1 if a number differs
       mutants_check.py PROGRAM --write    puts the table as it is now into docs/proof.md
       mutants_check.py --self-check
"""
import os
import subprocess
import sys

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "proof.md")
MARK = "<!-- counted by tests/mutants/mutants.cpp -->\n"


def split(text):
    """What stands before the table, the table, what stands behind it."""
    begin = text.index(MARK) + len(MARK)
    end = begin
    for line in text[begin:].splitlines(keepends=True):
        if not line.startswith("|"):
            break
        end += len(line)
    return text[:begin], text[begin:end], text[end:]


def table_of(output):
    return "".join(line + "\n" for line in output.splitlines() if line.startswith("|"))


def differences(kept, now):
    old, new = kept.splitlines(), now.splitlines()
    return [f"- {line}" for line in old if line not in new] + [f"+ {line}" for line in new if line not in old]


def main(arguments):
    with open(DOCUMENT, encoding="utf-8") as file:
        before, kept, behind = split(file.read())
    if arguments == ["--self-check"]:
        rows = kept.splitlines()
        assert len(rows) > 10 and not differences(kept, kept)
        for row in range(2, len(rows)):
            changed = "\n".join(rows[:row] + [rows[row].replace(" 0 |", " 1 |", 1) + " "] + rows[row + 1:])
            assert differences(kept, changed), rows[row]
        assert table_of("single\n| a | 1 |\n3 programs\n") == "| a | 1 |\n"
        return 0
    ended = subprocess.run(arguments[:1], stdout=subprocess.PIPE, text=True, check=False)
    now = table_of(ended.stdout)
    if ended.returncode != 0 or not now:
        print(ended.stdout[-2000:])
        return 1
    if arguments[1:] == ["--write"]:
        with open(DOCUMENT, "w", encoding="utf-8") as file:
            file.write(before + now + behind)
        return 0
    found = differences(kept, now)
    if found:
        print("\n".join(found))
        print("If that is what is meant: python3 tests/mutants/mutants_check.py PROGRAM --write. The kinds of what is judged wrongly:")
        print(ended.stdout[ended.stdout.index("----"):])
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
