# SPDX-License-Identifier: MIT
"""Tests mirror the headers: include/heddle/<room>/<header>.hpp has tests/<room>/<header>_test.cpp, and the other way round."""
import house

# Header -> why it has no test file of its own.
EXEMPT = {
    "heddle.hpp": "a list of includes; tests/consume and every snippet of the documents compile it",
    "core/an_object.hpp": "it refuses all that it is given: fail/L16_sequential_of_objects",
    "core/unanswered.hpp": "it stands where something was refused: fail/L09_backend_header_forgotten, fail/L17_synthetic_forgotten",
    "run/trainer_arguments.hpp": "it refuses all that it is given: fail/O04_options_of_others",
    "run/trained_ranks_bodies.hpp": "the functions that run/trained_ranks.hpp declares: run/trained_ranks_test",
    "core/compiled_rooms.hpp": "it renames: consume.compiled links programs with and without it; house.arrows knows that no room is left out",
    "compute/eigen/eigen_core.hpp": "it refuses a command: fail/L14_no_eigen",
    "core/language.hpp": "it refuses a command: fail/L13_older_language",
    "transport/mpi_header.hpp": "it refuses a command: fail/L14_no_mpi",
}
# Test folders that mirror no room; HOUSE.md, section 5.
OWN_FOLDERS = {"cuda_emulator", "cuda_kernels", "equivalence", "faults", "fail", "conformance", "golden", "oracle", "consume", "house", "anchors"}


def check(root):
    base, tests = root / "include" / "heddle", root / "tests"
    headers = {str(path.relative_to(base).with_suffix("")) for path in house.headers(root)}
    mirrored = {
        str(path.relative_to(tests)).removesuffix("_test.cpp")
        for path in house.files(root, ".cpp")
        if path.is_relative_to(tests) and path.name.endswith("_test.cpp")
    }
    exempt = {name.removesuffix(".hpp") for name in EXEMPT}
    for name in sorted(headers - mirrored - exempt):
        yield f"include/heddle/{name}.hpp: there is no tests/{name}_test.cpp"
    for name in sorted(mirrored - headers):
        if name.split("/")[0] not in OWN_FOLDERS:
            yield f"tests/{name}_test.cpp: there is no include/heddle/{name}.hpp"
    for name in sorted(exempt & mirrored):
        yield f"tests/{name}_test.cpp: exempt from the mirror, but it has a test; take it off the list"


ACCEPTED = {
    "include/heddle/heddle.hpp": "", "include/heddle/graph/layers/linear.hpp": "", "tests/graph/layers/linear_test.cpp": "",
    "tests/equivalence/data_parallel_test.cpp": "",
}
REFUSED = {
    "there is no tests/graph/layers/linear_test.cpp": {"include/heddle/graph/layers/linear.hpp": "", "tests/graph/linear_test.cpp": ""},
    "there is no include/heddle/core/gone.hpp": {"tests/core/gone_test.cpp": ""},
    "take it off the list": {"include/heddle/heddle.hpp": "", "tests/heddle_test.cpp": ""},
}
