# SPDX-License-Identifier: MIT
"""Runs the program behind ./heddle timeline as a user would: text, picture and trace of each plan and 0, or one sentence and 2 or 1.

usage: timeline_check.py PROGRAM
"""
import collections
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as tree

PROGRAM = sys.argv[1]
SVG = "{http://www.w3.org/2000/svg}"
# Plan -> ranks, computes and messages of a step, whatever it takes: of 4 stages with 8 micro-batches 3 x 8 messages in each direction.
PLANS = {"single": (1, 2, 0), "data": (4, 8, 0), "sharded": (4, 8, 0), "tensor": (4, None, 0), "gpipe": (4, 64, 48), "1f1b": (4, 64, 48),
         "interleaved": (4, 128, 112), "zero_bubble": (4, 96, 48), "hybrid": (4, 32, 16)}
faults = []


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120)


def check(what, good, more=""):
    if not good:
        faults.append(f"{what}: {more}")


def rows_of(text):
    return re.findall(r"^(rank \d+) +(\S+) +([\d.]+) %$", text, re.M)


def numbers_in(element):
    return [float(value) for name, value in element.attrib.items() if name in ("x", "y", "width", "height", "x1", "x2", "y1", "y2")]


def shows(plan, folder):
    ranks, computes, messages = PLANS[plan]
    svg, trace = os.path.join(folder, plan + ".svg"), os.path.join(folder, plan + ".json")
    ended = run(plan, "--steps", "3", "--step", "2", "--svg", svg, "--trace", trace)
    check(f"{plan} ends well", ended.returncode == 0 and not ended.stderr, ended.stderr)
    text = ended.stdout
    check(f"{plan}: predicted above measured", 0 <= text.find("(predicted): ") < text.find(", step 2 on threads (measured): "), text)
    rows = rows_of(text)
    check(f"{plan}: a row for each rank, twice", [row[0] for row in rows] == 2 * [f"rank {r}" for r in range(ranks)], text)
    check(f"{plan}: rows of one width", len({len(row[1]) for row in rows}) == 1 and max(map(len, text.splitlines())) <= 100, text)
    check(f"{plan}: none is idle beyond the step", all(0 <= float(row[2]) <= 100 for row in rows), text)

    picture = tree.parse(svg).getroot()
    check(f"{plan}: the picture is one", picture.tag == SVG + "svg" and picture.get("version") == "1.1")
    words = [element.text for element in picture.iter(SVG + "text")]
    check(f"{plan}: the picture names each rank twice", all(words.count(f"rank {r}") == 2 for r in range(ranks)), words)
    check(f"{plan}: no number is none", all(number == number and abs(number) < 1e5 for e in picture.iter() for number in numbers_in(e)))

    with open(trace, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    kinds = collections.Counter(event["ph"] for event in events)
    check(f"{plan}: a flow for each message", kinds["s"] == kinds["f"] == messages, kinds)
    check(f"{plan}: their ends have the same numbers", {e["id"] for e in events if e["ph"] == "s"} == {e["id"] for e in events if e["ph"] == "f"})
    spans = [event for event in events if event["ph"] == "X"]
    lines = {(e["pid"], e["args"]["instruction"]) for e in spans if e["name"].split()[0] in ("forward", "backward", "input", "weight")}
    check(f"{plan}: each compute is in the trace", computes is None or len(lines) == computes, len(lines))
    check(f"{plan}: memory is counted", kinds["C"] >= ranks and all(e["args"]["bytes"] > 0 for e in events if e["ph"] == "C"))
    names = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    check(f"{plan}: ranks are processes", names == {r: f"rank {r}" for r in range(ranks)}, names)


def predicts(folder):
    machine = os.path.join(folder, "machine.json")
    with open(machine, "w", encoding="ascii") as file:
        file.write('{"heddle machine": 1, "alpha": 1e-6, "beta": 1e-10, "per_flop": 1e-10}')
    ended = run("1f1b", "--steps", "1", "--machine", machine)
    check("a machine of a file", ended.returncode == 0 and ended.stdout.startswith(f"1F1B, 4 stages, 8 micro-batches, on the machine of {machine}"),
          ended.stdout + ended.stderr)
    with open(machine, "w", encoding="ascii") as file:
        file.write('{"heddle machine": 1, "alpha": -1}')
    ended = run("1f1b", "--steps", "1", "--machine", machine)
    check("a machine that cannot be", ended.returncode == 1 and ended.stderr.count("[heddle.M1") == 1 and not ended.stdout, ended.stdout + ended.stderr)
    ended = run("1f1b", "--machine", os.path.join(folder, "none.json"))
    check("a machine that is not there", ended.returncode == 1 and "[heddle." in ended.stderr and not ended.stdout, ended.stderr)


def refuses(folder):
    for words, arguments in (
            ("nowhere not in {single,data,sharded,tensor,gpipe,1f1b,interleaved,zero_bubble,hybrid}", ("nowhere",)),
            ("PLAN is required", ()),
            ("--step: 0 is none of the steps 1 to 10. Fix: name one of them, or more --steps", ("1f1b", "--step", "0")),
            ("--step: 11 is none of the steps 1 to 10.", ("1f1b", "--step", "11")),
            ("--steps: Value 0 not in range", ("1f1b", "--steps", "0")),
            ("a trace is of one plan, and 2 are named. Fix: name one", ("1f1b", "gpipe", "--trace", os.path.join(folder, "t.json")))):
        ended = run(*arguments)
        check(f"{arguments} is refused", ended.returncode == 2 and words in ended.stderr and not ended.stdout and ended.stderr.count("\n") == 1,
              ended.stderr)
    ended = run("single", "--svg", os.path.join(folder, "no", "folder", "a.svg"))
    check("a file that cannot be is refused before any work", ended.returncode == 1 and "[heddle.D20]" in ended.stderr and not ended.stdout, ended.stderr)
    ended = run("--help")
    check("help names the plans", ended.returncode == 0 and all(f"  {plan} " in ended.stdout for plan in PLANS), ended.stdout)


def ends_at_an_interrupt():
    running = subprocess.Popen([PROGRAM, "single", "1f1b", "--steps", "100000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(0.5)  # inside of the first plan, which takes much longer
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=60)
    check("^C ends as a signal does", running.returncode == -signal.SIGINT, running.returncode)
    check("^C says what is missing", said == "heddle timeline: stopped before the end; the timeline is not complete.\n", said)


with tempfile.TemporaryDirectory() as made:
    for each in PLANS:
        shows(each, made)
    predicts(made)
    refuses(made)
    ends_at_an_interrupt()
    several = run("gpipe", "1f1b", "--steps", "2", "--communication", "--svg", os.path.join(made, "two.svg"))
    check("two plans are two sections and one picture", several.stdout.count("(measured): ") == 2 and several.returncode == 0, several.stdout + several.stderr)
    both = tree.parse(os.path.join(made, "two.svg")).getroot()
    check("with four parts", sum("idle" in (e.text or "") and ": " in e.text for e in both.iter(SVG + "text")) == 4)
for fault in faults:
    print("FAULT", fault)
print(f"{len(faults)} faults")
sys.exit(1 if faults else 0)
