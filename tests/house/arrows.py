# SPDX-License-Identifier: MIT
"""Rooms include only what lies below them, and only the third-party headers that their room may see.
Whichever header a program includes first, the language is checked before anything of Heddle is read."""
import re

import house

# room -> rooms it may include; every room may include itself.
BELOW = {"core": set()}
BELOW["graph"] = {"core"}
BELOW["mesh"] = BELOW["graph"] | {"graph"}
BELOW["policy"] = BELOW["mesh"] | {"mesh"}
BELOW["plan"] = BELOW["policy"] | {"policy"}
BELOW["cost"] = BELOW["plan"] | {"plan"}
BELOW["seams"] = {"core", "graph"}
BELOW["run"] = BELOW["plan"] | {"plan", "seams"}
BELOW["report"] = BELOW["plan"] | {"plan", "cost", "seams", "run"}
BELOW["io"] = BELOW["plan"] | {"plan", "cost", "seams", "run"}
BELOW["compute"] = BELOW["seams"] | {"seams"}
BELOW["transport"] = BELOW["seams"] | {"seams"}
BELOW["proof"] = BELOW["run"] | {"run", "compute"}
BELOW["backend"] = BELOW["report"] | {"report", "compute", "proof", "transport"}
# A pairing sees one of each; what else lies in these rooms are their parts.
BACKENDS = {"compute": {"eigen", "field", "cuda"}, "transport": {"solo", "threads", "mpi", "nccl"}}
# Where NCCL moves between the cards of processes, MPI tells these what they must agree on.
TWO_TRANSPORTS = {"backend/cuda_mpi.hpp": {"mpi", "nccl"}}
FRONT_DOOR = BELOW["plan"] | {"plan", "cost", "run", "report"}

# Folders of room plan -> folders that they may include; what lies beside the folders may include all of them. The checks never see the lowering.
BELOW_IN_PLAN = {"options": set(), "program": {"options"}}
for folder in ("lower", "check", "read"):
    BELOW_IN_PLAN[folder] = {"options", "program"}

# Files of tensors lie below room run: a trainer saves and loads. They know the errors and memory limits of the seams, nothing of what runs.
TENSOR_FILES = {f"io/{name}.hpp" for name in
                ("file", "replacement", "temporary_view", "tensor_header", "json_header", "safetensors", "tensor_writer")}
# Single headers that a room may see although their room is not below it.
SINGLE = {"run": {"io/file.hpp", "io/safetensors.hpp", "io/tensor_writer.hpp"}, "backend": {"io/file.hpp", "io/replacement.hpp"}}

THREADS = {"thread", "mutex", "shared_mutex", "condition_variable", "future", "barrier", "latch", "semaphore", "stop_token"}
ROOMS_WITH_THREADS = {"seams", "run", "transport", "backend"}
THIRD_PARTY = [  # pattern of the include, pattern of the headers that may have it
    (r"Eigen/", r"compute/eigen/"),
    (r"(immintrin|xmmintrin|arm_neon)\.h$", r"compute/eigen/"),
    (r"zlib\.h$", r"io/gzip\.hpp$"),
    (r"(poll|pthread|sched|spawn)\.h$|linux/|sys/|unistd\.h$|fcntl\.h$", r"(seams|run|transport|backend|io)/"),
    (r"cudnn\.h$", r"compute/cuda/cudnn"),
    (r"(cuda|cublas|nccl)", r"(compute/cuda|transport/nccl|backend/cuda)"),
    (r"mpi\.h$", r"(transport/mpi|backend/.*mpi)"),
]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def room_of(header):
    return header.split("/")[0] if "/" in header else ""


def folder_fault(folder, target):
    """Why a header in this folder of room plan (none: beside the folders) may not include the room's `target`, or nothing."""
    other = target.split("/")[1:-1]
    if not folder or folder == other:
        return None
    if folder[0] not in BELOW_IN_PLAN:
        return f"'{folder[0]}' is no folder of room plan"
    if not other or other[0] not in BELOW_IN_PLAN[folder[0]]:
        return f"forbidden arrow plan/{folder[0]} -> {'/'.join(['plan'] + other)}: {target}"
    return None


def arrow_fault(header, target):
    """Why `header` may not include Heddle's `target` (both as room/file.hpp), or nothing."""
    room, other = room_of(header), room_of(target)
    if room == "":
        return None if other in FRONT_DOOR else f"the front door may not include {target}: it is only types"
    if room not in BELOW:
        return f"'{room}' is no room of the house"
    if header in TENSOR_FILES and other not in ("core", "seams") and target not in TENSOR_FILES:
        return f"files of tensors lie below room run: they may not include {target}"
    if other == room:
        if room == "plan":
            return folder_fault(header.split("/")[1:-1], target)
        backend = header.split("/")[1:-1]
        if room == "compute" and backend != target.split("/")[1:-1]:
            return f"one backend may not include another: {target}"
        return None
    if room == "backend" and target == "heddle.hpp":
        return None
    if other in BELOW[room] or target in SINGLE.get(room, ()):
        return None
    return f"forbidden arrow {room} -> {other or 'front door'}: {target}"


def outside_fault(header, target):
    """Why `header` may not include <target> of the standard library or of a third party, or nothing."""
    room = room_of(header)
    if target in THREADS and room not in ROOMS_WITH_THREADS:
        return f"room {room or 'front door'} may not see threads: <{target}>"
    for pattern, allowed in THIRD_PARTY:
        if re.match(pattern, target):
            return None if re.match(allowed, header) else f"room {room or 'front door'} may not see <{target}>"
    if re.fullmatch(r"[a-z_]+", target):
        return None
    return f"<{target}> is not on the list of third-party headers"


def closure(start, includes):
    seen, todo = set(), [start]
    while todo:
        header = todo.pop()
        if header not in seen:
            seen.add(header)
            todo.extend(target for quote, target in includes.get(header, []) if quote == '"')
    return seen


LANGUAGE = "core/language.hpp"  # refuses another language than C++20; what comes before it must be C++17


def sees_language_first(header, includes):
    """Of a header's includes the first one of Heddle decides, and of the includes of that one again the first."""
    passed = set()
    while header is not None and header != LANGUAGE and header not in passed:
        passed.add(header)
        header = next((target for quote, target in includes.get(header, []) if quote == '"'), None)
    return header == LANGUAGE


# It lies beside each that includes it, so that it is of the same headers.
MADE_BY_CMAKE = {("run/build_flags.hpp", "headers_hash.hpp"), ("compute/cuda/built_in_kernels.hpp", "headers_hash.hpp")}
ROOM_NAMES = "core/compiled_rooms.hpp"  # other names of all rooms, for programs that link heddle::compiled


def rooms_without_another_name(text):
    return [room for room in BELOW if f"#define {room}_room compiled_{room}_room\n" not in text]


def check(root):
    base = root / "include" / "heddle"
    if (base / ROOM_NAMES).exists():
        for room in rooms_without_another_name((base / ROOM_NAMES).read_text()):
            yield f"{ROOM_NAMES}: room {room} has one name only: a program could take its functions from headers and from heddle::compiled"
    includes = {}
    for path in house.headers(root):
        header = str(path.relative_to(base))
        includes[header] = []
        for quote, target in INCLUDE.findall(path.read_text()):
            if (header, target) in MADE_BY_CMAKE:
                continue
            if target.startswith("[heddle."):  # the sentence of an error that ends the compilation
                continue
            if quote == '"' and not target.startswith("heddle/"):
                yield f'{header}: "{target}" is not spelled "heddle/room/file.hpp"'
                continue
            target = target.removeprefix("heddle/") if quote == '"' else target
            includes[header].append((quote, target))
            if quote == '"' and not (base / target).exists():
                yield f"{header}: {target} does not exist"
            fault = arrow_fault(header, target) if quote == '"' else outside_fault(header, target)
            if fault:
                yield f"{header}: {fault}"
    for header in sorted(includes):
        if not sees_language_first(header, includes):
            yield f"{header}: what of Heddle is included first does not lead to {LANGUAGE}, so that without -std=c++20 it is hundreds of errors"
    for header in sorted(closure("heddle.hpp", includes)):
        for quote, target in includes.get(header, []):
            if quote == "<" and (target in THREADS or not re.fullmatch(r"[a-z_]+", target)):
                yield f"heddle.hpp: only types, but through {header} it sees <{target}>"
    for header in sorted(name for name in includes if room_of(name) == "backend"):
        for room, names in BACKENDS.items():
            kinds = names & {target.split("/")[1].removesuffix(".hpp") for _, target in includes[header] if target.startswith(room + "/")}
            if len(kinds) > 1 and kinds != TWO_TRANSPORTS.get(header):
                yield f"{header}: a pairing sees one {room}, not {sorted(kinds)}"


BASE = {
    "include/heddle/core/language.hpp": "",
    "include/heddle/core/a.hpp": '#include <vector>\n#include "heddle/core/language.hpp"\n',
    "include/heddle/graph/b.hpp": '#include "heddle/core/a.hpp"\n',
}
ACCEPTED = BASE | {
    "include/heddle/compute/eigen/c.hpp": '#include <Eigen/Core>\n#include "heddle/seams/concepts.hpp"\n',
    "include/heddle/seams/concepts.hpp": '#include "heddle/graph/b.hpp"\n',
    "include/heddle/plan/lower/l.hpp": '#include "heddle/plan/program/p.hpp"\n',
    "include/heddle/plan/program/p.hpp": '#include "heddle/plan/options/o.hpp"\n', "include/heddle/plan/options/o.hpp": '#include "heddle/core/a.hpp"\n',
    "include/heddle/plan/plan.hpp": '#include "heddle/plan/lower/l.hpp"\n',
    "include/heddle/run/files.hpp": '#include "heddle/io/safetensors.hpp"\n',
    "include/heddle/io/safetensors.hpp": '#include "heddle/seams/error.hpp"\n',
    "include/heddle/seams/error.hpp": '#include "heddle/core/a.hpp"\n',
}
REFUSED = {
    "room io has one name only": BASE | {"include/heddle/core/compiled_rooms.hpp": '#include "heddle/core/language.hpp"\n' + "".join(
        f"#define {room}_room compiled_{room}_room\n" for room in BELOW if room != "io")},
    "forbidden arrow plan/check -> plan/lower": BASE | {
        "include/heddle/plan/check/c.hpp": '#include "heddle/plan/lower/l.hpp"\n', "include/heddle/plan/lower/l.hpp": '#include "heddle/core/a.hpp"\n'},
    "forbidden arrow plan/program -> plan: ": BASE | {
        "include/heddle/plan/program/p.hpp": '#include "heddle/plan/plan.hpp"\n', "include/heddle/plan/plan.hpp": '#include "heddle/core/a.hpp"\n'},
    "'attic' is no folder": BASE | {
        "include/heddle/plan/attic/c.hpp": '#include "heddle/plan/plan.hpp"\n', "include/heddle/plan/plan.hpp": '#include "heddle/core/a.hpp"\n'},
    "forbidden arrow core -> graph": BASE | {"include/heddle/core/a.hpp": '#include "heddle/graph/b.hpp"\n'},
    "forbidden arrow run -> io": BASE | {"include/heddle/run/r.hpp": '#include "heddle/io/dataset.hpp"\n', "include/heddle/io/dataset.hpp": ""},
    "files of tensors lie below room run": BASE | {
        "include/heddle/io/file.hpp": '#include "heddle/run/trainer.hpp"\n', "include/heddle/run/trainer.hpp": '#include "heddle/io/safetensors.hpp"\n',
        "include/heddle/io/safetensors.hpp": '#include "heddle/io/file.hpp"\n'},
    "forbidden arrow run -> compute": BASE | {"include/heddle/run/r.hpp": '#include "heddle/compute/eigen/c.hpp"\n', "include/heddle/compute/eigen/c.hpp": ""},
    "may not see threads": BASE | {"include/heddle/plan/p.hpp": "#include <thread>\n"},
    "may not see <Eigen/Core>": BASE | {"include/heddle/policy/p.hpp": "#include <Eigen/Core>\n"},
    "may not see <zlib.h>": BASE | {"include/heddle/io/idx.hpp": "#include <zlib.h>\n"},
    "not on the list": BASE | {"include/heddle/io/idx.hpp": "#include <boost/any.hpp>\n"},
    "is not spelled": BASE | {"include/heddle/core/c.hpp": '#include "a.hpp"\n'},
    "does not exist": BASE | {"include/heddle/core/c.hpp": '#include "heddle/core/none.hpp"\n'},
    "no room of the house": BASE | {"include/heddle/attic/c.hpp": '#include "heddle/core/a.hpp"\n'},
    "one backend may not include another": BASE | {
        "include/heddle/compute/eigen/c.hpp": "", "include/heddle/compute/cuda/c.hpp": '#include "heddle/compute/eigen/c.hpp"\n'},
    "heddle.hpp: only types": {"include/heddle/heddle.hpp": '#include "heddle/run/r.hpp"\n', "include/heddle/run/r.hpp": "#include <thread>\n"},
    "the front door may not include": {"include/heddle/heddle.hpp": '#include "heddle/io/i.hpp"\n', "include/heddle/io/i.hpp": ""},
    "does not lead to core/language.hpp": BASE | {"include/heddle/plan/p.hpp": "#include <vector>\n"},
    "a pairing sees one transport": {
        "include/heddle/backend/b.hpp": '#include "heddle/transport/solo.hpp"\n#include "heddle/transport/threads.hpp"\n',
        "include/heddle/transport/solo.hpp": "", "include/heddle/transport/threads.hpp": ""},
}
