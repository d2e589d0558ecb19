# SPDX-License-Identifier: MIT
"""Every source file names its licence in its first lines; no text has a path of somebody's machine or a mark of unfinished work.
A block of a document after <!-- from FILE --> has its paragraphs of more than five lines from that file, letter by letter.
The rows of a table after <!-- rows of FILE --> are rows of that file.
A block without a language after <!-- printed in FILE --> has its lines one after another in that file; `<seconds>` there fits any time.
A link between documents leads to a file that is there and to a heading that it has.
A source that is cited has one heading in docs/sources.md. Headers ask core/finite.hpp whether a number is one: under -ffast-math <cmath> says yes."""
import pathlib
import re
import sys

import house

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import run_example

SOURCES = {".hpp", ".cpp", ".cu", ".cuh", ".py", ".cmake", ".in", ".sh", ".txt"}
TEXTS = SOURCES | {".md", ".json", ".yml", ".expected", ""}
NO_LICENCE = {"LICENSE", ".gitignore", "requirements.txt"}
LICENCE = "SPDX-License-Identifier: MIT"
# Written in pieces, so that this file does not find itself.
PATHS = re.compile("(?<![A-Za-z0-9_.])/(" + "wo" + "rk|tm" + "p|ro" + "ot|ho" + "me|Us" + "ers)/")
MARKS = re.compile(r"\b(" + "TO" + "DO|FIX" + "ME|X" + "XX)\\b")
CMATH = re.compile(r"\bis(finite|nan|inf|normal)\(")
QUOTED = re.compile(r"^<!-- from (\S+) -->\n```\w*\n(.*?)^```$", re.M | re.S)


def misquoted(root, text):
    for source, block in QUOTED.findall(text):
        path = root / source
        original = path.read_text() if path.exists() else ""
        for paragraph in block.strip("\n").split("\n\n"):
            if len(paragraph.splitlines()) > 5 and paragraph not in original:
                yield f"{source} has not the lines that are quoted from it: {paragraph.splitlines()[0]}"


PRINTED = re.compile(r"^<!-- printed in (\S+) -->\n(?:```\n(.*?)^```$)?", re.M | re.S)


def misprinted(root, text):
    for source, block in PRINTED.findall(text):
        path = root / source
        printed = path.read_text().splitlines() if path.exists() else []
        shown = block.splitlines()
        at = range(len(printed) - len(shown) + 1)
        if not shown or not any(all(map(run_example.fits, printed[i:], shown)) for i in at):
            yield f"{source} has not the lines that a block shows as printed: {shown[0] if shown else 'no block follows the mark'}"


FENCE = re.compile(r"^```.*?^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)#\s:]*)(?:#([^)\s]*))?\)")


def anchors_of(text):
    """The names that a page's headings have in links: small letters, digits, _ and -, a - for each space."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", text), re.M)
    return {re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-") for heading in headings}


def dead_links(page, text):
    for target, anchor in LINK.findall(FENCE.sub("", text)):
        path = page.parent / target if target else page
        if not path.exists():
            yield f"there is no {target} to link to"
        elif anchor and path.suffix == ".md" and anchor not in anchors_of(path.read_text()):
            yield f"{target or 'this page'} has no heading {anchor}"


ROWS = re.compile(r"^<!-- rows of (\S+) -->\n((?:\|.*\n)*)", re.M)


def not_rows(root, text):
    for source, table in ROWS.findall(text):
        path = root / source
        lines = path.read_text().splitlines() if path.exists() else []
        if not table:
            yield f"no table follows the mark of {source}"
        yield from (f"{source} has not the row {row}" for row in table.splitlines() if row not in lines)


CITED = re.compile(r"\bsources\.md#([a-z0-9-]+)")


def check_sources(root):
    page = root / "docs" / "sources.md"
    if not page.exists():
        return
    headings = re.findall(r"^### (.+)$", page.read_text(), re.M)
    yield from (f"docs/sources.md: two headings are named {name}" for name in sorted(set(headings)) if headings.count(name) > 1)
    for path in house.files(root, *SOURCES, ".md"):
        for name in sorted(set(CITED.findall(path.read_text(errors="replace"))) - {"name"} - set(headings)):
            yield f"{path.relative_to(root)}: docs/sources.md has no heading {name}"


def check(root):
    yield from check_sources(root)
    for path in house.files(root):
        name = str(path.relative_to(root))
        if path.suffix not in TEXTS:
            continue
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        if (path.suffix in SOURCES or text.startswith("#!")) and path.name not in NO_LICENCE:
            if LICENCE not in "\n".join(text.splitlines()[:3]):
                yield f"{name}: '{LICENCE}' is not in the first lines"
        if path.suffix == ".md":
            yield from (f"{name}: {fault}" for fault in [*misquoted(root, text), *misprinted(root, text), *not_rows(root, text), *dead_links(path, text)])
        for number, line in enumerate(text.splitlines(), 1):
            if PATHS.search(line):
                yield f"{name}:{number}: a path of one machine"
            if MARKS.search(line):
                yield f"{name}:{number}: a mark of unfinished work"
            if path.suffix == ".hpp" and name.startswith("include/") and CMATH.search(line):
                yield f"{name}:{number}: <cmath> is asked about NaN, not core/finite.hpp"


SIX = "a\nb\nc\nd\ne\nf"
ACCEPTED = {"docs/a.md": f"<!-- from b.cpp -->\n```cpp\n{SIX}\n\nown\n```\n", "b.cpp": f"// {LICENCE}\n{SIX}\n",
            "a.cpp": f"// {LICENCE}\n", "script": f"#!/bin/sh\n# {LICENCE}\n", "README.md": "see https://example.org/ho" + "me/\n",
            "docs/l.md": "# A `b`: c\n[a](#a-b-c) [b](../b.cpp) [c](t.md)\n```\nf[0](#x)\n```\n", "docs/t.md": "<!-- printed in t.expected -->\n```\nb 0.5\nc\n```\n", "t.expected": "a\nb <seconds>\nc\n"}
REFUSED = {
    "has not the lines that are quoted": {"docs/a.md": f"<!-- from b.cpp -->\n```cpp\n{SIX}\n```\n", "b.cpp": f"// {LICENCE}\na\nb\n"},
    "has not the lines that a block shows as printed: b": {"docs/t.md": "<!-- printed in t.expected -->\n```\nb\na\n```\n", "t.expected": "a\nb\n"},
    "has not the lines that a block shows as printed: no block": {"docs/t.md": "<!-- printed in t.expected -->\n\ntext\n", "t.expected": "a\n"},
    "docs/l.md: there is no t.md": {"docs/l.md": "[a](t.md#a)\n"},
    "docs/l.md: t.md has no heading b": {"docs/l.md": "[a](t.md#b)\n", "docs/t.md": "# A\n```\n# b\n```\n"},
    "has not the row | b | 2 |": {"docs/a.md": "<!-- rows of docs/b.md -->\n| a |\n| b | 2 |\n", "docs/b.md": "| a |\n| b | 3 |\n"},
    "no table follows": {"docs/a.md": "<!-- rows of docs/b.md -->\ntext\n", "docs/b.md": "| a |\n"},
    "is not in the first lines": {"a.cpp": "int i;\n"},
    "script: 'SPDX": {"script": "#!/bin/sh\n"},
    "a path of one machine": {"README.md": "cd /ho" + "me/somebody\n"},
    "two headings are named a": {"docs/sources.md": "### a\n### b\n### a\n"},
    "a.py: docs/sources.md has no heading c": {"docs/sources.md": "### a\n", "a.py": f"# {LICENCE}\n# sources.m" + "d#a, sources.m" + "d#c\n"},
    "<cmath> is asked": {"include/heddle/run/a.hpp": f"// {LICENCE}\nbool b = std::isnan(x);\n"},
    "a mark of unfinished work": {"README.md": "TO" + "DO: more\n"},
}
