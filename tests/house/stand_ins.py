# SPDX-License-Identifier: MIT
"""What stands in for a type that is refused or whose header is forgotten has every public name of it: else the refusal is not the only error."""
import re

import house

STAND_INS = [  # header and class of what stands in, and of what it stands in for
    ("plan/backend_named.hpp", "Trainer", [("run/trainer.hpp", "Trainer"), ("run/trainer_calls.hpp", "TrainerCalls")]),
    ("plan/backend_named.hpp", "Runner", [("run/runner.hpp", "Runner")]),
    ("core/unanswered.hpp", "Unanswered", [("run/results.hpp", "StepResult"), ("run/results.hpp", "Evaluation"), ("run/examples.hpp", "Examples"),
                                           ("run/examples.hpp", "Batches"), ("io/ordered_rows.hpp", "RowsInOrder"),
                                           ("io/ordered_rows.hpp", "RowsInMemory"), ("io/dataset.hpp", "Dataset"),
                                           ("proof/report.hpp", "Proof")]),
    ("core/unanswered.hpp", "UnansweredSettings", [("run/results.hpp", "ClipOptions"), ("run/loss_scale.hpp", "LossScale")]),
    ("report/difference.hpp", "RefusedDifference", [("report/difference.hpp", "Difference")]),
    ("core/not_included.hpp", "UnansweredDifference", [("report/difference.hpp", "Difference")]),
    ("core/not_included.hpp", "AnyProofOptions", [("proof/bound.hpp", "ProofOptions")]),
    ("core/not_included.hpp", "AnyWindows", [("io/sequences.hpp", "Windows")]),
    ("core/not_included.hpp", "AnyMainOptions", [("run/run_main.hpp", "MainOptions")]),
    ("report/difference.hpp", "RefusedCosts", [("report/difference.hpp", "PlanCosts")]),
]
NO_NAMES = {"requires", "explicit", "noexcept", "decltype", "sizeof", "alignas", "static_assert", "try"}
CALLED = re.compile(r"(\w+)\s*\(\)")


def body_of(text, name):
    """What stands between the braces of a class, without comments and strings; nothing if it is not there."""
    text = re.sub(r'//.*|"(?:[^"\\\n]|\\.)*"', "", text)
    head = re.search(rf"\b(class|struct)\s+{name}\b[^;{{}}()]*\{{", text)
    if not head:
        return None
    depth, at = 1, head.end()
    while depth > 0 and at < len(text):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    first = "private:" if head.group(1) == "class" else "public:"
    return first + text[head.end():at - 1]


def declarations(body):
    """The public declarations, with what stands in their braces left out and their parentheses empty."""
    body = re.sub(r"\(\s*\*\s*(\w+)\s*\)\s*\(", r"\1(", body)  # a pointer to a function
    body = re.sub(r"\b(public|private|protected)\s*:(?!:)", r";\1;", body)
    public, depth, round_depth, words = False, 0, 0, ""
    for sign in body:
        if sign == "{":
            depth += 1
        round_depth += {"(": 1, ")": -1}.get(sign, 0) if depth == 0 else 0
        if depth == 0 and (round_depth == 0 or (sign == "(" and round_depth == 1)) and sign != ";":
            words += sign
        if sign == "}":
            depth -= 1
        if depth == 0 and round_depth == 0 and sign in ";}":
            if words.strip() in ("public", "private", "protected"):
                public = words.strip() == "public"
            elif public and words.strip():
                yield words.strip()
            words = ""


def names_of(text, name):
    """The public names of a class; nothing if the class is not there."""
    body = body_of(text, name)
    if body is None:
        return None
    found = set()
    for words in declarations(body):
        while "<" in words and words != (words := re.sub(r"<[^<>]*>", "", words)):
            pass
        if re.search(r"\b(operator|friend|static_assert|typedef|catch)\b", words) or re.match(r"using\s+\w+::", words):  # a name of its base
            continue
        kind = re.match(r"(?:template\s*)?(?:using|class|struct|enum class|enum)\s+(\w+)", words)
        called = [word for word in CALLED.findall(words.split("=")[0]) if word not in NO_NAMES]
        if kind:
            found.add(kind.group(1))
        elif called:
            found.add(called[0])
        else:
            found.update(match.group(1) for part in words.split(",") if (match := re.search(r"(\w+)\s*(?:\[\w*\]\s*)*$", part.split("=")[0].strip())))
    return found - {name}


def check(root):
    base = root / "include" / "heddle"
    read = lambda header: (base / header).read_text() if (base / header).exists() else ""
    for header, name, originals in STAND_INS:
        held = names_of(read(header), name)
        for where, original in originals:
            wanted = names_of(read(where), original)
            if wanted is None or held is None:
                if any((base / path).exists() for path in (header, where)):
                    yield f"{header if held is None else where}: there is no class {name if held is None else original}, which {name} is compared with"
                continue
            for lacking in sorted(wanted - held):
                yield f"{header}: {name} has no '{lacking}', which {original} of {where} has, so a program that uses it has a second error"


REAL = """template <class Asked, class Backend> class Trainer<Asked, Backend> {
 public:
  using Options = int;  // comment { of ( signs
  using Base::of_base, Base::another;
  explicit Trainer(const Options& options) try : state_(options) { go("}"); } catch (...) {}
  template <class... Given>
  requires(!is_batch<Given...>) int step(const Given&...) { return {}; }
  [[nodiscard]] const std::vector<int, int>& failures() const { return failures_; }
  int (*pointed)() = nullptr;
  static constexpr int size = 3, other[4] = {};
 private:
  int hidden() { return 1; }
};
"""
STUB = "template <class A, class B = void> class Trainer {\n public:\n  using Options = int;\n  int step() { return 0; }\n  int failures() const;\n  int size, other, pointed;\n};\n"
ACCEPTED = {"include/heddle/run/trainer.hpp": REAL, "include/heddle/plan/backend_named.hpp": STUB + "class Runner { public: int a; };\n",
            "include/heddle/run/trainer_calls.hpp": "class TrainerCalls { public: int step(); protected: int state; };\n",
            "include/heddle/run/runner.hpp": "struct Runner { int a; };\n"}
REFUSED = {f"Trainer has no '{name}'": ACCEPTED | {"include/heddle/plan/backend_named.hpp": ACCEPTED["include/heddle/plan/backend_named.hpp"].replace(name, "renamed")}
           for name in ("Options", "step", "failures", "size", "other", "pointed")}
REFUSED["Trainer has no 'steps', which TrainerCalls"] = ACCEPTED | {"include/heddle/run/trainer_calls.hpp": "class TrainerCalls { public: int steps(); };\n"}
REFUSED["there is no class Runner"] = ACCEPTED | {"include/heddle/run/runner.hpp": ""}
