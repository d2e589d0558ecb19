#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""ranks_apart.py RANKS COMMAND...: starts a command as so many processes that a new folder joins, as torchrun would with HEDDLE_MEETING set.

What they print stands in the order of their ranks. Ends with the first exit code that is not 0; if one fails, the others have 20 s to say so.
"""
import os
import subprocess
import sys
import tempfile
import time

PATIENCE = 20  # seconds


def start(ranks, command):
    """Exit codes and outputs by rank, and what was left in the folder."""
    with tempfile.TemporaryDirectory() as folder:
        processes = []
        for rank in range(ranks):
            environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(ranks), HEDDLE_MEETING=folder)
            output = tempfile.TemporaryFile("w+", errors="replace")  # a pipe that nobody reads yet would hold a process
            processes.append((subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, env=environment), output))
        end = None
        while any(process.poll() is None for process, _ in processes):
            if end is None and any(process.poll() for process, _ in processes):
                end = time.monotonic() + PATIENCE
            if end is not None and time.monotonic() > end:
                for process, _ in processes:
                    process.kill()
            time.sleep(0.01)
        told = []
        for process, output in processes:
            output.seek(0)
            told.append((process.returncode, output.read()))
            output.close()
        return told, os.listdir(folder)


def self_check():
    told, left = start(3, ["sh", "-c", "echo $RANK of $WORLD_SIZE; cat $HEDDLE_MEETING/* 2>/dev/null; [ $RANK != 1 ] || exit 3"])
    assert [code for code, _ in told] == [0, 3, 0] and [text for _, text in told] == ["0 of 3\n", "1 of 3\n", "2 of 3\n"] and left == []
    told, left = start(1, ["sh", "-c", "echo x >$HEDDLE_MEETING/file"])
    assert told == [(0, "")] and left == ["file"]


def main(ranks, *command):
    told, left = start(int(ranks), command)
    for _, text in told:
        sys.stdout.write(text)
    failed = [code for code, _ in told if code != 0]
    if not failed and left:
        print(f"left in the folder: {' '.join(left)}")
        return 1
    return abs(failed[0]) if failed else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-check"]:
        self_check()
    else:
        sys.exit(main(*sys.argv[1:]))
