# SPDX-License-Identifier: MIT
"""Each struct and class of the headers has a docstring: at least one line with a subject and a verb, so of three words. Of those whose members are
numbers, no more than MOST_WITHOUT say none (the number only falls): a worked number such as "2 chunks have 8 pools". Specialisations have the docstring of their template."""
import re

import house

MOST_WITHOUT = 0
MADE = re.compile(r"^( *)(?:template <.*> )?(?:struct|class) (?:alignas\([^)]*\) )?([A-Za-z_]\w*)(?: final)?(?: : [^{]*)? \{")
HEAD = re.compile(r"^ *(?:template|requires)\b")
FIELD = re.compile(r"^/// *(?:Shape|Moves|Errors|Source|Tested)  ")
NUMBER = re.compile(r"(?<![\w.<{])[-+]?\d|\d (?:bytes|B|KiB|MiB|GiB)\b|[<{(=,] ?\d")
CODE = re.compile(r"\b[A-Z]\d\d\b|Code\{'[A-Z]', \d+\}|\w+_test|sources\.md\S*")
MEMBER = re.compile(r"^ *(?:mutable |constexpr |const )*(?:int|float|double|Bytes|Seconds|Flops|std::size_t|std::u?int\d+_t) \w+[^()]*;")


def made(text):
    """(line, name, docstring, members are numbers) of each struct or class that is no specialisation."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        found = MADE.match(line)
        if not found:
            continue
        above = number - 1
        while above >= 0 and HEAD.match(lines[above]) and not MADE.match(lines[above]) and not lines[above].rstrip().endswith((";", "};")):
            above -= 1
        doc = []
        while above >= 0 and lines[above].strip().startswith("///"):
            doc.insert(0, lines[above].strip())
            above -= 1
        body = []
        for inner in lines[number + 1:] if not line.rstrip().endswith("};") else []:
            if inner.startswith(f"{found.group(1)}}}"):
                break
            if re.match(rf"{found.group(1)}  \S", inner):
                body.append(inner)
        yield number + 1, found.group(2), doc, any(MEMBER.match(inner) for inner in body)


def has_number(doc):
    return any(NUMBER.search(CODE.sub("", line)) for line in doc)


def check(root):
    without = []
    for path in house.headers(root):
        for line, name, doc, numbers in made(path.read_text()):
            where = f"{path.relative_to(root)}:{line}: {name}"
            if not any(len(words.split()) > 3 and not FIELD.match(words) for words in doc):
                yield f"{where} has no docstring"
            elif numbers and not has_number(doc):
                without.append(where)
    most = MOST_WITHOUT if root == house.ROOT else 0
    if len(without) > most:
        yield f"{len(without)} docstrings of structs of numbers say no number, {most} are allowed: {', '.join(without)}"


A = "include/heddle/core/a.hpp"
GOOD = "/// Counts rows and bytes: 2 rows of 64 features are 512 bytes. P14.\ntemplate <class T> struct Counted {\n  int rows = 0;\n};\n"
ACCEPTED = {A: GOOD + "template <> struct Counted<int> {\n  int rows = 1;\n};\n/// Says nothing of numbers.\nstruct Words {\n  std::string_view said;\n};\n"}
REFUSED = {
    "Counted has no docstring": {A: GOOD.partition("\n")[2]},
    "Inner has no docstring": {A: GOOD.replace("  int rows", "  struct Inner {\n    int a;\n  };\n  int rows")},
    "Words has no docstring": {A: "/// Tested  core/a_test and others here\nstruct Words {\n};\n"},
    "1 docstrings of structs of numbers say no number": {A: GOOD.replace(": 2 rows of 64 features are 512 bytes", "")},
}
