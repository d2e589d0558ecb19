# SPDX-License-Identifier: MIT
"""What a question about a refused plan answers has every word of the answer about a sound one: a word that is missing would be a second error."""
import re

# The header and the struct of an answer -> the header and the struct of the refused one, and the words that only one of them has, with the reason.
TWINS = {
    ("plan/read/ledger.hpp", "Traffic"): ("plan/read/refused_program.hpp", "RefusedTraffic", {
        "program": "it is no_program"}),
    ("plan/read/ledger.hpp", "Volume"): ("plan/read/refused_program.hpp", "RefusedVolume", {"on": "gradients() and parameters() are asked by axis"}),
    ("plan/read/advice_report.hpp", "AdviceReport"): ("plan/read/advice_report.hpp", "RefusedAdvice", {
        "remarks": "there is none", "begin": "a loop over no remark", "end": "a loop over no remark", "add": "it writes"}),
    ("mesh/mesh.hpp", "Mesh"): ("plan/read/refused_program.hpp", "RefusedMesh", {}),
    ("plan/options/batch.hpp", "BatchDivision"): ("plan/read/refused_program.hpp", "RefusedBatch", {"fault": "the refusal is told already"}),
    ("plan/program/program.hpp", "Program"): ("plan/read/refused_program.hpp", "RefusedProgram", {
        **{view: "one line that does nothing" for view in (
            "graph instructions lists entries forward_bodies backward_bodies weight_bodies body transfers collectives pools slots parameters buckets units pieces uses "
            "bucket_of_node arenas").split()},
        "training": "a backend asks for it", "splits_backward": "it chooses kernels", "loss": "a description", "groups": "there is none", "storage": "a description"}),
}


def body_of(text, name):
    """What stands between the braces of a struct, without comments, attributes and what is in braces inside; None if there is no such struct."""
    text = re.sub(r"//[^\n]*|\[\[\w+\]\]", "", text)
    begin = re.search(rf"^struct {name}\b[^;{{]*{{", text, re.M)
    if begin is None:
        return None
    depth, kept = 1, []
    for char in text[begin.end():]:
        depth += {"{": 1, "}": -1}.get(char, 0)
        if depth == 0:
            break
        if depth == 1:
            kept.append(";" if char == "}" else char)
    return "".join(kept)


def words_of(text, name):
    """Names of the data and functions of a struct."""
    body = body_of(text, name)
    if body is None:
        return None
    words = set()
    for line in body.split(";"):
        line = re.sub(r"^\s*template\s*<[^>]*>", "", line.split(" = ")[0]).strip()
        if not line or re.match(r"(struct|enum|using|friend|static)\b|.*\boperator\b|:", line, re.S):
            continue
        if "(" in line:
            words.add(re.findall(r"\w+(?=\s*\()", line)[0])
        else:
            words.update(re.findall(r"\w+(?=\s*(?:\[[^\]]*\]\s*)?(?:,|$))", re.sub(r"<[^>]*>", "", line)))
    return words - {name}


def check(root):
    base = root / "include" / "heddle"
    for (header, name), (refused_header, refused, exempt) in TWINS.items():
        if not (base / header).exists():
            continue
        sound = words_of((base / header).read_text(), name)
        told = words_of((base / refused_header).read_text(), refused)
        if sound is None or told is None:
            yield f"include/heddle/{header if sound is None else refused_header}: there is no struct {name if sound is None else refused}"
            continue
        for word in sorted(sound - told - set(exempt)):
            yield f"include/heddle/{refused_header}: {refused} has no {word}, which {name} has"
        for word in sorted(told - sound - set(exempt)):
            yield f"include/heddle/{refused_header}: {refused} has {word}, but {name} has it no longer"
        for word in sorted(set(exempt) - (told ^ sound)):
            yield f"tests/house/refused.py: {word} of {name} is exempt, but {'both' if word in told else 'neither'} of the two structs has it"


MESH = {
    "include/heddle/mesh/mesh.hpp": "struct Mesh {\n  Axis axes[axis_count]{};\n  int count = 0;  // of these\n  [[nodiscard]] constexpr int size(Axis a) const {\n"
                                    "    if (a) return 1;\n    return 2;\n  }\n};\n"}


def twin(words):
    return MESH | {"include/heddle/plan/read/refused_program.hpp": f"struct RefusedMesh : RefusedAnswer, Mesh {{\n  {words}\n  constexpr RefusedMesh() {{}}\n}};\n"}


ACCEPTED = twin("RefusedWord<RefusedNumber> axes, size;\n  RefusedNumber count;")
REFUSED = {
    "RefusedMesh has no size, which Mesh has": twin("RefusedWord<RefusedNumber> axes;\n  RefusedNumber count;"),
    "RefusedMesh has no count, which Mesh has": twin("RefusedWord<RefusedNumber> axes, size;"),
    "RefusedMesh has ranks, but Mesh has it no longer": twin("RefusedWord<RefusedNumber> axes, size, ranks;\n  RefusedNumber count;"),
    "there is no struct RefusedMesh": MESH | {"include/heddle/plan/read/refused_program.hpp": "struct Other {};\n"},
}
