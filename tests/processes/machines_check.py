#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plans whose ranks are on two machines: machines_check.py PROGRAM MPIRUN NUMBER_FLAG

Two network namespaces with names of their own, joined by one virtual cable, act as the machines: nothing but that cable connects their networks, and
Open MPI takes them for two nodes. Every plan must have the bits of one process, and what its ranks send each other must have passed the cable. When the
cable is pulled in the middle of training, ranks that are left name one that they cannot reach.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import threading

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE = 100  # seconds: only a hang reaches it
RANK = re.compile(r"^rank (\d) on (\S+): loss (\S+), parameters ([0-9a-f]{16}), sent (\d+) bytes$", re.M)
# Plan, its reference, and the share of its bytes that crosses where neighbouring ranks are on different machines: two of three peers of a replica;
# both neighbours of a stage; of the product all sums and gathers of slices, but no activation.
PLANS = (("replicas", "alone", 2 / 3), ("stages", "alone", 1.0), ("product", "product-alone", 0.5))


def said(command):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=PATIENCE)


def skip(why):
    print(f"SKIPPED: {why}")
    sys.exit(77)


class Machines:
    """Two of them, for as long as the block runs."""

    def __init__(self):
        self.names = [f"heddle{os.getpid()}{letter}" for letter in "ab"]
        self.ends = [f"hdl{os.getpid()}{letter}" for letter in "ab"]

    def __enter__(self):
        a, b = self.names
        commands = [f"ip netns add {a}", f"ip netns add {b}", f"ip link add {self.ends[0]} netns {a} type veth peer name {self.ends[1]} netns {b}"]
        for number, (name, end) in enumerate(zip(self.names, self.ends), 1):
            commands += [f"ip -n {name} addr add 10.213.7.{number}/24 dev {end}", f"ip -n {name} link set lo up", f"ip -n {name} link set {end} up"]
        commands += [f"{HERE / 'on_machine.sh'} {name} true" for name in self.names]
        for command in commands:
            done = said(shlex.split(command))
            if done.returncode:
                self.__exit__()
                skip(f"network namespaces are not permitted here ({command}: {done.stdout.strip()})")
        return self

    def __exit__(self, *_):
        for name in self.names:
            said(["ip", "netns", "del", name])

    def crossed(self):
        """Bytes that have passed the cable, either way."""
        seen = json.loads(said(["ip", "-n", self.names[0], "-s", "-j", "link", "show", "dev", self.ends[0]]).stdout)[0]["stats64"]
        return seen["rx"]["bytes"] + seen["tx"]["bytes"]

    def command(self, mpirun, flag, program, plan):
        """Ranks 0 and 2 on the first machine, 1 and 3 on the second."""
        hosts = ",".join(f"{name}:2" for name in self.names)
        words = [mpirun, "--mca", "plm_rsh_agent", str(HERE / "on_machine.sh"), "--host", hosts, "--map-by", "node", flag, "4", program, "machines", plan]
        return [str(HERE / "on_machine.sh"), self.names[0], "exec " + shlex.join(words)]

    def start(self, *mpirun_and_program):
        return said(self.command(*mpirun_and_program))

    def cable(self, state):
        said(["ip", "-n", self.names[1], "link", "set", self.ends[1], state])

    def lose_one(self, *mpirun_and_program):
        """What is said from the moment that the cable is pulled in the middle of training until mpirun has ended."""
        with subprocess.Popen(self.command(*mpirun_and_program), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace") as job:
            watchdog = threading.Timer(PATIENCE, job.kill)
            watchdog.start()
            heard = []
            for line in job.stdout:
                heard.append(line)
                if line == "training\n":
                    self.cable("down")
                if "[heddle.R01]" in line:
                    self.cable("up")  # mpirun ends its daemon on the other machine
            watchdog.cancel()
        return "".join(heard)


def main(program, mpirun, flag):
    mpirun = shutil.which(mpirun) or mpirun
    for tool in ("ip", "unshare"):
        if not shutil.which(tool):
            skip(f"there is no {tool} (packages iproute2 and util-linux)")
    if not re.search(r"\((Open MPI|OpenRTE)\) 4\.", said([mpirun, "--version"]).stdout):  # mpirun and mpiexec name themselves differently
        skip("the option that replaces ssh is that of Open MPI 4")
    faults = []
    with Machines() as machines:
        for plan, reference, share in PLANS:
            wanted = RANK.findall(said([mpirun, flag, "1", program, "machines", reference]).stdout)
            before = machines.crossed()
            done = machines.start(mpirun, flag, program, plan)
            crossed = machines.crossed() - before
            print(f"$ {plan}: {done.returncode}, {crossed} bytes over the cable\n{done.stdout}", flush=True)
            ranks = RANK.findall(done.stdout)
            if done.returncode or len(ranks) != 4 or len(wanted) != 1:
                faults.append(f"{plan} does not train on two machines")
                continue
            if any(name != machines.names[int(rank) % 2] for rank, name, *_ in ranks):
                faults.append(f"{plan}: ranks are not on both machines in turn")
            if {(loss, parameters) for _, _, loss, parameters, _ in ranks} != {wanted[0][2:4]}:
                faults.append(f"{plan}: other bits than one process, {wanted[0]}")
            if crossed < share * sum(int(sent) for *_, sent in ranks):
                faults.append(f"{plan}: what was sent has not passed the cable")
        heard = machines.lose_one(mpirun, flag, program, "until-lost")
        print(f"$ until-lost\n{heard}", flush=True)
        if not re.search(r"\[heddle\.R01\] rank [13] was lost at .* within the deadline of 4000 ms", heard):
            faults.append("no rank of the first machine names one of the second, which was cut off")
    for fault in faults:
        print("FAULT", fault)
    print(f"{len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
