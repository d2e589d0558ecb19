# SPDX-License-Identifier: MIT
"""Runs the program behind ./heddle compare as a user would: a table within 100 columns, measured or predicted alone, or one sentence with the list.

usage: compare_check.py PROGRAM
"""
import re
import subprocess
import sys

PROGRAM = sys.argv[1]
DEVICES = {"single": 1, "data": 2, "tensor": 2, "states": 2, "sharded": 2, "gpipe": 2, "1f1b": 2, "hybrid": 4}
faults = []


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=300)


def check(what, good, ended):
    if not good:
        faults.append(f"{what}: exit {ended.returncode}\n{ended.stdout}{ended.stderr}")


def rows(page):
    """policy -> the cells behind it; memory and bytes have a unit each, but for 0 bytes."""
    found = {}
    for line in page.splitlines():
        cells = line.split()
        if len(cells) >= 8 and cells[0] in DEVICES and cells[1].isdigit():
            found[cells[0]] = cells[1:]
    return found


pages = {}
for model in ("mnist", "convnet", "gpt"):
    ended = run(model, "--no-measure")
    pages[model] = ended.stdout
    table = rows(ended.stdout)
    check(f"{model}: ends well and says nothing else", ended.returncode == 0 and ended.stderr == "", ended)
    check(f"{model}: within 100 columns", all(len(line) <= 100 for line in ended.stdout.splitlines()), ended)
    check(f"{model}: a row for each policy", {name: int(cells[0]) for name, cells in table.items()} == DEVICES, ended)
    check(f"{model}: nothing is measured", all(cells[1] == "-" and cells[3] == "-" for cells in table.values()), ended)
    check(f"{model}: one device is as fast as itself, never idle and silent", table.get("single", [])[2:3] == ["1.00"] and table["single"][4] == "0"
          and table["single"][-1] == "0", ended)
    times = {name: float(cells[2]) for name, cells in table.items()}
    check(f"{model}: no plan is faster than its devices", all(0 < times[name] <= DEVICES[name] * 1.02 for name in times), ended)
    check(f"{model}: stages and 4 micro-batches are idle a fifth of a step and more", int(table["1f1b"][4]) >= 15, ended)
    best = max(times, key=times.get)
    named = re.search(r"^Fastest by the clock: (\w+), ([\d.]+) times\.$", ended.stdout, re.M)
    check(f"{model}: the fastest is named", bool(named) and float(named.group(2)) == times[best] == times.get(named.group(1)), ended)
    check(f"{model}: each word with its type", all(re.search(rf"^{name} +[A-Z]\w*<?.*$", ended.stdout.split("bytes a step")[1], re.M) for name in DEVICES), ended)
ended = run("--no-measure")
check("mnist is the model if none is named, and a prediction is the same each time", ended.stdout == pages["mnist"], ended)
ended = run("mnist", "--policies", "1f1b,data", "--no-measure")
check("one device and the policies that are named, in the order of the list", list(rows(ended.stdout)) == ["single", "data", "1f1b"], ended)

ended = run("mnist", "--policies", "data,tensor", "--steps", "20")
table = rows(ended.stdout)
check("measured: ends well", ended.returncode == 0 and list(table) == ["single", "data", "tensor"], ended)
check("measured: tells how far it is", "heddle compare: mnist, round 10 of 10" in ended.stderr.splitlines(), ended)
check("measured: times and idle shares", all(float(cells[1]) > 0 and 0 <= int(cells[3]) <= 100 for cells in table.values()), ended)
check("measured: one device is the measure", table.get("single", ["", ""])[1] == "1.00", ended)
check("measured: says what is fastest here", "\nFastest here: " in ended.stdout and "\nFastest by the clock: " in ended.stdout, ended)

for arguments, needs in ((("resnet",), "mnist"), (("--policies", "ddp"), "tensor"), (("--policies", "data,ddp"), "hybrid"), (("--steps", "0"), "--steps"),
                         (("--fast",), "--fast"), (("mnist", "gpt"), "gpt")):
    ended = run(*arguments)
    check(f"{arguments}", ended.returncode == 2 and ended.stdout == "" and len(ended.stderr.splitlines()) == 1 and needs in ended.stderr, ended)
ended = run("--help")
check("help", ended.returncode == 0 and all(option in ended.stdout for option in ("--policies", "--steps", "--no-measure")), ended)
with open("/dev/full", "w", encoding="utf-8") as full:
    ended = subprocess.run([PROGRAM, "--no-measure"], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
ended.stdout = ""
check("a full standard output", ended.returncode == 1 and ended.stderr.startswith(
    "heddle compare: [heddle.D20] standard output cannot be written: No space left on device. Fix: "), ended)
for fault in faults:
    print("FAULT", fault)
print(f"{len(faults)} faults")
sys.exit(1 if faults else 0)
