#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The end of ./heddle test: why tests were skipped, a line per backend, and the totals.

usage: summary.py REPORT TESTS   ctest's JUnit report, and what ctest --show-only=json-v1 prints: CMake 3.25 leaves labels out of the report
"""
import json
import shutil
import sys
import xml.etree.ElementTree as ElementTree

BACKENDS = ("cpu_threads", "cpu_mpi", "cuda_emulated", "cuda")


def reason(output):
    lines = [line for line in output.splitlines() if line.startswith("SKIPPED:")]
    return lines[0].removeprefix("SKIPPED:").strip() if lines else "no reason was printed"


def labels_of(listed):
    """Labels by the name of a test, from ctest's list of tests."""
    found = {}
    for test in listed["tests"]:
        values = [p["value"] for p in test.get("properties", []) if p["name"] == "LABELS"]
        found[test["name"]] = values[0] if values else []
    return found


def read(report, listed):
    """One (name, outcome, labels, reason) a test."""
    tests = []
    with open(listed, encoding="utf-8") as file:
        labels = labels_of(json.load(file))
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        output = "".join(e.text or "" for e in case.iter("system-out"))
        outcome = {"run": "passed", "notrun": "skipped", "disabled": "skipped"}.get(case.get("status"), "failed")
        if outcome == "skipped" and "SKIP_RETURN_CODE" not in "".join(e.get("message", "") for e in case.iter("skipped")):
            outcome = "failed"  # ctest also says "notrun" of a program that was not built
        tests.append((case.get("name"), outcome, labels.get(case.get("name"), []), reason(output)))
    return tests


def backend_line(backend, tests, has_gpu):
    outcomes = [outcome for _, outcome, labels, _ in tests if backend in labels]
    ran = sum(outcome != "skipped" for outcome in outcomes)
    if ran:
        failed = outcomes.count("failed")
        where = " on this machine's processor, none on a card" if backend == "cuda_emulated" else ""
        return f"{backend}: ran {ran} tests{where}" + (f", {failed} failed" if failed else "")
    if outcomes:
        return f"{backend}: skipped: " + next(why for _, _, labels, why in tests if backend in labels)
    why = {
        "cpu_threads": "no test of it was selected",
        "cpu_mpi": "no test of it was selected",
        "cuda_emulated": "no test of it was selected",
        "cuda": "tools/gpu_check asks a card" + ("" if has_gpu else ", and no NVIDIA GPU was found here"),
    }
    return f"{backend}: skipped: {why[backend]}"


def lines(tests, has_gpu=False):
    for name, outcome, _, why in tests:
        if outcome == "skipped":
            yield f"skipped {name}: {why}"
    for name, outcome, _, _ in tests:
        if outcome == "failed":
            yield f"failed {name}"
    for backend in BACKENDS:
        yield backend_line(backend, tests, has_gpu)
    count = [outcome for _, outcome, _, _ in tests].count
    yield f"{count('passed')} passed, {count('failed')} failed, {count('skipped')} skipped"


def self_check():
    tests = [("a", "passed", ["run", "cpu_threads"], ""), ("b", "failed", ["run"], ""), ("c", "skipped", ["fail"], "nvcc is not installed")]
    told = list(lines(tests))
    assert told[-1] == "1 passed, 1 failed, 1 skipped", told
    assert "cpu_threads: ran 1 tests" in told and "skipped c: nvcc is not installed" in told, told
    assert "cuda: skipped: tools/gpu_check asks a card, and no NVIDIA GPU was found here" in told, told
    emulated = list(lines([("d", "passed", ["run", "cuda_emulated"], "")]))
    assert "cuda_emulated: ran 1 tests on this machine's processor, none on a card" in emulated, emulated
    listed = {"tests": [{"name": "a", "properties": [{"name": "LABELS", "value": ["run", "cpu_threads"]}]}, {"name": "b"}]}
    assert labels_of(listed) == {"a": ["run", "cpu_threads"], "b": []}, labels_of(listed)
    assert list(lines([]))[-1] == "0 passed, 0 failed, 0 skipped"


def main(report, listed):
    try:
        tests = read(report, listed)
    except (OSError, ElementTree.ParseError, json.JSONDecodeError) as problem:
        print(f"no report of the tests: {problem}", file=sys.stderr)
        return 1
    print("\n".join(lines(tests, shutil.which("nvidia-smi") is not None)))
    return 0 if tests and all(outcome != "failed" for _, outcome, _, _ in tests) else 1


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-check"]:
        self_check()
    else:
        sys.exit(main(sys.argv[1], sys.argv[2]))
