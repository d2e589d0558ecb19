# SPDX-License-Identifier: MIT
"""Every header opens with a room sign of at most six lines that names its own room and those that it includes, and has at most 300 lines."""
import re

import house

MOST_SIGN_LINES = 6
MOST_LINES = 300
SEEN_BY_ALL = {"core"}
INCLUDED = re.compile(r'^#include "heddle/(\w+)/', re.M)


def check(root):
    base = root / "include" / "heddle"
    for path in house.headers(root):
        header = str(path.relative_to(base))
        lines = path.read_text().splitlines()
        sign = []
        for line in lines:
            if not line.startswith("//"):
                break
            sign.append(line)
        if not sign or sign[0] != "// SPDX-License-Identifier: MIT":
            yield f"{header}: the first line is not '// SPDX-License-Identifier: MIT'"
        if len(sign) > MOST_SIGN_LINES:
            yield f"{header}: the room sign has {len(sign)} lines, {MOST_SIGN_LINES} are allowed"
        room = header.split("/")[0] if "/" in header else None
        named = next((re.match(r"// Room: (\w+)", line) for line in sign if line.startswith("// Room: ")), None)
        if named is None:
            yield f"{header}: the room sign has no line '// Room: <room>. <what it is>'"
        elif room and named.group(1) != room:
            yield f"{header}: the room sign says '{named.group(1)}', the folder '{room}'"
        seen = re.search(r"Sees: (.*?)(?:Does not see:|In:|$)", " ".join(line.removeprefix("// ") for line in sign))
        for other in sorted(set(INCLUDED.findall(path.read_text())) - SEEN_BY_ALL - {room}):
            if room and seen and not re.search(rf"\b{other}\b", seen.group(1)):
                yield f"{header}: it includes room {other}, which its sign does not name after 'Sees:'"
        for field in ("Sees:", "In:"):
            if not any(line.startswith(f"// {field}") for line in sign):
                yield f"{header}: the room sign has no line '// {field}'"
        if "#pragma once" not in lines:
            yield f"{header}: there is no '#pragma once'"
        if len(lines) > MOST_LINES:
            yield f"{header}: {len(lines)} lines, {MOST_LINES} are a sign of two ideas"


SIGN = "// SPDX-License-Identifier: MIT\n// Room: core. A.\n// Sees: nothing.  Does not see: all.\n// In: a.  Out: b.\n"
GOOD = SIGN + "#pragma once\n"
NAME = "include/heddle/core/a.hpp"
LOWER = '#include "heddle/core/a.hpp"\n#include "heddle/graph/g.hpp"\n'
UPPER = GOOD.replace("Room: core", "Room: mesh").replace("nothing", "graph/leaf")
ACCEPTED = {NAME: GOOD, "include/heddle/mesh/m.hpp": UPPER + LOWER}
REFUSED = {
    "it includes room graph": {"include/heddle/mesh/m.hpp": UPPER.replace("graph/leaf", "nothing.  Does not see: graph") + LOWER},
    "the first line is not": {NAME: "\n" + GOOD},
    "the room sign has 7 lines": {NAME: SIGN + "// a\n// b\n// c\n#pragma once\n"},
    "no line '// Room:": {NAME: GOOD.replace("Room:", "Place:")},
    "the room sign says": {"include/heddle/run/a.hpp": GOOD},
    "no line '// Sees:'": {NAME: GOOD.replace("Sees:", "Knows:")},
    "#pragma once": {NAME: SIGN},
    "are a sign of two ideas": {NAME: GOOD + "int i;\n" * 300},
}
