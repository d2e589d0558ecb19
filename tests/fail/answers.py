# SPDX-License-Identifier: MIT
"""Divides what a compiler says of many broken twins in one file among their cases, as if each had been compiled alone.

Each twin stands in a namespace case_<number> behind a #line with the name of its case, so each error has a line that begins with that name.
A compiler leaves out what it said last: through which headers a header is read, and a line of text that it just quoted. Both are put back.
Nothing is divided where an error belongs to no case or to two, since then nobody knows whose it is.
"""
import re

AT = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<place>\d+:\d+): (?P<kind>fatal error|error|warning|note): ")
CONTEXT = re.compile(r"^([^\s:][^:]*: (In|At) |In file included from |[^\s:][^:]*:\d+(:\d+)?: +(required|recursively required|in 'constexpr'|  ))")
INCLUDED = re.compile(r"^(In file included from | {17}from )")
QUOTED = re.compile(r"^ *\d* \| ")
TOTAL = re.compile(r"^(\d+ warnings? and )?\d+ errors? generated\.\n", re.M)
NOT_WHOLE = re.compile(r"fatal error: |compilation terminated|too many errors|internal compiler error")


def said(lines):
    """The first line of these that is an error, a warning or a note of its own."""
    return next((found for found in map(AT.match, lines) if found), None)


def blocks_of(answer):
    """One list of lines for each error or warning: what comes before it, itself, and its notes."""
    blocks, waiting = [], []
    for line in answer.splitlines():
        found = AT.match(line)
        if found and found["kind"] != "note":
            blocks.append([*waiting, line])
            waiting = []
        elif found is None and (CONTEXT.match(line) or INCLUDED.match(line)):
            waiting.append(line)
        elif blocks:
            blocks[-1] += [*waiting, line]
            waiting = []
        else:
            waiting.append(line)
    if waiting and blocks:
        blocks[-1] += waiting
    return blocks


def restored(block, remembered):
    """The block with what the compiler left out; nothing if it never said it."""
    found = said(block)
    chain = [line for line in block if INCLUDED.match(line)]
    if chain:
        remembered[found["file"]] = chain
    elif found["file"] in remembered:
        block = [*remembered[found["file"]], *block]
    at = block.index(found.string)
    quoted = at + 1
    while quoted < len(block) and QUOTED.match(block[quoted]):
        quoted += 1
    place = (found["file"], found["place"])
    if quoted > at + 1:
        remembered[place] = block[at + 1:quoted]
    elif place in remembered:
        block = [*block[:at + 1], *remembered[place], *block[at + 1:]]
    return block


def divided(answer, cases, unit):
    """What is said of each of the cases (paths), by path; None if some of it cannot be divided."""
    if NOT_WHOLE.search(answer):
        return None
    parts, remembered = {}, {}
    for block in blocks_of(TOTAL.sub("", answer)):
        named = {case for case in cases if any(line.startswith(f"{case}:") for line in block)}
        if len(named) != 1:
            return None
        block = restored(block, remembered)
        if not any(INCLUDED.match(line) for line in block) and said(block)["file"] not in named:
            return None
        case = named.pop()
        parts.setdefault(case, []).extend(line.replace(unit, case) for line in block)
    for part in parts.values():  # clang counts at the end
        part += ["The compiler counts its errors here."] if TOTAL.search(answer) else []
    return {case: re.sub(r"\bcase_\d+::", "", "".join(f"{line}\n" for line in part)) for case, part in parts.items()}
