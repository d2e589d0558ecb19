# SPDX-License-Identifier: MIT
"""Runs the program behind ./heddle train as a user would: the table, and every bad input as one sentence and a non-zero exit.

usage: train_check.py PROGRAM
"""
import gzip
import os
import pathlib
import pty
import resource
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

PROGRAM = sys.argv[1]
README = pathlib.Path(__file__).resolve().parents[2] / "README.md"
ROW = re.compile(r"^(Single|DataParallel<2>|Pipeline, 1F1B|Hybrid: 2 pipelines) +(\d+) +([\d.]+) / ([\d.]+) +(\d+) / (\d+) .* ([0-9a-f]{16})$", re.M)
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
    rows = ROW.findall(ended.stdout)
    check("four plans stand in the table", len(rows) == 4, ended.stdout)
    check("a terminal of 100 columns shows the table", max(map(len, ended.stdout.splitlines())) <= 100, ended.stdout)
    for plan, _, built, measured, said, counted, _ in rows:
        check(f"memory of {plan}", built == measured, (built, measured))
        check(f"bytes of {plan}", said == counted, (said, counted))
    check("one hash", len({row[-1] for row in rows}) == 1, rows)
    shown = ROW.findall(README.read_text())
    check("README shows the plans, memory and bytes of the table", [row[:-1] for row in shown] == [row[:-1] for row in rows], shown)
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
    losses = re.findall(r"^\S.* (\d+\.\d{4}) +\d\.\d{4} [0-9a-f]{16}$", again.stdout, re.M)
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


def takes_care_of_files():
    """What lies in the output folder is the user's."""
    folder = tempfile.mkdtemp()
    output = os.path.join(folder, "out")
    os.mkdir(output)
    with open(os.path.join(folder, "precious"), "w", encoding="utf-8") as file:
        file.write("precious")
    for name in ("table.txt.new", "table.txt.part", "parameters.safetensors.part"):
        os.symlink("../precious", os.path.join(output, name))
    before = sorted(os.listdir(output))
    refused("a refused run", "[heddle.D01]", "--data", os.path.join(folder, "none"), "--output", output)
    check("a refused run leaves the folder as it was", sorted(os.listdir(output)) == before, os.listdir(output))
    check("a whole run", run("--data", "synthetic", "--epochs", "1", "--output", output).returncode == 0)
    check("a whole run adds two files", sorted(os.listdir(output)) == sorted([*before, "table.txt", "parameters.safetensors"]), os.listdir(output))
    with open(os.path.join(folder, "precious"), encoding="utf-8") as file:
        check("what a link leads to stays", file.read() == "precious")
    os.remove(os.path.join(output, "table.txt"))
    os.mkdir(os.path.join(output, "table.txt"))
    refused("a folder in the place of the table", "there is a folder of that name", "--data", "synthetic", "--output", output)
    os.rmdir(os.path.join(output, "table.txt"))
    if os.geteuid() == 0:  # as somebody without rights
        os.chmod(folder, 0o755)
        ended = subprocess.run([PROGRAM, "--data", "synthetic", "--output", output], capture_output=True, text=True, timeout=240, user=65534)
        check("no right", ended.returncode == 1 and "Permission denied. Fix: get the right to write in its folder" in ended.stderr, ended.stderr)
    shutil.rmtree(folder)


def commands_no_terminal():
    evil = "\x1b[2J\x9b2J\u202e"
    for what, arguments in (("data", ("--data", evil)), ("output", ("--data", "synthetic", "--output", f"/proc/{evil}")), ("option", (f"--{evil}",))):
        ended = run(*arguments, "--epochs", "1")
        check(f"a name with commands as {what}", ended.returncode in (1, 2) and ended.stderr != "" and ended.stderr.rstrip("\n").isprintable(), ended.stderr)


def ends_with_a_sentence():
    for arguments in (("--data", "synthetic", "--epochs", "1"), ("--help",)):
        with open("/dev/full", "w", encoding="utf-8") as full:
            ended = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=240)
        check("a full standard output", ended.returncode == 1 and ended.stderr.startswith(
            "heddle train: [heddle.D20] standard output cannot be written: No space left on device. Fix: ") and ended.stderr.count("\n") == 1, ended.stderr)
    with tempfile.TemporaryFile("w") as short:
        ended = subprocess.run([PROGRAM, "--help"], stdout=short, stderr=subprocess.PIPE, text=True, timeout=240,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
    check("a standard output that may not grow", ended.returncode == 1 and ended.stderr.startswith(
        "heddle train: [heddle.D20] standard output cannot be written: File too large. Fix: "), (ended.returncode, ended.stderr))
    little = {"capture_output": True, "text": True, "timeout": 240,
              "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_AS, (20_000_000, 20_000_000))}
    if subprocess.run([PROGRAM, "--help"], **little).returncode == 0:  # not where a sanitizer takes more for itself
        ended = subprocess.run([PROGRAM, "--data", "synthetic", "--epochs", "1"], **little)
        check("memory for the program and not for the data", ended.returncode == 1 and ended.stderr == "heddle train: [heddle.D14] 'synthetic rows and "
              "labels' takes more memory than the system gives. Fix: ask for fewer rows, free memory, or raise the limit on it.\n", (ended.returncode, ended.stderr))
    folder = tempfile.mkdtemp()
    ours, terminal = pty.openpty()
    running = subprocess.Popen([PROGRAM, "--data", "synthetic", "--epochs", "1000", "--output", folder], stdout=terminal, stderr=terminal, start_new_session=True)
    os.close(terminal)
    seen = b""
    begun = time.monotonic()
    while b"%" not in seen and time.monotonic() - begun < 120:
        seen += os.read(ours, 4096)
    running.send_signal(signal.SIGINT)
    while True:
        try:
            more = os.read(ours, 4096)
        except OSError:  # nobody has the terminal open any more
            break
        if not more:
            break
        seen += more
    check("^C ends as a signal does", running.wait(timeout=60) == -signal.SIGINT, running.returncode)
    last = seen.decode().replace("\r\n", "\n").rsplit("\n", 2)
    check("^C ends the line of the bar and says so", len(last) == 3 and last[0].endswith(" ") and last[1:] == ["heddle train: stopped before the end; there is no table.", ""], last[-2:])
    bars = [line for line in seen.decode().replace("\n", "\r").split("\r") if "%" in line]
    check("a terminal of 80 columns shows the bar", bars and max(map(len, bars)) < 80, bars[:2])
    check("^C leaves no file behind", os.listdir(folder) == [], os.listdir(folder))
    shutil.rmtree(folder)


trains()
refuses_data()
refuses_options()
takes_care_of_files()
commands_no_terminal()
ends_with_a_sentence()
for fault in faults:
    print("FAULT", fault)
print(f"{len(faults)} faults")
sys.exit(1 if faults else 0)
