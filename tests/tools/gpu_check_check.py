# SPDX-License-Identifier: MIT
"""Asks tools/gpu_check what it says of wrong options and of a machine without a GPU; and what it makes of its examples beside a stand-in for
nvidia-smi; with --build its programs are compiled by nvcc, where that is.

usage: gpu_check_check.py SCRIPT [--build]
"""
import fcntl
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SCRIPT = os.path.abspath(sys.argv[1])
faults = []


def run(*arguments, path=None, cwd=None, **variables):
    environment = {name: value for name, value in os.environ.items() if name not in ("CUDA_VISIBLE_DEVICES", "JOBS")}
    environment.update(variables, **({"PATH": path} if path else {}))
    return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, timeout=900, env=environment, cwd=cwd)


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
GPU = pathlib.Path(SCRIPT).resolve().parent / "gpu"
EXAMPLES = pathlib.Path(SCRIPT).resolve().parents[1] / "examples" / "on_cards"


def stand_in(path, *lines):
    path.write_text("#!/bin/sh\n" + "".join(line + "\n" for line in lines))
    path.chmod(0o755)


def run_stand_ins(cards, *options, without=(), visible_devices=None, **said):
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
        (here / "plans.md").write_text("of the run before")
        (here / "mine.md").write_text("kept")
        ended = run("--run-only", "--to", folder, *options, path=f"{here / 'bin'}:{os.environ['PATH']}",
                    **({} if visible_devices is None else {"CUDA_VISIBLE_DEVICES": visible_devices}))
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
ended, table = run_stand_ins(4, "--within", "4", **one_card)
check("parts without time are another exit code, and of the run before no table stays", ended.returncode == 3 and "SKIPPED: plans, since no time is left" in
      ended.stdout and "gpu_check: skipped: examples plans kernels gpt2 " in ended.stdout and ended.tables == {"mine": "kept"}, ended)
ended, table = run_stand_ins(1, **one_card, **{"bin/tee": [f'exec {shutil.which("tee")} "$@" /dev/full']})
check("a table that is not written", ended.returncode == 1 and " was not written as a whole. Fix: free space there, " in ended.stdout, ended)
ended, table = run_stand_ins(1, "--sanitize", "--peers", **one_card, **{"bin/python3": ['[ "$1" = -c ] && exit 1', f'exec {sys.executable} "$@"']})
check("without PyTorch its times are skipped in a sentence", ended.returncode == 3 and "SKIPPED: peers, since python3 has no PyTorch" in ended.stdout, ended)
ended, table = run_stand_ins(1, "--within", "2", **one_card, **{"bin/nvidia-smi": ["exec sleep 60"]})
check("cards that are not listed", ended.returncode == 2 and ended.stderr.startswith("gpu_check: nvidia-smi had not listed the cards after 2 s. Fix: "), ended)
for jobs in ("0", "x", "-1"):
    ended = run("--build-only", "--to", "/dev/null/none", JOBS=jobs)
    check("JOBS that is no number", ended.returncode == 2 and ended.stderr.startswith(f"gpu_check: JOBS is '{jobs}', no number of compilers. Fix: "), ended)

with tempfile.TemporaryDirectory() as folder:
    ended = run("--run-only", "--to", "of_mine", cwd=folder, path=f"{folder}:{os.environ['PATH']}") if not stand_in(pathlib.Path(folder) / "nvidia-smi") else None
    check("a folder is where the caller is", ended.returncode == 2 and ended.stderr.startswith(f"gpu_check: there is no folder '{folder}/of_mine'. Fix: "), ended)

COMPILES = ['case "$*" in *asked.cu*) exit 0 ;; esac', f"echo \"$@\" >>\"$(dirname \"$0\")/lines\"", 'for word; do [ "$before" != -o ] || out=$word; before=$word; done',
            "echo '#!/bin/sh' >\"$out\"", 'chmod +x "$out"']
FINDS = ['case "$*" in *asked.cu*) file=$(printf "%s\\n" "$@" | grep asked.cu) ;; esac',  # a header of NCCL where an option names its folder
         'if [ -n "$file" ] && grep -q nccl.h "$file"; then for word; do [ ! -e "${word#-I}/nccl.h" ] || exit 0; done; exit 1; fi',
         '[ -z "$file" ] || ! grep -q cudnn.h "$file" || exit 1']


def build_by_stand_ins(nvcc, *options, held=False, **variables):
    """What gpu_check says of compilers that are stand-ins, the lines that nvcc was started with, and how long it took."""
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        for name in ("bin", "to", "eigen/Eigen"):
            (here / name).mkdir(parents=True)
        stand_in(here / "bin" / "nvcc", *nvcc)
        stand_in(here / "bin" / "mpicxx")
        directory = os.open(here / "to", os.O_RDONLY)
        if held:
            fcntl.flock(directory, fcntl.LOCK_EX)
        begun = time.monotonic()
        ended = run("--build-only", "--to", str(here / "to"), *options, path=f"{here / 'bin'}:{os.environ['PATH']}", EIGEN=str(here / "eigen"), **variables)
        os.close(directory)
        ended.seconds = time.monotonic() - begun
        ended.lines = (here / "bin" / "lines").read_text().splitlines() if (here / "bin" / "lines").exists() else []
        ended.left = set(os.listdir(here / "to"))
        return ended


def line_of(ended, program):
    return next((line for line in ended.lines if line.endswith(f"/to/{program}")), "")


ended = build_by_stand_ins(COMPILES)
check("programs that compile", ended.returncode == 0 and ended.stderr == "" and ended.left == set(PARTS) | set(as_expected) | {"cudnn", "one_process_per_gpu",
      "one_process_per_gpu_without_mpi", "own_parts"}, ended)
ended = build_by_stand_ins(["echo '#error -- unsupported GNU version!' >&2", "exit 1"])
check("a compiler that compiles nothing is not taken for a missing library", ended.returncode == 2 and ended.stderr.startswith(
    "gpu_check: nvcc does not compile an empty file. Fix: ") and ended.stderr.endswith("#error -- unsupported GNU version!\n"), ended)
ended = build_by_stand_ins(FINDS + COMPILES)
check("no NCCL", ended.returncode == 2 and ended.stderr == "gpu_check: nccl.h was not found. Fix: install NCCL's development files.\n", ended)
with tempfile.TemporaryDirectory(suffix=" with a space") as folder:
    nccl = pathlib.Path(folder) / "nvidia" / "nccl"
    for name, text in (("include/nccl.h", ""), ("lib/libnccl.so.2", "")):
        (nccl / name).parent.mkdir(parents=True)
        (nccl / name).write_text(text)
    ended = build_by_stand_ins(FINDS + COMPILES, PYTHONPATH=folder)
    check("Python's packages in a folder with a space", ended.returncode == 0 and ended.stderr == "" and f"-I{nccl}/include" in line_of(ended, "kernels")
          and f'-rpath -Xlinker "{nccl}/lib"' in line_of(ended, "kernels"), ended)  # nvcc splits at spaces what it hands to the linker

ended = build_by_stand_ins(COMPILES, held=True)
check("a folder in which another works", ended.returncode == 2 and ended.lines == [] and
      ended.stderr.startswith("gpu_check: another gpu_check works in "), ended)
ended = build_by_stand_ins(["exec sleep 20"], "--within", "2")
check("a compiler that does not end, while headers are looked for", ended.returncode == 2 and ended.seconds < 15
      and ended.stderr.startswith("gpu_check: nvcc had not compiled a file of 1 lines after "), ended)
ended = build_by_stand_ins([COMPILES[0], *COMPILES[2:], "exec sleep 20"], "--within", "3", JOBS="2")
check("compilers that do not end: the time holds, and none is said to fail", ended.returncode == 3 and ended.seconds < 16 and ended.stderr == "" and ended.left == set()
      and "gpu_check: the time was over before these programs were compiled: bits bits_fused cards " in ended.stdout, ended)


def running(mark):
    """The processes whose commands have a word in them, but for those that are gone in a moment."""
    for _ in range(30):
        found = []
        for folder in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                words = (folder / "cmdline").read_text()
                found += [f"{folder.name} {words}"] if mark in words and (folder / "stat").read_text().rpartition(")")[2].split()[0] != "Z" else []
            except OSError:
                pass
        if not found:
            break
        time.sleep(0.1)
    return found


def examples_without_end():
    """What examples.py says of examples that do not end, and which of their ranks it leaves: some ignore SIGTERM, some are in groups of their own."""
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        (here / "bin").mkdir()
        mark = f"20{os.getpid()}"
        stand_in(here / "bin" / "nvidia-smi", *(f"echo 'GPU {n}: stand-in'" for n in range(4)))
        stand_in(here / "bin" / "mpirun", f"exec bash -c 'set -m; sleep {mark} & sleep {mark} & wait'")
        stand_in(here / "one_process_per_gpu", "true")
        stand_in(here / "one_process_per_gpu_without_mpi", "echo it has said this", "trap '' TERM", f"sleep {mark} & wait")
        environment = dict(os.environ, PATH=f"{here / 'bin'}:{os.environ['PATH']}")
        environment.pop("CUDA_VISIBLE_DEVICES", None)
        ended = subprocess.run([sys.executable, GPU / "examples.py", folder, "2"], capture_output=True, text=True, timeout=60, env=environment)
        check(f"examples that do not end leave {running(mark)}", ended.returncode == 1 and ended.stdout.count("| **no end within 2 s** | ") == 2
              and not running(mark), ended)


examples_without_end()
sys.path.insert(0, str(GPU))
sys.dont_write_bytecode = True
from examples import visible  # noqa: E402

LISTED = "\n".join(f"GPU {n}: NVIDIA H200 (UUID: GPU-{n}abc)" for n in range(4)) + "\n  MIG 1g.18gb     Device  0: (UUID: MIG-77)\n  MIG 1g.18gb     Device  1: (UUID: MIG-78)\n"
for chosen, count in ((None, 4), ("0", 1), ("3,1", 2), ("", 0), ("-1", 0), ("0,7,1", 1), ("GPU-2,0", 2), ("1,1", 0), ("MIG-77", 1), ("MIG-77,MIG-78", 1), ("MIG-9", 0)):
    if visible(LISTED, chosen) != count:
        faults.append(f"CUDA_VISIBLE_DEVICES={chosen}: {visible(LISTED, chosen)} cards are counted, not {count}")
ended, table = run_stand_ins(4, visible_devices="0", one_process_per_gpu=["exit 1"], one_process_per_gpu_without_mpi=["exit 1"], **as_expected)
check("cards that are hidden do not count", ended.returncode == 0 and table.count("| SKIPPED: it needs 4 cards, 1 is here |") == 2, ended)


def stop_when(there, number, arguments, here, to_group):
    """What a gpu_check says that gets a signal when a file is there, which its stand-ins make."""
    environment = dict(os.environ, PATH=f"{here / 'bin'}:{os.environ['PATH']}", JOBS="2", EIGEN=str(here))
    started = subprocess.Popen([SCRIPT, "--to", str(here), *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
                               start_new_session=True)
    begun = time.monotonic()
    while not there.exists() and time.monotonic() - begun < 30:
        time.sleep(0.05)
    (os.killpg if to_group else os.kill)(started.pid, number)
    try:
        started.stdout, started.stderr = (text for text in started.communicate(timeout=20))
    except subprocess.TimeoutExpired:
        started.kill()
        started.stdout, started.stderr = "", "it did not end"
    return started


def stop_one(what, number, to_group):
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        (here / "bin").mkdir()
        (here / "Eigen").mkdir()
        goes_on = ["echo it has said this", f"touch '{here}/begun'", f"sleep 10{os.getpid()} & wait"]
        if what == "an example":
            stand_in(here / "bin" / "nvidia-smi", "echo 'GPU 0: stand-in'")
            stand_in(here / "mnist_on_card", *goes_on)
            ended = stop_when(here / "begun", number, ["--run-only"], here, to_group)
        elif what == "a part":
            stand_in(here / "bin" / "nvidia-smi", "echo 'GPU 0: stand-in'")
            stand_in(here / "plans", *goes_on)
            ended = stop_when(here / "begun", number, ["--run-only"], here, to_group)
            check(f"what a part had said that was ended by {number}: {(here / 'plans.md').read_text()!r}", (here / "plans.md").read_text() == "it has said this\n", ended)
        else:
            stand_in(here / "bin" / "nvcc", 'case "$*" in *asked.cu*) exit 0 ;; esac', *goes_on)
            ended = stop_when(here / "begun", number, ["--build-only"], here, to_group)
        name = signal.Signals(number).name
        check(f"{what}, ended by {name}{' to the group' if to_group else ''}: left are {running(f'10{os.getpid()}')}", ended.returncode == 128 + number
              and f"gpu_check: ended by {name}, with all that it had started\n" in ended.stderr and not running(f"10{os.getpid()}"), ended)


for what, number, to_group in (("an example", signal.SIGTERM, True), ("a part", signal.SIGTERM, False), ("a part", signal.SIGINT, True),
                               ("a compiler", signal.SIGINT, True), ("a compiler", signal.SIGTERM, False), ("a compiler", signal.SIGHUP, True)):
    stop_one(what, number, to_group)

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
