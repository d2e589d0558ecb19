# SPDX-License-Identifier: MIT
"""The front door, heddle/heddle.hpp, reaches few headers of the standard library: each program reads them before its first line. <algorithm> alone took
a tenth of its seconds."""
import re

FRONT_DOOR = "heddle/heddle.hpp"
LIGHT = {"array", "cassert", "climits", "cmath", "compare", "concepts", "cstddef", "cstdint", "cstdio", "initializer_list", "iosfwd", "limits",
         "string_view", "tuple", "type_traits", "utility", "version"}
INCLUDED = re.compile(r'^#include (?:"(heddle/[^"]+)"|<([^>]+)>)', re.M)


def check(root):
    include = root / "include"
    through = {FRONT_DOOR: ""}
    todo = [FRONT_DOOR]
    while todo:
        header = todo.pop()
        if not (include / header).exists():
            continue
        for own, standard in INCLUDED.findall((include / header).read_text()):
            if standard and standard not in LIGHT:
                yield f"{header}: the front door reaches <{standard}> here{through[header]}. Fix: do without it, or include it where a plan runs"
            elif own and own not in through:
                through[own] = f", through {header}{through[header]}" if header != FRONT_DOOR else ""
                todo.append(own)


ACCEPTED = {"include/heddle/heddle.hpp": '#include "heddle/a.hpp"\n', "include/heddle/a.hpp": "#include <cstdint>\n",
            "include/heddle/run.hpp": "#include <vector>\n"}
REFUSED = {
    "heddle/a.hpp: the front door reaches <vector> here": {**ACCEPTED, "include/heddle/a.hpp": "#include <vector>\n"},
    "here, through heddle/a.hpp": {**ACCEPTED, "include/heddle/a.hpp": '#include "heddle/b.hpp"\n', "include/heddle/b.hpp": "#include <algorithm>\n"},
}
