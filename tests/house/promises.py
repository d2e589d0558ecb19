# SPDX-License-Identifier: MIT
"""docs/promises.md: every cell of the table names a test that exists, or begins with the word no; and no promise stands twice."""
import re

import house

LINK = re.compile(r"\[[^\]]+\]\(\.\./(tests/[^)]+)\)")


def rows_of(text):
    return [line for line in text.splitlines() if line.startswith("|") and not line.startswith("|---")]


def check(root):
    page = root / "docs" / "promises.md"
    if not page.exists():
        yield "docs/promises.md is not there"
        return
    head, *rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows_of(page.read_text())]
    said = [row[0] for row in rows]
    for row in rows:
        if len(row) != len(head):
            yield f"docs/promises.md: '{row[0]}' has {len(row) - 1} cells for {len(head) - 1} columns"
            continue
        if said.count(row[0]) > 1:
            yield f"docs/promises.md: '{row[0]}' stands twice"
        for column, cell in zip(head[1:], row[1:]):
            tests = LINK.findall(cell)
            if not tests and not re.match(r"no\b", cell):
                yield f"docs/promises.md: '{row[0]}' names no test on {column}, and does not say no"
            for test in tests:
                if not (root / test).exists():
                    yield f"docs/promises.md: '{row[0]}' names {test}, which is not there"


def page(*rows):
    return {"docs/promises.md": "| promise | threads | CUDA |\n|---|---|---|\n" + "".join(f"| {row} |\n" for row in rows), "tests/a_test.cpp": ""}


ACCEPTED = page("it holds | [a](../tests/a_test.cpp) | no: not yet")
REFUSED = {
    "names no test on CUDA": page("it holds | [a](../tests/a_test.cpp) | yes"),
    "names tests/b_test.cpp, which is not there": page("it holds | [b](../tests/b_test.cpp) | no"),
    "stands twice": page("it holds | no | no", "it holds | no | no"),
    "has 1 cells for 2 columns": page("it holds | no"),
    "does not say no": page("it holds | nothing | no"),
}
