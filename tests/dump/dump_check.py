#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what every dumped plan is with the text that is kept, plans.txt.

usage: dump_check.py PROGRAM                  the first lines that differ, by plan; exit 1 if there are any
       dump_check.py PROGRAM --write "why"    keeps what is said now, and appends why, and how many lines of which plans, to changes.md
       dump_check.py --self-check
"""
import difflib
import hashlib
import os
import platform
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
MOST_LINES = 12  # of one plan
MOST_PLANS = 8
MOST_LISTED = 20
X86 = ("x86_64", "AMD64", "amd64")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def sections(text):
    """The lines of each plan; a line is told with the heading under which it stands."""
    plans, name, heading = {}, "", ""
    for line in text.splitlines():
        if line.startswith("== "):
            name, heading = line[3:], ""
            plans[name] = []
        elif line.startswith("-- "):
            heading = line[3:]
            plans[name].append(("", line))
        elif name:
            plans[name].append((heading, line))
    return plans


def without_bits(text):
    return "".join(line + "\n" for line in text.splitlines() if not line.startswith("bits "))


def differences(kept, now):
    """By plan: how many lines are gone and new, and the first of them in words."""
    old, new = sections(kept), sections(now)
    found = {}
    for name in list(old) + [name for name in new if name not in old]:
        if name not in new:
            found[name] = (len(old[name]), 0, ["the plan is gone"])
        elif name not in old:
            found[name] = (0, len(new[name]), ["the plan is new"])
        elif old[name] != new[name]:
            found[name] = compare(old[name], new[name])
    if not found and kept != now:
        found["the order of the plans"] = (0, 0, ["the same plans stand in another order"])
    return found


def compare(old, new):
    gone = came = 0
    words = []
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        gone, came = gone + b - a, came + d - c
        for sign, lines in (("-", old[a:b]), ("+", new[c:d])):
            words += [f"{sign} {heading + ': ' if heading else ''}{line}" for heading, line in lines]
    return gone, came, words


def fingerprint(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def entry(why, found, text):
    gone, came = (sum(found[name][k] for name in found) for k in (0, 1))
    lines = f"{gone} gone and {came} new in {len(found)} plans"
    if len(found) <= MOST_LISTED:
        lines += " (" + "; ".join(f"{name}: {gone} gone, {came} new" for name, (gone, came, _) in found.items()) + ")"
    return f"\n- {why}\n  Lines: {lines}.\n  Text: {fingerprint(text)}.\n"


def listed(changes, text):
    """Whether the last entry of changes.md is the one of this text."""
    marks = [line.split()[-1].rstrip(".") for line in changes.splitlines() if line.startswith("  Text: ")]
    return bool(marks) and marks[-1] == fingerprint(text)


def report(found):
    for name, (gone, came, words) in list(found.items())[:MOST_PLANS]:
        print(f"[{name}] {gone} lines gone, {came} new")
        print("".join(f"    {line}\n" for line in words[:MOST_LINES]), end="")
        if len(words) > MOST_LINES:
            print(f"    and {len(words) - MOST_LINES} more")
    if len(found) > MOST_PLANS:
        print(f"and {len(found) - MOST_PLANS} more plans: {', '.join(list(found)[MOST_PLANS:])}")
    print("If that is what is meant, write it down: python3 tests/dump/dump_check.py PROGRAM --write \"what is different now, and why\"")


def dumped(program):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "plans.txt")
        subprocess.run([program, path], check=True)
        return read(path)


def check(kept, now, changes, machine):
    if not listed(changes, kept):
        print("plans.txt was changed, but the last entry of changes.md is of another text: use --write.")
        return 1
    if machine not in X86:  # the order of additions within a product is that of the processor
        kept, now = without_bits(kept), without_bits(now)
    found = differences(kept, now)
    if found:
        report(found)
    return 1 if found else 0


def write(kept, now, changes, why):
    found = differences(kept, now)
    if not found:
        print("nothing is different")
        return changes
    return changes + entry(why, found, now)


def self_check():
    kept = read(os.path.join(FOLDER, "plans.txt"))
    changes = read(os.path.join(FOLDER, "changes.md"))
    lines = kept.splitlines(keepends=True)
    plans = [number for number, line in enumerate(lines) if line.startswith("== ")]
    assert len(plans) >= 60 and "\0" not in kept
    assert check(kept, kept, changes, "x86_64") == 0
    hashes = next(number for number, line in enumerate(lines) if line.startswith("bits of step 3"))
    entries = next(number for number, line in enumerate(lines) if line.startswith("start of a send"))
    mutants = {
        "a changed line": lines[:entries] + [lines[entries].replace("micro-batch 0", "micro-batch 1")] + lines[entries + 1:],
        "a line less": lines[:entries] + lines[entries + 1:],
        "a line twice": lines[:entries] + [lines[entries]] + lines[entries:],
        "two lines swapped": lines[:entries] + [lines[entries + 1], lines[entries]] + lines[entries + 2:],
        "a plan less": lines[:plans[3]] + lines[plans[4]:],
        "a new plan": lines + ["== another\n"],
        "plans in another order": lines[:plans[3]] + lines[plans[4]:plans[5]] + lines[plans[3]:plans[4]] + lines[plans[5]:],
        "a hash": lines[:hashes] + [lines[hashes][:-3] + ("00\n" if lines[hashes][-3:-1] != "00" else "11\n")] + lines[hashes + 1:],
    }
    for what, changed in mutants.items():
        text = "".join(changed)
        assert text != kept, what
        print(f"---- {what}")
        assert check(kept, text, changes, "x86_64") == 1, what
        assert check(text, text, changes, "x86_64") == 1, f"{what}: kept without an entry in changes.md"
        assert check(text, text, write(kept, text, changes, "because"), "x86_64") == 0, f"{what}: kept with an entry"
        assert check(kept, text, changes, "aarch64") == (0 if what == "a hash" else 1), what


def main(arguments):
    if arguments == ["--self-check"]:
        self_check()
        return 0
    if len(arguments) not in (1, 3) or arguments[1:2] not in ([], ["--write"]):
        print(__doc__)
        return 2
    kept_path, changes_path = os.path.join(FOLDER, "plans.txt"), os.path.join(FOLDER, "changes.md")
    kept, changes, now = read(kept_path), read(changes_path), dumped(arguments[0])
    if len(arguments) == 1:
        return check(kept, now, changes, platform.machine())
    text = write(kept, now, changes, arguments[2])
    for path, content in ((kept_path, now), (changes_path, text)):
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
