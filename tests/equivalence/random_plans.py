#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Plans that random seeds draw, built and trained beside one device until so many were legal: their bits, bytes and memory are compared.

    random_plans.py --compiler "g++ -std=c++20 -O0 -I include -I tests -isystem /usr/include/eigen3 -pthread" --main main.o --first-seed 1000 --legal 200

What a seed draws, and what is compared, stands in equivalence/random_plans.hpp. A failure prints the seed and what it drew.
"""
import argparse
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import time

SEEDS_A_PROGRAM = 14
TEXT = """#include "rooms.hpp"
#include "equivalence/random_plans.hpp"
TEST_CASE("plans that the seeds from {first} draw train to the bits of one device") {{ equivalence::check_seeds<{first}, {count}, 0>(); }}
"""


def words_of(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return done.returncode, done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compiler", required=True, help="with its flags, as one word")
    parser.add_argument("--main", required=True, help="what else is linked: the compiled main function of the tests")
    parser.add_argument("--first-seed", type=int, default=int(time.time()))
    parser.add_argument("--legal", type=int, default=200)
    options = parser.parse_args()
    legal = drawn = 0
    seed = options.first_seed % 1_000_000_000
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder) / "plans.cpp", pathlib.Path(folder) / "plans"
        while legal < options.legal:
            source.write_text(TEXT.format(first=seed, count=SEEDS_A_PROGRAM))
            for command in ([*shlex.split(options.compiler), str(source), *shlex.split(options.main), "-o", str(program)], [str(program), "-s"]):
                code, words = words_of(command)
                if code != 0:
                    print(f"{words[-6000:]}\nseeds {seed} to {seed + SEEDS_A_PROGRAM - 1}: {' '.join(command[:1])} ended with {code}")
                    return 1
            legal += len(re.findall(r"MESSAGE: legal$", words, re.M))
            seed, drawn = seed + SEEDS_A_PROGRAM, drawn + SEEDS_A_PROGRAM
            print(f"seeds up to {seed - 1}: {legal} of {drawn} plans were legal and ended with the bits of one device", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
