# SPDX-License-Identifier: MIT
"""Gives one reader any bytes for some seconds, starting from a few files that are right.

usage: fuzz_check.py PROGRAM READER SECONDS
An input that breaks something is kept beside the program; `PROGRAM --reader=READER FILE` repeats it.
"""
import gzip
import json
import os
import struct
import subprocess
import sys
import tempfile

PROGRAM, READER, SECONDS = sys.argv[1:]


def idx(sizes, payload):
    return bytes([0, 0, 8, len(sizes)]) + b"".join(struct.pack(">I", size) for size in sizes) + payload


def tensors(entries, data):
    header = json.dumps(entries, separators=(",", ":")).encode()
    return struct.pack("<Q", len(header)) + header + data


IMAGES, LABELS = idx((3, 2, 2), bytes(range(12))), idx((3,), bytes((7, 0, 9)))
ENTRIES = {"__metadata__": {"format": "pt", "k\u00e9y": "a\nb"}, "a.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [8, 32]},
           "n": {"dtype": "I64", "shape": [], "data_offsets": [0, 8]}, "none": {"dtype": "I32", "shape": [0, 4], "data_offsets": [32, 32]}}
SEEDS = {
    "idx": [IMAGES, bytes([len(IMAGES)]) + IMAGES + LABELS],
    "gzip": [bytes([6]) + gzip.compress(IMAGES), bytes([0]) + gzip.compress(b"") + gzip.compress(bytes(5000)), bytes([255]) + gzip.compress(IMAGES)[:-3]],
    "header": [json.dumps(ENTRIES).encode(), json.dumps(ENTRIES, ensure_ascii=False, indent=1).encode(), b"{}"],
    "tensors": [tensors(ENTRIES, bytes(range(32))), tensors({}, b"")],
    "store": [b"\0\1a\1\2\3\1\1b\0\3\3key\5value\2\2cd\2\1\3", b"\3\2\xc3\xa9\1\xff\0\0\1\2"],
}

with tempfile.TemporaryDirectory() as folder:
    for number, seed in enumerate(SEEDS[READER]):
        with open(os.path.join(folder, str(number)), "wb") as file:
            file.write(seed)
    # A word in time: what one input may take of memory [MiB] and of seconds, on a machine that does other things as well.
    limits = ["-rss_limit_mb=1024", "-malloc_limit_mb=64", "-timeout=20", "-max_len=4096"]
    command = [PROGRAM, f"--reader={READER}", folder, f"-max_total_time={SECONDS}", *limits, "-print_final_stats=1", f"-artifact_prefix={PROGRAM}-{READER}-"]
    ended = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    lines = ended.stderr.splitlines()
    tried = next((line for line in lines if line.startswith("stat::number_of_executed_units")), "no number of inputs")
    if ended.returncode != 0:
        print("\n".join(lines[-60:]))
    print(f"{READER}: {tried}, exit {ended.returncode}")
sys.exit(1 if ended.returncode != 0 or tried.split()[-1] == "0" else 0)
