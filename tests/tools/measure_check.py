# SPDX-License-Identifier: MIT
"""Runs the program behind ./heddle measure as a user would: a Machine as C++ with figures that a machine can have, the same as JSON, or one sentence.

usage: measure_check.py PROGRAM
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
PARTS = ["1 of 5, messages between two threads", "2 of 5, memory", "3 of 5, calls", "4 of 5, products of layers by size", "5 of 5, kinds of layers"]
KINDS = {"LayerNorm", "RMSNorm", "GELU", "GELUTanh", "SiLU", "Sigmoid", "Tanh", "ReLU", "SelfAttention", "CrossEntropy", "Conv2d", "BatchNorm2d", "MaxPool2d",
         "AvgPool2d", "Adam"}
faults = []


def run(*arguments):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=120)


def check(what, good, ended):
    if not good:
        faults.append(f"{what}: exit {ended.returncode}\n{ended.stdout}{ended.stderr}")


with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder) / "machine.json"
    ended = run("--seconds", "1", "--json", str(file))
    check("it ends well", ended.returncode == 0, ended)
    check("it says what it measures", ended.stderr.splitlines() == [f"heddle measure: {part}" for part in PARTS], ended)
    figures = dict(re.findall(r"\.(\w+) = ([-+.e\d]+)", ended.stdout))
    check("it prints a Machine", ended.stdout.startswith("constexpr Machine this_machine{") and ended.stdout.endswith("};\n"), ended)
    for name in ("alpha", "beta", "per_flop", "per_memory_byte", "per_call"):
        check(f"{name} is above 0 and below a second", 0 < float(figures.get(name, 0)) < 1, ended)
    check("threads move while they wait, in the memory of both",
          ".overlaps = false" in ended.stdout and ".collectives = CollectiveAlgorithm::shared_memory" in ended.stdout, ended)
    saved = json.loads(file.read_text()) if file.exists() else {}
    check("the file has the form 1", saved.get("heddle machine") == 1, ended)
    for name, figure in figures.items():
        if name in saved:
            check(f"{name} is the same in the file", abs(float(figure) - saved[name]) <= 0.01 * saved[name], ended)
    curve = saved.get("efficiency", [])
    check("the curve has its peak at 1 and rises in operations", len(curve) >= 3 and max(share for _, share in curve) == 1
          and all(0 < share <= 1 for _, share in curve) and [flops for flops, _ in curve] == sorted({flops for flops, _ in curve}), ended)
    printed = ended.stdout
    ended = run("--read", str(file))
    check("what is read is what was printed", ended.returncode == 0 and ended.stdout == printed and ended.stderr == "", ended)
    text = file.read_text()
    for name, wrong, code in (
        ("another form", text.replace(": 1", ": 2", 1), "M18] "), ("an unknown figure", text.replace("alpha", "alfa", 1), "has 'alfa', which is no figure of a Machine"),
        ("no beginning", text.replace("heddle machine", "machine", 1), "does not begin with"), ("a cut end", text[:-3], "M18] "),
        ("more behind it", text + "{}", "goes on behind its end"), ("a negative figure", text.replace('"beta": ', '"beta": -', 1), "M16] a Machine has beta -"),
        ("no number", text.replace('"beta": ', '"beta": x', 1), "has no number where one belongs"), ("no file", None, "D01] "),
    ):
        other = pathlib.Path(folder) / "other.json"
        other.unlink(missing_ok=True)
        if wrong is not None:
            other.write_text(wrong)
        ended = run("--read", str(other))
        check(name, ended.returncode == 1 and ended.stdout == "" and code in ended.stderr and len(ended.stderr.splitlines()) == 1, ended)
    every = pathlib.Path(folder) / "every.json"
    every.write_text('{"heddle machine": 1, "per_bfloat16_flop": 2e-15, "acknowledgement": 3e-6, "overlaps": false, "efficiency": [[1e9, 0.25]], '
                     '"collectives": "fastest", "levels": [[8, 1e-6, 2e-11]], "speeds": [[3, 5, 0.5]], "memory_aside": 0.25, "narrow": [[8, 0.5]], '
                     '"layers": [["GELU", 3e-9, 5e-9]], "memory": 80000000000, "devices": 64}')
    ended = run("--read", str(every))
    check("no figure of a file is lost in C++", ended.returncode == 0 and all(member in ended.stdout for member in (
        ".per_bfloat16_flop = 2e-15", ".acknowledgement = 3e-06", ".overlaps = false", ".efficiency = {{{1e+09, 0.25}}}",
        ".collectives = CollectiveAlgorithm::fastest", ".levels = {{8, 1e-06, 2e-11}}", ".speeds = {{3, 5, 0.5}}", ".memory = 80000000000_B",
        ".devices = 64", ".memory_aside = 0.25", ".narrow = {{{8, 0.5}}}", ".layers = {{\"GELU\", 3e-09, 5e-09}}")), ended)
    rates = {kind: (forward, backward) for kind, forward, backward in saved.get("layers", [])}
    check("every kind of layer has a rate", set(rates) == KINDS and all(0 < forward < 1e-6 and 0 <= backward < 1e-6 for forward, backward in rates.values())
          and all((backward > 0) == (kind not in ("CrossEntropy", "Adam")) for kind, (_, backward) in rates.items()), ended)
    check("a share of memory's time passes beside computing", 0 <= saved.get("memory_aside", 1) <= 1, ended)
    narrow = saved.get("narrow", [])
    check("products of few rows have shares", [rows for rows, _ in narrow] == [8, 16, 32, 64] and all(0 < share <= 1 for _, share in narrow), ended)
    cached = saved.get("cached", [])
    check("memory is as fast as caches are, and once beyond them", len(cached) == 5 and cached[-1][1] == 1 and all(times >= 1 for _, times in cached), ended)
    ended = run("--seconds", "1", "--json", str(pathlib.Path(folder) / "none" / "machine.json"))
    check("a folder that is not there", ended.returncode == 1 and "[heddle.D20]" in ended.stderr.splitlines()[-1], ended)
with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder) / "profile.json"
    ended = run("--seconds", "0.5", "--profile", "mnist", str(file))
    check("the layers of a model are measured", ended.returncode == 0 and ended.stderr == "heddle measure: layers of mnist\n"
          and len(ended.stdout.splitlines()) == 4 and ended.stdout.splitlines()[1].startswith("0      linear1 Linear<784, 50>"), ended)
    profile = json.loads(file.read_text()) if file.exists() else {}
    check("their file has each layer with its seconds", profile.get("heddle profile") == 1 and profile.get("model") == "Mnist"
          and profile.get("values") == "float32" and profile.get("rows") == 64 and [layer[:2] for layer in profile.get("layers", [])]
          == [[0, "linear1 Linear<784, 50>"], [1, "1 ReLU"], [2, "linear2 Linear<50, 10>"]]
          and all(0 < layer[2] < 1 for layer in profile["layers"]), ended)
    ended = run("--seconds", "0.5", "--profile", "mnist", str(pathlib.Path(folder) / "none" / "profile.json"))
    check("a folder for profiles that is not there", ended.returncode == 1 and "[heddle.D20]" in ended.stderr.splitlines()[-1], ended)
    ended = run("--profile", "llama-70b", str(file))
    check("a model that is not trained here", ended.returncode == 2 and "llama-70b not in {mnist,gpt2}" in ended.stderr
          and len(ended.stderr.splitlines()) == 1, ended)
for arguments in (("--seconds", "nan"), ("--seconds", "0"), ("--seconds", "600"), ("--fast",), ("--profile", "mnist")):
    ended = run(*arguments)
    check(f"{arguments}", ended.returncode == 2 and ended.stdout == "" and len(ended.stderr.splitlines()) == 1, ended)
for fault in faults:
    print("FAULT", fault)
print(f"{len(faults)} faults")
sys.exit(1 if faults else 0)
