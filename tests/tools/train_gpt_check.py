# SPDX-License-Identifier: MIT
"""Runs the program behind ./heddle train gpt as a user would: four plans that learn the same, what they write, files, and bad input as one sentence.

usage: train_gpt_check.py PROGRAM
"""
import gzip
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as tree

PROGRAM = sys.argv[1]
PLANS = ["Single", "TensorParallel<2>", "Pipeline, 1F1B", "Sharded<2>"]
ROW = re.compile(r"^(Single|TensorParallel<2>|Pipeline, 1F1B|Sharded<2>) +([12]) +([\d.]+) +(\d+) +([\d.]+) +(\d+) +([\d.]+)$", re.M)
faults = []


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=240)


def check(what, good, seen=""):
    if not good:
        faults.append(f"{what}: {seen}")


def trains(folder):
    text = os.path.join(folder, "text")
    with open(text, "w", encoding="ascii") as file:
        file.write("the cat sat on the mat. " * 2000)
    output = os.path.join(folder, "new", "results")
    ended = run("--text", text, "--steps", "20", "--sample", "40", "--begin", "the ", "--output", output)
    check("training ends well", ended.returncode == 0, ended.stderr)
    rows = ROW.findall(ended.stdout)
    check("four plans stand in the table", [row[0] for row in rows] == PLANS, ended.stdout)
    check("a terminal of 100 columns shows the table", max(map(len, table_of(ended.stdout))) <= 100, ended.stdout)
    bits = [float(row[-1]) for row in rows]
    check("they have learned more than the letters", bits and max(bits) < 4, bits)
    check("and the same", bits and max(bits) - min(bits) < 0.01, bits)
    written = re.findall(r"^(.*) writes:\n  (.*)$", ended.stdout, re.M)
    check("each writes", [plan for plan, _ in written] == PLANS and all(len(line) == 40 and line.startswith("the ") for _, line in written), written)
    check("stages and slices write what one device does", len({line for plan, line in written if plan != "TensorParallel<2>"}) == 1, written)
    with open(os.path.join(output, "table.txt"), encoding="ascii") as file:
        check("the table is a file", ROW.findall(file.read()) == rows)
    lines = tree.parse(os.path.join(output, "loss.svg")).getroot().findall("{http://www.w3.org/2000/svg}polyline")
    check("the picture has a line for each plan", len(lines) == 4 and all(len(line.get("points").split()) == 20 for line in lines), len(lines))
    with open(text, "rb") as file, gzip.open(text + ".gz", "wb") as packed:
        packed.write(file.read())
    plain, packed = (run("--text", name, "--steps", "3", "--sample", "4", "--begin", "the ") for name in (text, text + ".gz"))
    bits = [row[-1] for row in ROW.findall(plain.stdout)]
    check("a packed text is the same text", len(bits) == len(PLANS) and [row[-1] for row in ROW.findall(packed.stdout)] == bits,
          plain.stdout + packed.stdout + packed.stderr)


def table_of(printed):
    return [line for line in printed.splitlines() if " writes:" not in line and not line.startswith("  ")]


def refuses(folder):
    short, broken = os.path.join(folder, "short"), os.path.join(folder, "broken.gz")
    with open(short, "w", encoding="ascii") as file:
        file.write("too short")
    pipe, sparse = os.path.join(folder, "pipe"), os.path.join(folder, "sparse")
    os.mkfifo(pipe)
    with open(sparse, "wb") as file:
        file.truncate(4 * 10**12)
    with open(broken, "wb") as file:
        file.write(gzip.compress(os.urandom(60000))[:30000])
    for words, arguments in (("[heddle.D01]", ("--text", os.path.join(folder, "nowhere"))), ("it is a folder", ("--text", folder)),
                             ("it is a pipe", ("--text", pipe)), ("it is a device", ("--text", "/dev/zero")), ("takes 16,000,000,000,000 bytes", ("--text", sparse)),
                             ("[heddle.D20]", ("--text", short, "--output", short)), ("[heddle.D20]", ("--text", short, "--output", pipe)),
                             ("has 9 bytes, too few", ("--text", short)), ("[heddle.D09]", ("--text", broken)), ("--steps", ("--steps", "0")),
                             ("--begin", ("--begin", "")), ("--temperature", ("--temperature", "0")), ("--temperature", ("--temperature", "nan")),
                             ("--seed", ("--seed", "9223372036854775808")), ("--seed", ("--seed", "-1")), ("--learning-rate", ("--learning-rate", "nan"))):
        ended = run(*arguments)
        lines = ended.stderr.strip().splitlines()
        check(words, ended.returncode in (1, 2) and len(lines) == 1 and words in lines[0] and "bits per byte" not in ended.stdout, ended.stderr)
    check("help", "heddle train gpt" in run("--help").stdout)


place = tempfile.mkdtemp()
trains(place)
refuses(place)
shutil.rmtree(place)
for fault in faults:
    print("FAULT", fault)
print(f"{len(faults)} faults")
sys.exit(1 if faults else 0)
