#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Processes that are lost at random moments, in groups of three, four and eight: losses_check.py PROGRAM MPIRUN NUMBER_FLAG [--seed N] [--seconds N]

Of every world one process is stopped, killed, ends by _exit or exit, or throws. Every other process of its world must say its rank, and end; so must the
lost one itself if it throws or calls exit. Rounds
are started until the time is over, 40 seconds unless said otherwise; the same seed gives the same losses.
"""
import argparse
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time

DEADLINE = 3  # seconds that a process waits for another
PATIENCE = DEADLINE * 1.25 + 5 + 25  # seconds from the loss to the end of the last survivor; only a hang reaches it
PLANS = ("replicas3", "weighted3", "stages3", "turns3", "slices4", "parts4", "sequences4", "product4", "sliced4", "replicas8", "product8")
SILENT = ("stop", "kill", "_exit")
TOLD = ("throw", "exit")
PROCESSES = 30  # of a round, at most


def alive(pid, program):
    try:
        with open(f"/proc/{pid}/stat") as stat, open(f"/proc/{pid}/cmdline") as line:
            return os.path.basename(program) in line.read() and stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


class Round:
    """One mpirun with a world for each of `worlds`, of plan and way."""

    def __init__(self, program, mpirun, flag, seed, worlds):
        self.program, self.worlds = program, worlds
        self.sizes = [int(plan[-1]) for plan, _ in worlds]
        words = [f"{plan}:{how}" for plan, how in worlds]
        command = [mpirun, "--enable-recovery", flag, str(sum(self.sizes)), program, "losses", str(DEADLINE), str(seed), *words]
        self.lines, self.pids, self.victims, self.said, self.ended = [], {}, {}, {}, {}
        self.job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for raw in self.job.stdout:
            line = raw.decode(errors="replace").rstrip()
            self.lines.append(line)
            for world, rank, victim, pid in re.findall(r"ready (\d+) (\d+) (\d+) (\d+)$", line):
                self.victims[int(world)] = int(victim)
                self.pids[int(world), int(rank)] = int(pid)
            said = re.search(r"said (\d+) (\d+) (\d+\.\d+) (\d+\.\d+) (.*)", line)
            if said:
                self.said[int(said[1]), int(said[2])] = (float(said[3]), float(said[4]), said[5])

    def play(self):
        begin = time.time()
        while len(self.pids) < sum(self.sizes) and time.time() - begin < PATIENCE:
            time.sleep(0.02)
        if len(self.pids) < sum(self.sizes):
            self.finish()
            sys.exit("losses_check.py: not all processes have started\n" + "\n".join(self.lines))
        begin = time.time()
        survivors = {key for key in self.pids if key[1] != self.victims[key[0]] or self.worlds[key[0]][1] in TOLD}
        while len(self.ended) < len(survivors) and time.time() - begin < PATIENCE:
            time.sleep(0.02)
            for key in survivors - set(self.ended):
                if not alive(self.pids[key], self.program):
                    self.ended[key] = time.time()
        hung = sorted(survivors - set(self.ended))
        self.finish()
        return hung

    def finish(self):
        for key, pid in self.pids.items():
            if alive(pid, self.program) and (key not in self.ended):
                os.kill(pid, signal.SIGKILL)
        try:
            self.job.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.job.kill()
        self.reader.join(2)

    def faults(self, hung):
        for world, (plan, how) in enumerate(self.worlds):
            victim = self.victims[world]
            for rank in range(self.sizes[world]):
                words = self.said.get((world, rank), (0, 0, ""))[2]
                where = f"{plan} {how}, rank {victim} is lost: rank {rank}"
                if (world, rank) in hung:
                    yield f"{where} hangs; it said '{words}'"
                if rank == victim:
                    continue
                if f"[heddle.R01] rank {victim} was lost at " not in words:
                    yield f"{where} said '{words}'"

    def times(self):
        """Seconds from the last good step of each survivor to its sentence, and to its end."""
        for key, (last, spoke, _) in self.said.items():
            if key in self.ended:
                yield spoke - last, self.ended[key] - last


def make_round(chance, ways):
    worlds, processes = [], 0
    plans = list(PLANS)
    chance.shuffle(plans)
    for plan in plans:
        if processes + int(plan[-1]) <= PROCESSES:
            worlds.append((plan, chance.choice(ways)))
            processes += int(plan[-1])
    return worlds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=40)
    program, mpirun, flag = sys.argv[1:4]  # the flag looks like an option
    options = parser.parse_args(sys.argv[4:])
    version = subprocess.run([mpirun, "--version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout
    if not re.search(r"\((Open MPI|OpenRTE)\) 4\.", version):  # mpirun and mpiexec name themselves differently
        print("SKIPPED: this mpirun ends all processes when one ends (only Open MPI 4 has --enable-recovery)")
        sys.exit(77)
    begin, found, trials, survivors = time.time(), [], {}, 0
    slowest = {SILENT: [0.0, 0.0], TOLD: [0.0, 0.0]}
    number = 0
    while number < 2 or time.time() - begin < options.seconds:
        chance = random.Random(1000 * options.seed + number)
        ways = (SILENT, TOLD)[number % 2]
        round_ = Round(program, mpirun, flag, options.seed + number, make_round(chance, ways))
        hung = round_.play()
        found.extend(round_.faults(hung))
        for plan, how in round_.worlds:
            trials[how] = trials.get(how, 0) + 1
        survivors += len(round_.ended)
        for sentence, end in round_.times():
            slowest[ways] = [max(slowest[ways][0], sentence), max(slowest[ways][1], end)]
        number += 1
    for fault in found:
        print("FAULT", fault)
    print(", ".join(f"{count} x {how}" for how, count in sorted(trials.items())))
    for ways, (sentence, end) in slowest.items():
        print(f"{' '.join(ways)}: at most {sentence:.2f} s to the sentence, {end:.2f} s to the end; the deadline is {DEADLINE} s")
    print(f"{sum(trials.values())} processes lost, {survivors} survivors have ended, {len(found)} faults")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
