# SPDX-License-Identifier: MIT
"""Asks tools/gpu_check what it says of wrong options and of a machine without a GPU; with --build its programs are compiled by nvcc, where that is.

usage: gpu_check_check.py SCRIPT [--build]
"""
import os
import shutil
import subprocess
import sys
import tempfile

SCRIPT = sys.argv[1]
faults = []


def run(*arguments, path=None):
    environment = dict(os.environ, **({"PATH": path} if path else {}))
    return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, timeout=900, env=environment)


def check(what, good, ended):
    if not good:
        faults.append(f"{what}: exit {ended.returncode}\n{ended.stdout}{ended.stderr}")


ended = run("--wrong")
check("an unknown option", ended.returncode == 2 and ended.stderr == "gpu_check: unknown option '--wrong'. Fix: tools/gpu_check --help.\n", ended)
ended = run("--to")
check("a folder that is missing", ended.returncode == 2 and ended.stderr.startswith("gpu_check: --to lacks its folder. Fix: "), ended)
ended = run("--help")
check("--help", ended.returncode == 0 and all(option in ended.stdout for option in ("--to FOLDER", "--peers", "--sanitize", "--build-only", "--run-only")), ended)
ended = run("--build-only", "--run-only")
check("nothing to do", ended.returncode == 2 and ended.stderr.startswith("gpu_check: --build-only and --run-only leave nothing to do. Fix: "), ended)
with tempfile.TemporaryDirectory() as folder:
    for program in ("bash", "dirname", "readlink", "sed"):  # a machine that has no nvidia-smi
        os.symlink(shutil.which(program), os.path.join(folder, program))
    ended = run("--to", folder + "/made", path=folder)
    check("no GPU, and nothing built to run there", run("--run-only", path=folder).returncode == 77, ended)
    check("no GPU", ended.returncode == 77 and ended.stdout == "SKIPPED: no NVIDIA GPU was found here\n" and not os.path.exists(folder + "/made"), ended)
if "--build" in sys.argv:
    if not (shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")):
        print("SKIPPED: nvcc is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        ended = run("--build-only", "--to", folder)
        programs = {"bits", "bits_fused", "rates", "products", "graphs", "kernels", "plans", "cards", "halves"}
        if "SKIPPED: cuDNN" not in ended.stdout:
            programs.add("cudnn")
        check("all programs compile without a warning", ended.returncode == 0 and ended.stderr == "" and set(os.listdir(folder)) == programs, ended)
print("\n".join(faults) if faults else "gpu_check says what it should")
sys.exit(1 if faults else 0)
