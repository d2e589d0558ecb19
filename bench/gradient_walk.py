#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The walk of a gradient: through which files of Heddle a call goes from trainer.step() to a backward kernel, the sum over ranks and the optimizer.

A step of two replicas runs in gdb, which stops in every function of the kernels of Linear, of the ring of a group, of its sums and of the optimizers, and
notes who called whom. A hop is a call from one file into another. Usage: gradient_walk.py [--include FOLDER] [--hops]
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PROGRAM = """#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <vector>
using namespace heddle;
struct Net : Sequential<Linear<8, 6>, ReLU, Linear<6, 4>> {};
int main() {
  Trainer<Plan<Net, CrossEntropy, Adam, Batch<8>, DataParallel<2>>, CpuThreads> trainer{{.learning_rate = 1e-3}, Seed{1}};
  const std::vector<float> inputs(64, 0.5F);
  const std::vector<std::int32_t> labels(8, 1);
  trainer.step(examples(inputs, labels, 8));
}
"""
ENDS = ("linear", "group_ring", "tree_sum", "optimizers")
IN_GDB = """set pagination off
set confirm off
set print frame-arguments none
rbreak {end}.hpp:.
python
go = "run"
while True:
    try:
        gdb.execute(go, to_string=True)
        gdb.newest_frame()
    except gdb.error:
        break
    go = "continue"
    print("STACK\\n" + gdb.execute("bt", to_string=True))
end
"""


def hops_of(stack):
    """The calls from file to file of one stack, or none if it is no part of the step of a gradient."""
    frames = re.findall(r"^#\d+ .*? at (\S+):(\d+)$", stack, re.M)
    of_main = [line for path, line in frames if path.endswith("walk.cpp")]
    in_step = "Executor" in stack and (of_main[-1] == "10" if of_main else "Workers" in stack)
    if not in_step or ("linear.hpp" in stack and "backward" not in stack):
        return []
    path = [re.sub(r".*/include/heddle/", "", p) for p, _ in reversed(frames) if "/include/heddle/" in p]
    return list(zip(path, path[1:]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--include", default=pathlib.Path(__file__).resolve().parent.parent / "include", help="the headers to walk through")
    parser.add_argument("--eigen", default="/usr/include/eigen3")
    parser.add_argument("--hops", action="store_true", help="print each hop as well")
    given = parser.parse_args()
    if not shutil.which("gdb"):
        sys.exit("gradient_walk: there is no gdb. Fix: install gdb.")
    hops = set()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "walk.cpp").write_text(PROGRAM)
        subprocess.run(["g++", "-std=c++20", "-O0", "-g", "-pthread", "-I", given.include, "-isystem", given.eigen, "walk.cpp", "-o", "walk"],
                       cwd=folder, check=True)
        for end in ENDS:
            (folder / "in.gdb").write_text(IN_GDB.format(end=end))
            out = subprocess.run(["gdb", "-batch", "-x", "in.gdb", "walk"], cwd=folder, capture_output=True, text=True).stdout
            before = len(hops)
            for stack in out.split("STACK\n")[1:]:
                hops.update((a, b) for a, b in hops_of(stack) if a != b)
            if len(hops) == before:
                sys.exit(f"gradient_walk: no step came to {end}.hpp. Fix: run it where gdb may trace a process, and look at `gdb -batch -x`.")
            print(f"{end}.hpp: walked to", file=sys.stderr)
    if given.hops:
        for a, b in sorted(hops):
            print(f"{a} -> {b}")
    print(f"{len({f for hop in hops for f in hop})} files, {len(hops)} hops")


if __name__ == "__main__":
    main()
