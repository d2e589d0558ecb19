# SPDX-License-Identifier: MIT
"""Runs the program behind ./heddle train as a user would: the table, and every bad input as one sentence and a non-zero exit.

usage: train_check.py PROGRAM
"""
import gzip
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
faults = []


def run(*arguments, environment=None):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=240,
                          env={**{k: v for k, v in os.environ.items() if k != "WORLD_SIZE"}, **(environment or {})})


def check(what, good, seen=""):
    if not good:
        faults.append(f"{what}: {seen}")


def refused(what, words, *arguments, environment=None):
    """One sentence on stderr that has the words and a remedy, nothing trained, a non-zero exit."""
    ended = run(*arguments, environment=environment)
    lines = ended.stderr.strip().splitlines()
    check(what, ended.returncode in (1, 2), f"exit {ended.returncode}")
    check(what, len(lines) == 1 and words in lines[0], ended.stderr)
    check(what, "accuracy" not in ended.stdout, "it trained all the same")


def idx(kind, sizes, payload):
    return bytes([0, 0, kind, len(sizes)]) + b"".join(struct.pack(">I", n) for n in sizes) + payload


def data_folder(**replaced):
    """A folder with four small, sound files, some of them replaced."""
    folder = tempfile.mkdtemp()
    for split, rows in (("train", 130), ("t10k", 20)):
        images = idx(8, (rows, 28, 28), bytes((i * 7) % 251 for i in range(rows * 784)))
        labels = idx(8, (rows,), bytes(i % 10 for i in range(rows)))
        for name, content in ((f"{split}_images", images), (f"{split}_labels", labels)):
            path = os.path.join(folder, name.replace("_images", "-images-idx3-ubyte").replace("_labels", "-labels-idx1-ubyte"))
            content = replaced.get(name, content)
            if isinstance(content, tuple):  # (extension, content)
                path, content = path + content[0], content[1]
            if content is not None:
                with open(path, "wb") as file:
                    file.write(content)
    return folder


def bad_data(what, words, **replaced):
    folder = data_folder(**replaced)
    refused(what, words, "--data", folder, "--epochs", "1")
    shutil.rmtree(folder)


def trains():
    output = tempfile.mkdtemp()
    ended = run("--data", "synthetic", "--epochs", "2", "--output", os.path.join(output, "new"))
    check("training ends well", ended.returncode == 0, ended.stderr)
    rows = re.findall(r"^(Single|DataParallel<2>|Pipeline.*1F1B|Hybrid.*replicas) +(\d+) +([\d.]+) / ([\d.]+) +(\d+) / (\d+) .* ([0-9a-f]{16})$", ended.stdout, re.M)
    check("four plans stand in the table", len(rows) == 4, ended.stdout)
    for plan, _, built, measured, said, counted, _ in rows:
        check(f"memory of {plan}", built == measured, (built, measured))
        check(f"bytes of {plan}", said == counted, (said, counted))
    check("one hash", len({row[-1] for row in rows}) == 1, rows)
    check("plain lines without a terminal", "\r" not in ended.stdout and re.search(r"^Single: epoch 2 of 2, step 100 of 188, loss \d", ended.stdout, re.M) is not None, ended.stdout[:300])
    written = sorted(os.listdir(os.path.join(output, "new")))
    check("output folder", written == ["parameters.safetensors", "table.txt"], written)
    table = os.path.join(output, "new", "table.txt")
    with open(table, encoding="utf-8") as file:
        before = file.read()
    refused("a refused run with an output folder", "[heddle.D01]", "--data", os.path.join(output, "nothing here"), "--output", os.path.join(output, "new"))
    with open(table, encoding="utf-8") as file:
        check("an earlier table stays", file.read() == before and "Single" in before)
    shutil.rmtree(output)
    again = run("--data", "synthetic", "--epochs", "1", "--seed", "2")
    losses = re.findall(r"^\S.* (\d+\.\d{4}) +\d\.\d{4}  [0-9a-f]{16}$", again.stdout, re.M)
    check("the loss of the last step, also of a short run", len(losses) == 4 and len(set(losses)) == 1 and "step 94 of 94" in again.stdout, again.stdout)
    check("another seed, another hash", again.returncode == 0 and rows and rows[0][-1] not in again.stdout, again.stderr)


def refuses_data():
    sound = data_folder()
    check("a sound folder trains", run("--data", sound, "--epochs", "1").returncode == 0)
    with open(os.path.join(sound, "train-images-idx3-ubyte"), "rb") as file:
        images = file.read()
    shutil.rmtree(sound)
    refused("missing folder", "[heddle.D01]", "--data", os.path.join(tempfile.gettempdir(), "no such folder"))
    bad_data("missing labels", "[heddle.D01]", train_labels=None)
    bad_data("truncated", "[heddle.D04]", train_images=images[:-5])
    bad_data("over-long", "[heddle.D05]", train_images=images + b"x")
    bad_data("no IDX", "[heddle.D02]", train_images=b"PNG, not IDX at all")
    bad_data("wrong type", "[heddle.D03]", train_images=idx(13, (130, 28, 28), bytes(4 * 130 * 784)))
    bad_data("gzip damaged", "[heddle.D09]", train_images=(".gz", gzip.compress(images)[:-20]))
    bad_data("numbers differ", "[heddle.D07]", train_labels=idx(8, (129,), bytes(129)))
    bad_data("label out of range", "[heddle.D08]", train_labels=idx(8, (130,), bytes([10] + [0] * 129)))
    bad_data("other pixels", "784", train_images=idx(8, (130, 27, 28), bytes(130 * 27 * 28)))


def refuses_options():
    refused("batch", "part of the plan's type", "--batch", "32")
    refused("unknown option", "--colour", "--colour", "red")
    refused("epochs out of range", "--epochs", "--epochs", "0")
    refused("learning rate out of range", "--learning-rate", "--learning-rate", "-1")
    refused("negative seed", "--seed", "--seed", "-1")
    refused("seed that is no number", "--seed", "--seed", "one")
    refused("world size", "[heddle.R03]", "--data", "synthetic", "--epochs", "1", environment={"WORLD_SIZE": "2"})
    blocked = tempfile.NamedTemporaryFile()
    refused("unwritable output", "[heddle.D20]", "--data", "synthetic", "--epochs", "1", "--output", os.path.join(blocked.name, "below a file"))
    check("help", run("--help").returncode == 0 and "--learning-rate" in run("--help").stdout)


trains()
refuses_data()
refuses_options()
for fault in faults:
    print("FAULT", fault)
print(f"{len(faults)} faults")
sys.exit(1 if faults else 0)
