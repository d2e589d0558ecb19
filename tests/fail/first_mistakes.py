#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Prints the table of docs/first_mistakes.md: what three compilers say of each case of tests/fail that has a line `// mistake: <words>`.

    first_mistakes.py --include include --include /usr/include/eigen3 --page docs/first_mistakes.md           prints it
    first_mistakes.py --include include --include /usr/include/eigen3 --page docs/first_mistakes.md --write   and writes it into the page

Each broken twin is compiled as a user compiles it. run_fail.py compares the counts of the page with those that it measures for each case.
"""
import argparse
import pathlib
import re
import sys

import run_fail

COMPILERS = ["g++", "clang++-14", "clang++-19"]
HEAD = "| mistake | g++ 12 | clang 14 | clang 19 | what is said |\n|---|---|---|---|---|\n"
TABLE = re.compile(re.escape(HEAD) + r"(?:\|.*\n)*")


def mistake_of(case):
    found = re.search(r"^// mistake: (.*)$", case.read_text(), re.M)
    return found[1] if found else None


def sentence_of(words):
    """Heddle's sentence with numbers, else its law, else the first error of the compiler, as one line for a cell."""
    whole = re.search(r'Spelled<\d+>\{"(\[heddle\..*?)"\}', words)
    law = re.search(r"error: (?:static assertion failed: )?(\[heddle\..*)", words)
    own = re.search(r"error: (.*)", words)
    said = whole[1] if whole else law[1] if law else own[1]
    said = re.sub(r"heddle::(?:\w+_room::)?", "", said.removesuffix(": No such file or directory"))
    return said.replace("|", "\\|").replace("<", "&lt;").replace("`", "'").strip()


def row(case, includes):
    cells, said = [], ""
    for compiler in COMPILERS:
        kind, program = run_fail.family(compiler), run_fail.find(compiler)
        _, words = run_fail.compile_twin(program, kind, case, includes, False)
        cells.append("{} / {}".format(*run_fail.counts(words)))
        said = said or sentence_of(words)
    return f"| {mistake_of(case)} | {' | '.join(cells)} | [{said}](../tests/fail/{case.name}) |\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--include", action="append", required=True)
    parser.add_argument("--page", type=pathlib.Path, required=True)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    lacking = [compiler for compiler in COMPILERS if run_fail.find(compiler) is None]
    if lacking:
        print(f"SKIPPED: {', '.join(lacking)} is not installed")
        return run_fail.SKIPPED
    cases = sorted((case for case in pathlib.Path(__file__).parent.glob("*.cpp") if mistake_of(case)), key=mistake_of)
    table = HEAD
    for case in cases:
        table += row(case, options.include)
        print(table.splitlines()[-1], flush=True)
    if options.write:
        text = options.page.read_text()
        options.page.write_text(TABLE.sub(lambda _: table, text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
