#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs one house rule on the project, or on inputs that it must accept and refuse (--self-check).

A rule is a module beside this file with
    check(root)  gives one sentence per fault, "path: what is wrong"
    ACCEPTED     files (path -> text) without a fault
    REFUSED      pieces of a sentence -> files whose check must say it
    missing()    optional: what the rule needs and is not installed, or nothing
"""
import importlib
import pathlib
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
