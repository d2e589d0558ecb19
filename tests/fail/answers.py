# SPDX-License-Identifier: MIT
"""Divides what a compiler says of many broken twins in one file among their cases, as if each had been compiled alone.

Each twin stands in a namespace case_<number> behind a #line with the name of its case, so each error has a line that begins with that name.
A compiler leaves out what it has said: through which headers a header is read, and a line of text that it just quoted. Both are put back.
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


def remember(chain, file, remembered):
    """All headers through which a file is read, of which g++ leaves out what a chain before has named, so each of them has one too."""
    if not chain or any(line.startswith("In") for line in chain[1:]):  # clang says all of it each time
        remembered.update({file: chain} if chain else {})
        return chain
    places = [INCLUDED.sub("", line)[:-1] for line in chain]
    places += [INCLUDED.sub("", line)[:-1] for line in remembered.get(places[-1].split(":")[0], [])]
    for n, name in enumerate([file, *(place.split(":")[0] for place in places[:-1])]):
        remembered[name] = ("In file included from " + (",\n" + " " * 17 + "from ").join(places[n:]) + ":").split("\n")
    return remembered[file]


def restored(block, remembered, case):
    """The block of a case with what the compiler left out since it has said it of another case; nothing if it never said it."""
    found, chain, own = said(block), [], None
    for line in block:
        if INCLUDED.match(line):
            chain.append(line)
        elif at := AT.match(line):
            whole = remember(chain, at["file"], remembered)
            own, chain = whole if own is None else own, []
    block = [*(own or remembered.get(found["file"], [])), *(block[next(n for n, line in enumerate(block) if not INCLUDED.match(line)):])]
    at = block.index(found.string)
    quoted = at + 1
    while quoted < len(block) and QUOTED.match(block[quoted]):
        quoted += 1
    place = (found["file"], found["place"])
    if quoted > at + 1:
        remembered[place] = block[at + 1:quoted]
    elif place in remembered and found["file"] != case:
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
        case = named.pop()
        block = restored(block, remembered, case)
        if not any(INCLUDED.match(line) for line in block) and said(block)["file"] != case:
            return None
        parts.setdefault(case, []).extend(line.replace(unit, case) for line in block)
    for part in parts.values():  # clang counts at the end
        part += ["The compiler counts its errors here."] if TOTAL.search(answer) else []
    return {case: re.sub(r"\bcase_\d+::", "", "".join(f"{line}\n" for line in part)) for case, part in parts.items()}
