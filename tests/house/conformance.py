# SPDX-License-Identifier: MIT
"""tests/conformance/layers.hpp lists each layer, loss and optimizer that a Compute must know, so the suite leaves none out."""
import re

import house

NAMED = re.compile(r"^using graph_room::(.+?);", re.M)
# Name -> why no backend has a kernel of its own for it.
EXEMPT = {
    "Column": "the layer inside has the kernel",
    "Row": "the layer inside has the kernel",
    "Input": "it is no layer that runs",
    "NoBias": "an option",
    "Epsilon": "an option",
    "Momentum": "an option",
    "MeanOverElements": "what losses of one element have in common",
    "NoLoss": "an inference has no loss",
}


def check(root):
    suite = root / "tests" / "conformance" / "layers.hpp"
    listed = set(re.findall(r"\w+", suite.read_text())) if suite.exists() else set()
    for path in house.headers(root):
        if path.parent.parent.name != "graph" or path.parent.name not in ("layers", "losses", "optimizers"):
            continue
        for names in NAMED.findall(path.read_text()):
            for name in re.findall(r"\w+", names.replace("graph_room::", "")):
                if name not in listed and name not in EXEMPT:
                    yield f"tests/conformance/layers.hpp: {name} of {path.relative_to(root)} is missing, so no backend is tested with it"


LAYER = {"include/heddle/graph/layers/linear.hpp": "using graph_room::Linear, graph_room::NoBias;\n"}
LIST = "tests/conformance/layers.hpp"
ACCEPTED = LAYER | {LIST: "using Layers = std::tuple<Linear<4, 3>>;\n", "include/heddle/graph/residual.hpp": "using graph_room::Residual;\n"}
REFUSED = {
    "Linear of include/heddle/graph/layers/linear.hpp is missing": LAYER | {LIST: "using Layers = std::tuple<>;\n"},
    "Hinge of include/heddle/graph/losses/hinge.hpp": {"include/heddle/graph/losses/hinge.hpp": "using graph_room::Hinge;\n"},
    "Lion of": ACCEPTED | {"include/heddle/graph/optimizers/lion.hpp": "using graph_room::Lion;\n"},
}
