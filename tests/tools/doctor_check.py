# SPDX-License-Identifier: MIT
"""Runs the program behind ./heddle doctor as a user would: a page and 0, a page with what cannot work and 1, or one sentence and 2.

usage: doctor_check.py PROGRAM
"""
import os
import resource
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
LAUNCHERS = ("WORLD_SIZE", "RANK", "LOCAL_", "OMPI_", "PMI_", "MPI_LOCAL", "SLURM_", "CUDA_VISIBLE_DEVICES")
faults = []


def run(*arguments, **environment):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)}
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60, env={**clean, **environment})


def check(what, good, ended):
    if not good:
        faults.append(f"{what}: exit {ended.returncode}\n{ended.stdout}{ended.stderr}")


for plan, ranks in (("single", 1), ("data", 2), ("pipeline", 2), ("hybrid", 4)):
    ended = run("--plan", plan)
    page = ended.stdout
    check(plan, ended.returncode == 0 and page.endswith("This plan can run here with CpuThreads.\n"), ended)
    check(f"{plan}: machine", all(f"\n{word}  " in "\n" + page for word in ("cores", "memory", "GPUs", "processes", "plan")), ended)
    check(f"{plan}: ranks", f"batch 64: {ranks} rank" in page and len([line for line in page.splitlines() if " core " in line]) == ranks, ended)

ended = run("--plan", "data", WORLD_SIZE="2", RANK="0")
check("torchrun's variables, threads", ended.returncode == 1 and "cannot work  [heddle.R03] WORLD_SIZE says 2 processes, but CpuThreads runs" in ended.stdout, ended)
ended = run("--plan", "data", "--processes", WORLD_SIZE="2", RANK="0")
check("torchrun's variables, processes", ended.returncode == 1 and "cannot work  [heddle.R03] WORLD_SIZE says 2 processes, but MPI has started 1." in ended.stdout, ended)
ended = run("--plan", "data", "--processes", WORLD_SIZE="3", RANK="0")
check("another number of processes", ended.returncode == 1 and "[heddle.R03] WORLD_SIZE says 3 processes, but the plan has 2 ranks." in ended.stdout, ended)
ended = run("--plan", "data", "--processes", OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK="1")
check("the right number of processes", ended.returncode == 0 and "2, this is 1, by Open MPI" in ended.stdout
      and ended.stdout.endswith("This plan can run here with CpuMpi.\n"), ended)
ended = run("--plan", "data", "--processes")
check("processes without mpirun", ended.returncode == 1 and "Fix: start as many processes as devices: ./heddle run -np 2 PROGRAM, or mpirun -np 2 PROGRAM." in ended.stdout, ended)
ended = run("--plan", "data", OMPI_COMM_WORLD_SIZE="2", OMPI_COMM_WORLD_RANK="1")
check("threads under mpirun", ended.returncode == 0 and "note         [heddle.R26]" in ended.stdout, ended)
ended = run("--plan", "data", WORLD_SIZE="two")
check("a launcher that makes no sense", ended.returncode == 1 and "[heddle.R20]" in ended.stdout, ended)
ended = run("--gpus", CUDA_VISIBLE_DEVICES="-1")
check("no visible GPU", ended.returncode == 1 and "[heddle.R22]" in ended.stdout, ended)
check("a backend of cores for GPUs", "cannot work  [heddle.R25] the plan is to run on GPUs, but CpuThreads computes on cores" in ended.stdout, ended)
ended = run("--plan", "none")
check("an unknown plan", ended.returncode == 2 and ended.stdout == "" and len(ended.stderr.splitlines()) == 1 and "--plan" in ended.stderr, ended)
for arguments in ((), ("--help",)):
    with open("/dev/full", "w", encoding="utf-8") as full:
        ended = subprocess.run([PROGRAM, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
    ended.stdout = ""
    check("a full standard output", ended.returncode == 1 and ended.stderr.startswith(
        "heddle doctor: [heddle.D20] standard output cannot be written: No space left on device. Fix: "), ended)
with tempfile.TemporaryFile("w") as short:
    ended = subprocess.run([PROGRAM, "--help"], stdout=short, stderr=subprocess.PIPE, text=True, timeout=60,
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
    ended.stdout = ""
    check("a standard output that may not grow", ended.returncode == 1 and ended.stderr.startswith(
        "heddle doctor: [heddle.D20] standard output cannot be written: File too large. Fix: "), ended)
ended = run("--help")
check("help", ended.returncode == 0 and "--gpus" in ended.stdout, ended)
for fault in faults:
    print("FAULT", fault)
print(f"{len(faults)} faults")
sys.exit(1 if faults else 0)
