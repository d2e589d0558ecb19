# SPDX-License-Identifier: MIT
"""docs/anchors.md lists each case of tests/anchors once, by the threads that its name begins with and by its file."""
import re

import house

CASE = re.compile(r'TEST_CASE\(\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)')
ROW = re.compile(r"^\| [\d-]+ \| (.+?) \| .* \| \[(\w+)\]\(\.\./tests/anchors/(\w+_test\.cpp)\) \|$", re.M)


def threads_of(text):
    """The names of the cases of a file, up to the colon."""
    return [re.sub(r'"\s*"', "", name).strip().strip('"').split(": ")[0] for name in CASE.findall(text)]


def check(root):
    page = root / "docs" / "anchors.md"
    rows = [(threads, file) for threads, _, file in ROW.findall(page.read_text())] if page.exists() else []
    cases = [
        (threads, path.name)
        for path in house.files(root, ".cpp")
        if path.parent == root / "tests" / "anchors"
        for threads in threads_of(path.read_text())
    ]
    for threads, file in cases:
        if rows.count((threads, file)) != 1:
            yield f"docs/anchors.md: '{threads}' of tests/anchors/{file} has {rows.count((threads, file))} rows, not one"
    for threads, file in rows:
        if (threads, file) not in cases:
            yield f"docs/anchors.md: tests/anchors/{file} has no case '{threads}: ...'"


PAGE = {"docs/anchors.md": "| 1 | some #1, #2 | found at build | [a](../tests/anchors/a_test.cpp) |\n"}
TEST = {"tests/anchors/a_test.cpp": 'TEST_CASE(\n    "some #1, "\n    "#2: it is refused") {}\n'}
ACCEPTED = PAGE | TEST
REFUSED = {
    "has 0 rows": TEST,
    "has 2 rows": TEST | {"docs/anchors.md": 2 * PAGE["docs/anchors.md"]},
    "has no case": PAGE | {"tests/anchors/a_test.cpp": 'TEST_CASE("some #1: it is refused") {}\n'},
}
