#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Training steps of Heddle against its peers, in interleaved rounds.

usage: bench/peers.py --heddle PROGRAM [--peers FOLDER] [--environments FOLDER] [--rounds N] [--threads 1,2] [--workloads abcde]
                      [--torch-modes eager,compile,whole] [--work FOLDER] [--markdown FILE]

Workloads: (a) MLP 1000-2000-1000, batch 64, mean squared error, SGD; (b) MLP 784-50-10, batch 64, cross-entropy, Adam;
(c) MLP 20-500-500-10, batch 128, cross-entropy, SGD; (d) GPT of 4 blocks of width 256 with 8 heads, 8 rows of 128 tokens of 1,024, AdamW;
(e) two convolutions of 32 and 64 channels with ReLU and pooling, then 3136-128-10, batch 64 of 28 x 28, Adam. A program prints lines `NAME THREADS WORKLOAD MICROSECONDS`.
In one round every program runs once for each number of threads, on the same first cores; a ratio is peer / Heddle (above 1: Heddle is
ahead), the median of the rounds against the median, and the best round against the best. What could not be measured has a line that says why.
"""
import argparse
import collections
import os
import pathlib
import statistics
import subprocess
import sys

HAND_FLAGS = ["-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-DNDEBUG", "-std=c++20", "-pthread"]
# name: flags, libraries to link, workloads. Plain SGD is folded into the gradient product by `eigenfused`, which b (Adam) has no use for.
HAND_WRITTEN = {
    "eigen": ([], [], "abc"),
    "eigenfused": (["-DFUSE_SGD"], [], "ac"),
    "blis": (["-DUSE_CBLAS"], ["-lblis"], "abc"),
    "dnnl": (["-DUSE_DNNL", "-fopenmp"], ["-ldnnl"], "abc"),
}


class Measurements:
    """Microseconds of each round by (name, threads, workload), and why others are missing."""

    def __init__(self):
        self.rounds = collections.defaultdict(list)
        self.missing = {}

    def read(self, text):
        """Takes the lines of the form NAME THREADS WORKLOAD MICROSECONDS and gives their number; a peer's `FAILED` is kept as the reason."""
        taken = 0
        for line in text.splitlines():
            words = line.split()
            if len(words) < 4 or not words[1].isdigit():
                continue
            try:
                self.rounds[words[0], int(words[1]), words[2]].append(float(words[3]))
                taken += 1
            except ValueError:
                self.missing[f"{words[0]} {words[2]}, {words[1]} threads"] = " ".join(words[3:])[:160]
        return taken

    def names(self):
        return sorted({name for name, _, _ in self.rounds}, key=lambda name: (not name.startswith("heddle"), name))


def build_hand_written(name, peers, work, missing):
    """The program of peers/train_eigen.cpp with one product library, or None and a reason."""
    flags, libraries, _ = HAND_WRITTEN[name]
    source, program = peers / "train_eigen.cpp", work / f"te_{name}"
    if not source.is_file():
        missing[name] = f"no {source}"
        return None
    if program.is_file() and program.stat().st_mtime > source.stat().st_mtime:
        return program
    try:
        asked = subprocess.run(["pkg-config", "--cflags", "eigen3"], capture_output=True, text=True, check=True).stdout.split()
    except (OSError, subprocess.CalledProcessError):
        asked = ["-I/usr/include/eigen3"]
    work.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["g++", *HAND_FLAGS, *flags, *asked, str(source), "-o", str(program), *libraries], capture_output=True, text=True)
    if done.returncode != 0:
        missing[name] = "does not build: " + first_error(done.stderr)
        return None
    return program


def first_error(text):
    """The line that names the missing header or library."""
    return next((line.strip()[-160:] for line in text.splitlines() if "error:" in line or "cannot find" in line), last_line(text))


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:160] if lines else "no output"


def find_programs(options, missing):
    """Each program as (name, function of threads giving the command, environment)."""
    programs = []
    workloads = list(options.workloads)
    if not os.access(options.heddle, os.X_OK):
        missing["heddle"] = f"no program {options.heddle}"
    else:
        programs.append(("heddle", lambda t: [str(options.heddle), str(t), *workloads], {}))
    peers = options.peers
    if peers is None or not peers.is_dir():
        reason = "no peers folder" if peers is None else f"no peers folder {peers}"
        for name in [*HAND_WRITTEN, "jax", "torch2"]:
            missing[name] = reason
        return programs
    for name, (_, _, can) in HAND_WRITTEN.items():
        chosen = "".join(w for w in workloads if w in can)
        program = chosen and build_hand_written(name, peers, options.work, missing)
        if program:
            programs.append((name, lambda t, p=program, c=chosen, n=name: [str(p), str(t), c, n], {"BLIS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}))
    for name, script in (("jax", "train_jax.py"), ("torch", "train_torch2.py")):
        python = options.environments / name / "bin" / "python"
        if not python.exists():
            missing[name] = f"no virtual environment {python.parent.parent} (tools/peers_setup makes it)"
        elif not (peers / script).is_file():
            missing[name] = f"no {peers / script}"
        elif name == "jax":
            programs.append((name, lambda t, p=python, s=script: [str(p), str(peers / s), str(t), *workloads], {}))
        else:
            for mode in options.torch_modes.split(","):
                programs.append((f"torch2-{mode}", lambda t, p=python, s=script, m=mode: [str(p), str(peers / s), str(t), m, *workloads], None))
    return programs


def progress(words, terminal=sys.stderr.isatty()):
    """How far the program is: one line that is written over on a terminal, a line for each stage elsewhere."""
    print(f"\r\033[K{words}" if terminal else words, end="" if terminal else "\n", file=sys.stderr, flush=True)


def measure(options):
    found = Measurements()
    programs = find_programs(options, found.missing)
    threads = [int(t) for t in options.threads.split(",")]
    cores = sorted(os.sched_getaffinity(0))
    for number in range(1, options.rounds + 1):
        for t in threads:
            if t > len(cores):
                found.missing[f"{t} threads"] = f"this machine gives {len(cores)} cores"
                continue
            for name, command, extra in programs:
                progress(f"round {number} of {options.rounds}, {t} thread{'s' if t > 1 else ''}: {name}")
                # PyTorch needs its number of threads in the environment, a hand-written program must not nest a second pool.
                environment = {"OMP_NUM_THREADS": str(t), "MKL_NUM_THREADS": str(t)} if extra is None else extra
                run_one(found, name, t, command(t), environment, cores[:t], options.timeout)
    if sys.stderr.isatty():
        progress("")
    return found, threads


def run_one(found, name, threads, command, environment, cores, timeout):
    """One program on the given cores; a failure is kept as a line of its own, the other programs go on."""
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1", JAX_PLATFORMS="cpu", CUDA_VISIBLE_DEVICES="", **environment)
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=timeout, env=environment,
                              preexec_fn=lambda: os.sched_setaffinity(0, cores))
    except subprocess.TimeoutExpired:
        found.missing[f"{name}, {threads} threads"] = f"did not end within {timeout} s"
        return
    except OSError as error:
        found.missing[f"{name}, {threads} threads"] = f"did not start: {error}"
        return
    taken = found.read(done.stdout)
    if done.returncode != 0:
        found.missing[f"{name}, {threads} threads"] = f"ended with {done.returncode}: {last_line(done.stderr)}"
    elif taken == 0:
        found.missing[f"{name}, {threads} threads"] = "printed no line of the form NAME THREADS WORKLOAD MICROSECONDS"


def ratios(found, name, threads, workload, heddle="heddle"):
    """(median against median, best against best), or None if one side is missing."""
    ours, theirs = (found.rounds.get((who, threads, workload)) for who in (heddle, name))
    return (statistics.median(theirs) / statistics.median(ours), min(theirs) / min(ours)) if ours and theirs else None


def fastest(found, threads, workload):
    """Heddle's row with the smallest median: the best word for this workload, or None."""
    rows = [name for name in found.names() if name.startswith("heddle") and found.rounds.get((name, threads, workload))]
    return min(rows, key=lambda name: statistics.median(found.rounds[name, threads, workload]), default=None)


def table(found, threads, workloads):
    lines = []
    for w in workloads:
        for t in threads:
            lines.append(f"workload {w}, {t} thread{'s' if t > 1 else ''}:")
            for name in found.names():
                times = found.rounds.get((name, t, w))
                if not times:
                    continue
                both = ratios(found, name, t, w)
                compared = f"   x {both[0]:.2f} median   x {both[1]:.2f} best" if both and name != "heddle" else ""
                lines.append(f"  {name:24} {statistics.median(times):10.1f} us  [{min(times):.1f} - {max(times):.1f}]{compared}")
            best = fastest(found, t, w)
            if best not in (None, "heddle"):
                peers = [name for name in found.names() if not name.startswith("heddle") and ratios(found, name, t, w, best)]
                lines.append(f"  against {best}: " + (", ".join(f"{name} x {ratios(found, name, t, w, best)[0]:.2f}" for name in peers) or "no peer measured"))
    return "\n".join(lines)


def markdown(found, threads, workloads, rounds):
    """Ratios only: absolute times of shared machines mean nothing."""
    columns = [(w, t) for w in workloads for t in threads]
    lines = [f"Time of a step, peer / Heddle, {rounds} interleaved rounds: median (best round); above 1 Heddle is ahead.", "",
             "| peer | " + " | ".join(f"{w}, {t} thread{'s' if t > 1 else ''}" for w, t in columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for name in found.names():
        if name == "heddle":
            continue
        cells = [ratios(found, name, t, w) for w, t in columns]
        lines.append(f"| {name} | " + " | ".join(f"{c[0]:.2f} ({c[1]:.2f})" if c else "-" for c in cells) + " |")
    peers = [name for name in found.names() if not name.startswith("heddle")]
    if peers:
        best = {column: fastest(found, column[1], column[0]) for column in columns}
        lines += ["", "The same against the fastest of Heddle's policies for each workload:", "",
                  "| peer | " + " | ".join(f"{w}, {t} thread{'s' if t > 1 else ''}: `{best[w, t]}`" for w, t in columns) + " |", "|---" * (len(columns) + 1) + "|"]
        for name in peers:
            cells = [best[w, t] and ratios(found, name, t, w, best[w, t]) for w, t in columns]
            lines.append(f"| {name} | " + " | ".join(f"{c[0]:.2f} ({c[1]:.2f})" if c else "-" for c in cells) + " |")
    return "\n".join(lines + [""] + [f"- {who}: not measured: {why}" for who, why in sorted(found.missing.items())]) + "\n"


def main():
    here = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--heddle", type=pathlib.Path, required=True)
    parser.add_argument("--peers", type=pathlib.Path)
    parser.add_argument("--environments", type=pathlib.Path, default=here / "build" / "peers")
    parser.add_argument("--work", type=pathlib.Path, default=here / "build" / "peers" / "programs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--workloads", default="abcde")
    parser.add_argument("--torch-modes", default="eager,compile,whole")
    parser.add_argument("--timeout", type=int, default=900)
    parser.add_argument("--markdown", type=pathlib.Path)
    options = parser.parse_args()
    whole = all(t.isdigit() and int(t) > 0 for t in options.threads.split(","))
    if options.rounds < 1 or not options.workloads or set(options.workloads) - set("abcde") or not whole:
        parser.error("--rounds takes a number from 1, --workloads letters of abcde, --threads numbers with commas")
    options.heddle = options.heddle.resolve()
    found, threads = measure(options)
    print(table(found, threads, options.workloads))
    for who, why in sorted(found.missing.items()):
        print(f"{who}: not measured: {why}")
    if options.markdown:
        options.markdown.write_text(markdown(found, threads, options.workloads, options.rounds))
    return 1 if "heddle" in {who.split(",")[0] for who in found.missing} else 0


if __name__ == "__main__":
    sys.exit(main())
