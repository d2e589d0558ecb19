# SPDX-License-Identifier: MIT
"""Runs the program behind ./heddle train convnet as a user would: two plans with the same bits, where the time goes, and bad input as one sentence.

usage: train_convnet_check.py PROGRAM
"""
import re
import subprocess
import sys

PROGRAM = sys.argv[1]
ROW = re.compile(r"^(Single|Pipeline, 1F1B) +(\d) +([\d.]+) / ([\d.]+) +(\d+) / (\d+) +([\d.]+) +([\d.]+) +([\d.]+) ([0-9a-f]{16})$", re.M)
LAYER = re.compile(r"^(\w+) +(\w+)(?:<.*>)? +([\d.]+) % +([\d.]+) % +([01])$", re.M)
faults = []


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=240)


def check(what, good, seen=""):
    if not good:
        faults.append(f"{what}: {seen}")


def trains():
    ended = run("--data", "synthetic", "--epochs", "1")
    check("training ends well", ended.returncode == 0, ended.stderr)
    rows = ROW.findall(ended.stdout)
    check("two plans stand in the table", [row[0] for row in rows] == ["Single", "Pipeline, 1F1B"], ended.stdout)
    check("a terminal of 100 columns shows it", max(map(len, ended.stdout.splitlines())) <= 100, ended.stdout)
    for plan, _, built, measured, said, counted, _, _, accuracy, _ in rows:
        check(f"memory of {plan}", built == measured, (built, measured))
        check(f"bytes of {plan}", said == counted, (said, counted))
        check(f"accuracy of {plan}", float(accuracy) > 0.5, accuracy)
    check("both have the same bits", len(rows) == 2 and rows[0][-1] == rows[1][-1], rows)
    layers = LAYER.findall(ended.stdout)
    check("each layer has a line", [layer[1] for layer in layers].count("Conv2d") == 3 and len(layers) == 11, ended.stdout)
    for column, name in ((2, "operations"), (3, "time")):
        check(f"shares of {name} add up", abs(sum(float(layer[column]) for layer in layers) - 100) < 1, layers)
    check("stages follow each other", [layer[4] for layer in layers] == sorted(layer[4] for layer in layers), layers)
    check("a cut by time is proposed", re.search(r"cut before layer \d+ they would wait \d+ %\.$", ended.stdout, re.M), ended.stdout)


def refuses_options():
    for words, arguments in (("--epochs", ("--epochs", "0")), ("--batch", ("--batch", "32")), ("nowhere", ("--data", "nowhere"))):
        ended = run(*arguments)
        lines = ended.stderr.strip().splitlines()
        check(words, ended.returncode in (1, 2) and len(lines) == 1 and words in lines[0] and "accuracy" not in ended.stdout, ended.stderr)
    check("help", "heddle train convnet" in run("--help").stdout)


trains()
refuses_options()
for fault in faults:
    print("FAULT", fault)
print(f"{len(faults)} faults")
sys.exit(1 if faults else 0)
