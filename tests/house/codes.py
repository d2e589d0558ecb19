# SPDX-License-Identifier: MIT
"""Every error code of the headers is documented in docs/errors.md under a heading of its own and occurs in a test."""
import re

import house

IN_CODE = re.compile(r"Code\{\s*'([A-Z])'\s*,\s*(\d+)\s*\}")
IN_TEXT = re.compile(r"heddle\.([A-Z]\d\d)\b")
HEADING = re.compile(r"^## ([A-Z]\d\d)\b", re.M)
LAW = re.compile(r'static_assert\(Holds [^"]*"\[heddle\.([A-Z]\d\d)\] ([^"]*)"')
WHERE = " and fix: in quotes after rule< in this output, or docs/errors.md."
ASSERTED = re.compile(r'static_assert\(((?:[^;"]|"(?:[^"\\]|\\.)*")*)\)\s*;')
LITERAL = re.compile(r',\s*"((?:[^"\\]|\\.)*)"(?:\s*"(?:[^"\\]|\\.)*")*\s*$')
CASE = re.compile(r"^([A-Z]\d\d)_")


def codes_in(text):
    return {f"{letter}{int(number):02}" for letter, number in IN_CODE.findall(text)} | set(IN_TEXT.findall(text))


def messages_in(text):
    """What static_asserts say where they are broken; those without words are for those who change the headers."""
    for asserted in ASSERTED.findall(text):
        if said := LITERAL.search(asserted):
            yield said.group(1)


def check(root):
    used = {}
    fire = root / "include" / "heddle" / "core" / "fire.hpp"
    for code, law in LAW.findall(fire.read_text()) if fire.exists() else []:
        if not law.endswith(WHERE) and ". Fix: " not in law:  # a law without numbers may be the sentence itself
            yield f"core/fire.hpp: the law of {code} does not say where its sentence stands. Fix: end it with '{WHERE.strip()}'"
    for path in house.headers(root):
        for words in messages_in(path.read_text()):
            if not re.match(r"\[heddle\.[A-Z]\d\d\] ", words):
                yield f"{path.relative_to(root)}: '{words}' speaks to a user without a code. Fix: begin it with [heddle.X00], or make it a comment if no user meets it"
        for code in codes_in(path.read_text()):
            used.setdefault(code, str(path.relative_to(root)))
    tested = set()
    for path in house.files(root, ".cpp", ".hpp"):
        if path.is_relative_to(root / "tests"):
            tested |= codes_in(path.read_text())
            case = CASE.match(path.name)
            if case and path.parent.name == "fail":
                tested.add(case.group(1))
    catalogue = root / "docs" / "errors.md"
    headings = HEADING.findall(catalogue.read_text()) if catalogue.exists() else []
    for code, where in sorted(used.items()):
        if code not in headings:
            yield f"{where}: {code} has no heading '## {code} ...' in docs/errors.md"
        if code not in tested:
            yield f"{where}: {code} occurs in no test"
    for code in sorted(set(headings) - set(used)):
        yield f"docs/errors.md: {code} occurs in no header"
    for code in sorted({code for code in headings if headings.count(code) > 1}):
        yield f"docs/errors.md: {code} has more than one heading"


HEADER = {"include/heddle/core/a.hpp": "throw Error{Code{'X', 1}, \"no\"};\n"}
TEST = {"tests/core/a_test.cpp": 'CHECK(contains("[heddle.X01]"));\n'}
PAGE = {"docs/errors.md": "## X01 no\n"}
HEADER["include/heddle/core/b.hpp"] = 'static_assert(sum("a, b") == 3);\nstatic_assert(sum("a"), "[heddle.X01] no; "\n "none. Fix: add.");\n'
ACCEPTED = HEADER | TEST | PAGE | {"include/heddle/core/fire.hpp": 'static_assert(Holds || Broken, "[heddle.X01] No. Fix: say yes.");\n'}
REFUSED = {
    "'no sum' speaks to a user": ACCEPTED | {"include/heddle/core/b.hpp": 'static_assert(f(";") == sum(1, "a"),\n  "no sum"\n  ". Fix: add.");\n'},
    "the law of X01 does not say where": ACCEPTED | {"include/heddle/core/fire.hpp": 'static_assert(Holds || Broken, "[heddle.X01] No. Look elsewhere.");\n'},
    "has no heading": HEADER | TEST,
    "occurs in no test": HEADER | PAGE,
    "X02 occurs in no header": HEADER | TEST | {"docs/errors.md": "## X01 no\n## X02 gone\n"},
    "more than one heading": HEADER | TEST | {"docs/errors.md": "## X01 no\n## X01 again\n"},
}
