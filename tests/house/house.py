#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs one house rule on the project, or on inputs that it must accept and refuse (--self-check).

A rule is a module beside this file with
    check(root)  gives one sentence per fault, "path: what is wrong"
    ACCEPTED     files (path -> text) without a fault
    REFUSED      pieces of a sentence -> files whose check must say it
    missing()    optional: what the rule needs and is not installed, or nothing
"""
import functools
import importlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]
LEFT_OUT = {".git", "build", "shared", "__pycache__", ".cache", ".ccache"}


def files(root, *suffixes):
    """All files of the project with one of the suffixes, sorted; without suffixes all files."""
    found = []
    for path in sorted(root.rglob("*")):
        parts = path.relative_to(root).parts
        if path.is_file() and not LEFT_OUT.intersection(parts) and (not suffixes or path.suffix in suffixes):
            found.append(path)
    return found


def headers(root):
    return [path for path in files(root, ".hpp") if path.is_relative_to(root / "include")]


def mpi_folders():
    """Where mpi.h is, as options of a compiler; nothing without MPI."""
    wrapper = shutil.which("mpicxx")
    if not wrapper:
        return []
    shown = subprocess.run([wrapper, "-show"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return [word.replace("-I", "-isystem", 1) for word in shown.split() if word.startswith("-I")]


OF_CUDA = re.compile(r"heddle/(compute/cuda/\w+|backend/cuda\w*|transport/nccl\w*)\.hpp$")


def cuda_folders():
    """Where cuda_runtime_api.h is, as options of a compiler; None without the CUDA toolkit."""
    found = shutil.which("nvcc")
    folders = [*([pathlib.Path(found).resolve().parent.parent / "include"] if found else []), pathlib.Path("/usr/local/cuda/include")]
    return next((["-isystem", str(folder)] for folder in folders if (folder / "cuda_runtime_api.h").exists()), None)


INCLUDE = re.compile(r'#include [<"](.*?)[>"]')
OF_NCCL = re.compile(r"heddle/(transport/nccl\w*|backend/cuda_(rank|threads|mpi))\.hpp$")


def nccl_is_here():
    """NCCL is no part of the CUDA toolkit: many machines have one without the other."""
    folders = [pathlib.Path(folder) for folder in ("/usr/include", "/usr/local/include", *(cuda_folders() or [])[1:])]
    return any((folder / "nccl.h").exists() for folder in folders)


OF_CUDNN = re.compile(r"heddle/(compute/cuda/cudnn\w*|backend/cuda_cudnn)\.hpp$")


def cudnn_is_here():
    """Nor is cuDNN, and an older one lacks what Heddle calls."""
    folders = [pathlib.Path(folder) for folder in ("/usr/include", "/usr/local/include", *(cuda_folders() or [])[1:])]
    return any((folder / "cudnn.h").exists() for folder in folders)


def lacks_cards(name):
    """Whether a header needs CUDA, NCCL or cuDNN, and this machine has none."""
    return (bool(OF_CUDA.search(name)) and not cuda_folders() or bool(OF_NCCL.search(name)) and not nccl_is_here()
            or bool(OF_CUDNN.search(name)) and not cudnn_is_here())


def included(text):
    """What a file includes on any condition and before its first line of code."""
    conditions = 0
    for line in text.splitlines():
        word = line.replace(" ", "")
        conditions += word.startswith("#if") - word.startswith("#endif")
        if conditions == 0 and line.startswith("#include"):
            yield INCLUDE.match(line)[1]
        elif line.strip() and not word.startswith(("//", "#if", "#el", "#endif", "#pragma", "#include")):
            return


DEFINED = re.compile(r"^ *# *define (\w+)", re.M)


def included_perhaps(text, macros):
    """What a file includes on a condition that names one of these macros."""
    conditions = []
    for line in text.splitlines():
        word = line.replace(" ", "")
        if word.startswith("#if"):
            conditions.append(line)
        elif word.startswith("#el") and conditions:
            conditions[-1] += line
        elif word.startswith("#endif") and conditions:
            conditions.pop()
        elif word.startswith("#include") and macros.intersection(re.findall(r"\w+", " ".join(conditions))):
            yield from re.findall(r'[<"](.*?)[>"]', line)[:1]


class Reading:
    """Which headers a header reads: itself, what it includes, and what those include. A header that is not one of the project's reads itself alone."""

    def __init__(self, root):
        self.base, self.known = root / "include", {}

    def of(self, name):
        if name not in self.known:
            self.known[name] = frozenset([name])  # of two headers that include each other
            path = self.base / name
            self.known[name] = frozenset([name]).union(*map(self.of, included(path.read_text()) if path.exists() else ()))
        return self.known[name]

    @functools.cached_property
    def macros(self):
        return frozenset().union(*(DEFINED.findall(path.read_text()) for path in self.base.rglob("*.hpp")))

    @functools.cache
    def perhaps(self, name):
        """What a header reads, and what it may read beside if another header of the project was read before it, which defines a macro.
        What it includes on another condition, such as the kind of processor, it includes wherever it is read."""
        read, rest = {name}, [name]
        while rest:
            path = self.base / rest.pop()
            text = path.read_text() if path.exists() else ""
            new = {*included(text), *included_perhaps(text, self.macros)} - read
            read |= new
            rest += new
        return frozenset(read)

    @functools.cache
    def lines(self, name):
        """About how many lines of ours it takes as long to read as this header: Eigen as long as some thousands."""
        foreign = {"Eigen/Core": 8000}
        return sum((self.base / read).read_text().count("\n") if (self.base / read).exists() else foreign.get(read, 100) for read in self.of(name))


def in_chains(things, contains, cost):
    """Chains of things of which each contains the one before it, every thing in one of them, so that the last of the chains cost as little as can be."""
    before = {}  # thing -> the one before it in its chain

    def put_before_another(thing, tried):
        for other in things:
            if other == thing or other in tried or not contains(other, thing) or contains(thing, other) and things.index(other) < things.index(thing):
                continue
            tried.add(other)
            if other not in before or put_before_another(before[other], tried):
                before[other] = thing
                return True
        return False

    last = [thing for thing in sorted(things, key=cost, reverse=True) if not put_before_another(thing, set())]
    chains = []
    for thing in last:
        chain = [thing]
        while chain[0] in before:
            chain.insert(0, before[chain[0]])
        chains.append(chain)
    return chains


def lay_out(folder, texts):
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def self_check(rule):
    for words, texts in [(None, rule.ACCEPTED), *rule.REFUSED.items()]:
        with tempfile.TemporaryDirectory() as folder:
            lay_out(pathlib.Path(folder), texts)
            told = list(rule.check(pathlib.Path(folder)))
        if words is None:
            assert not told, f"a good input is refused: {told}"
        else:
            assert any(words in sentence for sentence in told), f"not refused with '{words}': {told}"
    print(f"1 good input accepted, {len(rule.REFUSED)} bad inputs refused")


def main(name, *options):
    rule = importlib.import_module(name)
    lacking = rule.missing() if hasattr(rule, "missing") else None
    if lacking:
        print(f"SKIPPED: {lacking}")
        return SKIPPED
    if "--self-check" in options:
        self_check(rule)
        return 0
    faults = list(rule.check(ROOT))
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
