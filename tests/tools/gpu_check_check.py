# SPDX-License-Identifier: MIT
"""Asks tools/gpu_check what it says of wrong options and of a machine without a GPU; and what it makes of its examples beside a stand-in for
nvidia-smi; with --build its programs are compiled by nvcc, where that is.

usage: gpu_check_check.py SCRIPT [--build]
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

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
for seconds in ([], ["0"], ["9m"], ["--peers"]):
    ended = run("--within", *seconds)
    check("a time that is none", ended.returncode == 2 and ended.stderr.startswith("gpu_check: --within lacks its seconds. Fix: "), ended)
ended = run("--help")
check("--help: what the tool is for, and a line for each option of the line with all of them", ended.returncode == 0 and ended.stdout.startswith("Builds and runs on an NVIDIA GPU")
      and ended.stdout.splitlines()[-1].startswith("  --") and set(re.findall(r"^  (--[a-z-]+)", ended.stdout, re.M)) ==
      set(re.findall(r"--[a-z-]+", re.search("^usage: (.*)", ended.stdout, re.M).group(1))) == {"--to", "--within", "--peers", "--sanitize", "--build-only", "--run-only"}, ended)
ended = run("--build-only", "--run-only")
check("nothing to do", ended.returncode == 2 and ended.stderr.startswith("gpu_check: --build-only and --run-only leave nothing to do. Fix: "), ended)
with tempfile.TemporaryDirectory() as folder:
    for program in ("bash", "dirname", "readlink", "sed"):  # a machine that has no nvidia-smi
        os.symlink(shutil.which(program), os.path.join(folder, program))
    ended = run("--to", folder + "/made", path=folder)
    check("no GPU, and nothing built to run there", run("--run-only", path=folder).returncode == 77, ended)
    check("no GPU", ended.returncode == 77 and ended.stdout == "SKIPPED: no NVIDIA GPU was found here\n" and not os.path.exists(folder + "/made"), ended)
PARTS = ("plans", "plans_unfused", "kernels", "halves", "step", "habits", "cards", "rates", "graphs", "bits", "bits_fused", "products")
EXAMPLES = pathlib.Path(SCRIPT).resolve().parents[1] / "examples" / "on_cards"


def stand_in(path, *lines):
    path.write_text("#!/bin/sh\n" + "".join(line + "\n" for line in lines))
    path.chmod(0o755)


def run_stand_ins(cards, *options, without=(), **said):
    """What gpu_check says of stand-ins in the place of its programs: parts say nothing, or what is given, and so does an example."""
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        (here / "bin").mkdir()
        stand_in(here / "bin" / "nvidia-smi", *(f"echo 'GPU {n}: stand-in'" for n in range(cards)))
        stand_in(here / "bin" / "mpirun", "exec true" if cards < 4 else f"cat '{EXAMPLES}/one_process_per_gpu.expected'")
        for program in set(PARTS) - set(without):
            stand_in(here / program, "true")
        for name, lines in said.items():
            stand_in(here / name, *lines)
        ended = run("--run-only", "--to", folder, *options, path=f"{here / 'bin'}:{os.environ['PATH']}")
        ended.tables = {table.stem: table.read_text() for table in here.glob("*.md")}
        return ended, ended.tables.get("examples", "")


def build_with_stand_in():
    """Program -> what nvcc is given for it, beside a stand-in for nvcc that says so and makes an empty file."""
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        (here / "bin").mkdir()
        stand_in(here / "bin" / "nvcc", 'for last; do :; done', f'echo "$@" >"{here}/$(basename "$last").given"', ': >"$last"')
        environment = dict(os.environ, PATH=f"{here / 'bin'}:{os.environ['PATH']}", EIGEN=str(here), JOBS="1")
        (here / "Eigen").mkdir()
        ended = subprocess.run([SCRIPT, "--build-only", "--to", f"{folder}/made"], capture_output=True, text=True, timeout=300, env=environment)
        return ended, {path.stem: path.read_text() for path in here.glob("*.given")}


ended, given = build_with_stand_in()
unfused = {program for program, command in given.items() if "-fmad=false" in command.split()}
check("programs are built as users build, and laws of bits without fused multiply-adds too", ended.returncode == 0 and unfused == {"plans_unfused", "bits"}
      and set(PARTS) <= set(given) and "tools/gpu/plans.cu" in given["plans_unfused"], ended)
as_expected = {name: [f"cat '{EXAMPLES}/{name}.expected'"] for name in ("mnist_on_card", "gpt_on_card", "one_word", "own_parts")}
line = ["[ $RANK = 0 ] && first=', says the first process'", 'echo "loss 1.759 after 20 steps$first"']
ended, table = run_stand_ins(4, one_process_per_gpu=["true"], one_process_per_gpu_without_mpi=line, **as_expected)
check("examples that print what is expected", ended.returncode == 0 and table.count("| prints what is expected | ") == 6 and "examples: 0 rows wrong" in table, ended)
close = ["sed 's/1.849/1.861/; s/1.000/0.995/' " + f"'{EXAMPLES}/mnist_on_card.expected'"]
ended, table = run_stand_ins(1, one_process_per_gpu=["true"], **dict(as_expected, mnist_on_card=close))
check("numbers that are close, and an example that needs more cards", ended.returncode == 0 and table.count("| prints what is expected | ") == 4
      and "| one_process_per_gpu | SKIPPED: it needs 4 cards, 1 is here |" in table, ended)
far = ["sed 's/1.849/1.949/' " + f"'{EXAMPLES}/mnist_on_card.expected'"]
ended, table = run_stand_ins(1, mnist_on_card=far, gpt_on_card=["echo '[heddle.R36] it failed'", "exit 1"], one_word=["echo no table"], own_parts=as_expected["own_parts"])
check("an example that prints other numbers, one that fails, one that says something else, one that was not built", ended.returncode == 1
      and "| mnist_on_card | **prints something else** |" in table and "| gpt_on_card | **ended with 1** |" in table and "[heddle.R36] it failed |" in table
      and "| one_word | **prints something else** |" in table and "| one_process_per_gpu | SKIPPED: it was not built, mpicxx was not found |" in table
      and "examples: 3 rows wrong" in table, ended)
one_card = dict(as_expected, one_process_per_gpu=["true"])
ended, table = run_stand_ins(1, without=["kernels"], **one_card)
check("a part that was not built hides no other", ended.returncode == 1 and "gpu_check: kernels is missing: there is no program " in ended.stdout
      and "Fix: tools/gpu_check --build-only --to " in ended.stdout and {"plans", "gpt2", "products"} <= set(ended.tables), ended)
ended, table = run_stand_ins(1, plans=["echo 'plans: 3 rows wrong'", "exit 1"], kernels=["echo given $1"], halves=["echo $1"], **one_card)
check("a part that fails hides no other, and what tells most comes first", ended.returncode == 1 and "gpu_check: plans ended with 1 after" in ended.stdout
      and ended.tables["kernels"] == "given 30\n" and ended.tables["gpt2"] == "steps\n" and ended.tables["halves"] == "laws\n"
      and ended.stdout.index("examples ended") < ended.stdout.index("plans ended") < ended.stdout.index("gpt2 ended") < ended.stdout.index("rates ended"), ended)
begun = time.monotonic()
ended, table = run_stand_ins(1, "--within", "9", plans=["echo 'it has said this'", "exec sleep 100"], kernels=["echo given $1"], **one_card)
check("a part that does not end is ended when the time is over, what it had said is kept, and the rest is skipped", ended.returncode == 1
      and ended.tables["plans"] == "it has said this\n" and "gpu_check: plans ended with 124 after" in ended.stdout and "at its limit" in ended.stdout
      and "SKIPPED: products, since no time is left" in ended.stdout and "kernels" not in ended.tables and time.monotonic() - begun < 30, ended)
ended, table = run_stand_ins(1, "--within", "500", kernels=["echo given $1"], **one_card)
check("fewer draws where the time is short", ended.returncode == 0 and ended.tables["kernels"] == "given 8\n", ended)
with tempfile.TemporaryDirectory() as folder:  # nvcc refuses options of the host's compiler, and the wrappers of some MPIs name them
    here = pathlib.Path(folder)
    (here / "bin").mkdir()
    stand_in(here / "bin" / "nvcc", f'for word; do case $word in -pthread | -Wl,*) echo "nvcc fatal   : Unknown option \'$word\'" >&2; exit 1 ;; esac; done', f'echo "$*" >> {here}/asked')
    stand_in(here / "bin" / "mpicxx", "echo -pthread -Wl,-rpath -Wl,/opt/mpi/lib -lmpi")
    ended = run("--build-only", "--to", folder + "/to", path=f"{here / 'bin'}:{os.environ['PATH']}")
    asked = [line for line in (here / "asked").read_text().splitlines() if "one_process_per_gpu.cu" in line]
    check("MPI's wrapper compiles for the host", ended.returncode == 0 and len(asked) == 1 and "-ccbin mpicxx" in asked[0], ended)
if "--build" in sys.argv:
    if not (shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")):
        print("SKIPPED: nvcc is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        ended = run("--build-only", "--to", folder)
        always = set(PARTS) | {"gpt_on_card", "one_word", "own_parts", "one_process_per_gpu_without_mpi"}
        if "SKIPPED: cuDNN" not in ended.stdout:
            always.add("cudnn")
        check("all programs compile without a warning", ended.returncode == 0 and ended.stderr == "" and always <= set(os.listdir(folder))
              <= always | {"mnist_on_card", "one_process_per_gpu"}, ended)
print("\n".join(faults) if faults else "gpu_check says what it should")
sys.exit(1 if faults else 0)
