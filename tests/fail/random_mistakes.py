#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Random misuse of the types: one mistake from a grammar, in a program that a seed draws around it. Each must be one error with a code.

    random_mistakes.py --include include --compiler g++ --seed 7 --cases 40
    random_mistakes.py --include include --compiler g++ --seed 7 --cases 40 --only stage_without_a_device    one mistake of the grammar
    random_mistakes.py --list                                                                                the names of the mistakes
    random_mistakes.py --include include --table docs/mistakes.md           each mistake once, on g++: the page is red if it says something else
    random_mistakes.py --include include --table docs/mistakes.md --write   the page anew

A program is a model, a plan and a question about the plan; without its mistake it compiles, which is tried for some. With it the compiler
says `error:` exactly once, names a code of docs/errors.md, and says at most 15 lines in all.
"""
import argparse
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import run_fail

MOST_LINES = 15
LONGEST_SECONDS = 30
FRONT_DOOR = '#include "heddle/heddle.hpp"'
QUESTIONS = [
    "static_assert(devices<Asked> > 0);",
    "static_assert(peak_memory<Asked>() > 0_MiB);",
    "static_assert(sizeof(Asked) > 0);",
    "static_assert(devices<Asked> == 1 || devices<Asked> != 1);",
    "static_assert(traffic<Asked>().gradients().on(axis::data).moved_per_rank() >= Bytes{0});",
    # what the documents ask
    "static_assert(bubble_percent(Asked::training) < 100 && bubble_percent(lower<Asked>()) >= 0);",
    "static_assert(stage_flops(Asked::training, 0) > 0);",
    "static_assert(lower<Asked>().loss_role() >= 0 && lower<Asked>().device_of_chunk[0] == 0 && lower<Asked>().first_node[1] > 0);",
    "static_assert(lower<Asked>().batch.micro_rows_of(0) > 1 && lower<Asked>().mesh.ranks() == devices<Asked>);",
    "static_assert(traffic<Asked>().total() <= traffic<Asked>().total() && traffic<Asked>().activations().messages >= 0);",
    "static_assert(traffic<Asked>().loss().ranks == devices<Asked> && traffic<Asked>().sent_to_peers(Rank{0}) >= 0_B);",
    "static_assert(devices<Asked> > 0 && !advice<Asked>().has(Code{'B', 1}));",
    "static_assert(5 * flops_run_again(lower<Asked>()) < flops<Net>);",
    "static_assert(same_bits<Asked, Asked>() && (is_reproducible<Asked> || !is_reproducible<Asked>));",
]


class Program:
    """A sound program as parts that a mistake changes."""

    def __init__(self, draw):
        self.draw = draw
        self.names = draw.sample(["first", "second", "encoder", "head", "mixer", "fc1", "out_proj", "gate"], 4)
        self.widths = [draw.choice([3, 4, 6, 7, 8, 12, 20, 33]) for _ in range(4)]
        self.before = []  # declarations before the model
        self.layers = []
        for n, (into, out) in enumerate(zip(self.widths, self.widths[1:])):
            layer = f"Linear<{into}, {out}>"
            self.layers.append(f'Named<"{self.names[n]}", {layer}>' if draw.random() < 0.5 else layer)
            self.layers.append(draw.choice(["ReLU", "GELU", "Tanh", "Sigmoid"]))
        if draw.random() < 0.3:
            wide = draw.choice([2, 5, 9])
            last = self.widths[-1]
            self.layers.append(f"Residual<Linear<{last}, {wide}>, ReLU, Linear<{wide}, {last}>>")
        self.layers.append(f"Linear<{self.widths[-1]}, {draw.choice([2, 4, 10])}>")
        self.base = "struct"
        self.loss = draw.choice(["CrossEntropy", "MeanSquaredError"])
        self.optimizer = draw.choice(["SGD", "MomentumSGD", "Adam", "AdamW"])
        self.batch = "Batch<48>"
        self.policy = draw.choice(
            ["Single", "DataParallel<2>", "Sharded<2>", "Sharded<4, OptimizerState>", "TensorParallel<1>", "Pipeline<Balanced<2>>",
             "Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>", "Hybrid<Pipeline<Balanced<2>, GPipe, Microbatches<3>>, DataParallel<2>>",
             "Hybrid<Sharded<2>, DataParallel<2>>"])
        self.more = draw.choice([[], [], ["Accumulate<2>"], ["Clip<GlobalNorm>"], ["Memory<10_MiB>"], ["LossScaling"]])
        self.question = draw.choice(QUESTIONS)
        self.asked = "Trained"

    def parts(self):
        parts = [part for part in ["Net", self.loss, self.optimizer, self.batch, self.policy, *self.more] if part]
        self.draw.shuffle(parts)
        return parts

    def text(self):
        model = f"{self.base} Net : Sequential<{', '.join(self.layers)}> {{}};"
        plan = f"using Trained = Plan<{', '.join(self.parts())}>;"
        question = self.question.replace("Asked", self.asked)
        return "\n".join([FRONT_DOOR, "", "using namespace heddle;", "using namespace heddle::extending;", *self.before, model, plan, question, ""])

    def any_linear(self):
        return self.draw.choice([n for n, layer in enumerate(self.layers) if "Linear<" in layer and "Residual" not in layer])

    def replace_numbers(self, at, into=None, out=None):
        def numbers(found):
            return f"Linear<{found[1] if into is None else into}, {found[2] if out is None else out}"

        self.layers[at] = re.sub(r"Linear<(\d+), (\d+)", numbers, self.layers[at], count=1)

    def own(self, body, name="Own"):
        """An own layer after the first activation, whose value has as many features as the first layer gives."""
        self.before.append(f"struct {name} {{ {body} }};")
        self.layers.insert(2, name)


def described(inside, keyword="static constexpr"):
    return f"{keyword} Leaf describe(Spec in) {{ Leaf l; l.kind << \"Own\"; l.spelled << \"Own\"; l.in = l.out = in; {inside} return l; }}"


def parameter(name, shape="Shape{4}"):
    return f'l.with({{"{name}", {shape}, Initial::ones}});'


MISTAKES = {}


def mistake(change):
    MISTAKES[change.__name__] = change
    return change


# ---- Layers and models.


@mistake
def features_do_not_chain(p):
    p.replace_numbers(2, into=p.widths[1] + p.draw.choice([1, 2, 100]))


@mistake
def no_features(p):
    p.replace_numbers(len(p.layers) - 1, out=0)


@mistake
def negative_features(p):
    p.replace_numbers(0, into=-p.draw.choice([1, 4, 100]))


@mistake
def too_many_features(p):
    p.replace_numbers(0, into=1 << 30, out=1 << 30)
    p.layers = p.layers[:1]


@mistake
def bias_is_no_bias(p):
    p.layers[-1] = p.layers[-1].replace(">", f", {p.draw.choice(['int', 'ReLU', 'Adam'])}>")


@mistake
def name_twice(p):
    p.layers += [f'Named<"twice", ReLU>', f'Named<"twice", {p.draw.choice(["ReLU", "GELU"])}>']


@mistake
def name_with_a_dot(p):
    p.layers[1] = f'Named<"{p.draw.choice(["a.b", ".a", "a.", "."])}", {p.layers[1]}>'


@mistake
def empty_name(p):
    p.layers[1] = f'Named<"", {p.layers[1]}>'


@mistake
def residual_changes_the_shape(p):
    p.layers.insert(2, f"Residual<Linear<{p.widths[1]}, {p.widths[1] + 1}>>")


@mistake
def negative_input(p):
    p.layers[:0] = ["Input<-2, -2>", "Flatten"]


@mistake
def input_of_five_dimensions(p):
    p.layers.insert(0, "Input<2, 2, 2, 2, 2>")


@mistake
def input_in_the_middle(p):
    p.layers.insert(2, f"Input<{p.widths[1] + 1}>")


@mistake
def unflatten_into_nothing(p):
    p.layers.insert(2, "Unflatten<>")


@mistake
def repeat_nothing(p):
    p.layers.insert(2, f"Repeat<{p.draw.choice([0, -3])}, ReLU>")


@mistake
def repeat_beyond_the_compiler(p):
    p.layers.insert(2, f"Repeat<20000, Linear<{p.widths[1]}, {p.widths[1]}>>")


@mistake
def private_base(p):
    p.base = "class"


@mistake
def layer_is_no_class(p):
    p.layers.insert(2, p.draw.choice(["int", "float", "void"]))


@mistake
def loss_as_a_layer(p):
    p.layers.append(p.draw.choice(["CrossEntropy", "MeanSquaredError"]))


@mistake
def policy_as_a_layer(p):
    p.layers.append(p.draw.choice(["DataParallel<2>", "Single"]))


@mistake
def tied_to_no_layer(p):
    p.layers[-1] = f'Tied<"last", {p.layers[-1]}, To<"nowhere">>'


# ---- Own layers.


@mistake
def own_without_a_description(p):
    p.own("static float forward(float x); static float backward(float x, float g);")


@mistake
def own_description_is_not_constexpr(p):
    p.own(described("", keyword="static"))


@mistake
def own_with_five_parameters(p):
    p.own(described("".join(parameter(f"p{i}") for i in range(5))))


@mistake
def own_with_a_name_twice(p):
    p.own(described(parameter("gain") + parameter("gain")))


@mistake
def own_with_a_dotted_name(p):
    p.own(described(parameter(p.draw.choice(["a.b", ""]))))


@mistake
def own_with_a_negative_shape(p):
    p.own(described(parameter("gain", "Shape{-4}")))


@mistake
def own_with_a_long_name(p):
    p.own(described(parameter("query_projection_weight_of_all_heads_of_a_block")))


@mistake
def own_with_data(p):
    p.own(described("") + " float rate = 0;")


@mistake
def own_takes_another_value(p):
    p.own('static constexpr Leaf describe(Spec) { Leaf l; l.kind << "Own"; l.spelled << "Own"; l.in = l.out = Spec{Shape{777}}; return l; }')


# ---- Parts of a plan.


@mistake
def no_loss(p):
    p.loss = ""


@mistake
def no_optimizer(p):
    p.optimizer = ""


@mistake
def no_batch(p):
    p.batch = ""


@mistake
def no_policy(p):
    p.policy = ""


@mistake
def two_batches(p):
    p.more = ["Batch<32>"]


@mistake
def two_losses(p):
    p.more = [p.draw.choice(["CrossEntropy", "MeanSquaredError"])]


@mistake
def two_policies(p):
    p.more = [p.draw.choice(["DataParallel<2>", "Single", "Pipeline<Balanced<2>>"])]


@mistake
def no_part_of_a_plan(p):
    p.more = [p.draw.choice(["int", "Bytes", "Microbatches<4>", "OneFOneB"])]


@mistake
def batch_of_no_rows(p):
    p.batch = f"Batch<{p.draw.choice([0, -64])}>"


@mistake
def batch_that_does_not_divide(p):
    p.batch, p.policy, p.more = "Batch<49>", "DataParallel<2>", []


@mistake
def batch_beyond_int(p):
    p.batch, p.policy, p.more = "Batch<2147483647, KeepLast>", "DataParallel<4>", []


@mistake
def batch_with_a_grain_inside(p):
    p.batch = "Batch<48, Grain<16>>"


@mistake
def no_replicas(p):
    p.policy = f"{p.draw.choice(['DataParallel', 'Sharded', 'TensorParallel'])}<{p.draw.choice([0, -2])}>"


@mistake
def slices_that_are_not_even(p):
    p.batch, p.policy, p.more = "Batch<48>", f"Sharded<{p.draw.choice([3, 6, 24])}>", []


@mistake
def mesh_beyond_int(p):
    p.policy = "Hybrid<TensorParallel<2>, DataParallel<2000000000>>"


@mistake
def hybrid_of_nothing(p):
    p.policy = "Hybrid<>"


@mistake
def hybrid_of_no_policy(p):
    p.policy = f"Hybrid<DataParallel<2>, {p.draw.choice(['Accumulate<2>', 'int', 'Adam', 'Microbatches<2>'])}>"


@mistake
def axis_claimed_twice(p):
    p.policy = "Hybrid<DataParallel<2>, DataParallel<2>>"


@mistake
def no_micro_batches(p):
    p.policy = f"Pipeline<Balanced<2>, OneFOneB, Microbatches<{p.draw.choice([0, -1])}>>"


@mistake
def order_without_micro_batches(p):
    p.policy = f"Pipeline<Balanced<2>, {p.draw.choice(['OneFOneB', 'GPipe', 'ZeroBubbleH1'])}>"


@mistake
def chunks_beyond_int(p):
    p.policy = "Pipeline<Balanced<2>, Interleaved<2147483647>, Microbatches<4>>"


@mistake
def more_stages_than_layers(p):
    p.policy, p.more = f"Pipeline<Balanced<{p.draw.choice([24, 200])}>>", []


@mistake
def stage_without_a_device(p):
    p.policy = f"Pipeline<Stage<Net, {p.draw.choice(['int', 'Balanced<2>'])}>>"


@mistake
def stage_on_a_device_beyond_all(p):
    p.policy = "Pipeline<Stage<Net, On<1000000>>>"


@mistake
def unknown_part_of_a_pipeline(p):
    p.policy = f"Pipeline<Balanced<2>, {p.draw.choice(['Adam', 'int', 'DataParallel<2>'])}>"


@mistake
def rounds_times_micro_batches_beyond_int(p):
    p.batch, p.policy, p.more = "Batch<64, KeepLast>", "Pipeline<Balanced<2>, OneFOneB, Microbatches<65536>>", ["Accumulate<65536>"]


@mistake
def no_rounds(p):
    p.more = [f"Accumulate<{p.draw.choice([0, -2])}>"]


@mistake
def budget_of_nothing(p):
    p.more = ["Memory<0_MiB>"]


@mistake
def clip_by_no_norm(p):
    p.more = [f"Clip<{p.draw.choice(['int', 'ReLU'])}>"]


@mistake
def recompute_of_no_layer(p):
    p.more = ['Recompute<Only<"nowhere">>']


@mistake
def question_about_a_model(p):
    p.asked = "Net"
    p.question = p.draw.choice(["static_assert(devices<Asked> > 0);", "static_assert(check<Asked>().ok());"])


def written(name, seed):
    """The program with the mistake, and without."""
    broken, sound = Program(random.Random(f"{name} {seed}")), Program(random.Random(f"{name} {seed}"))
    MISTAKES[name](broken)
    return broken.text(), sound.text()


def compiled(compiler, includes, more, text):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "mistake.cpp"
        source.write_text(text)
        command = [run_fail.find(compiler), "-std=c++20", "-fsyntax-only", *more, *run_fail.reads(includes), str(source)]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=LONGEST_SECONDS)
        except subprocess.TimeoutExpired:
            return 124, f"the compiler was at it for more than {LONGEST_SECONDS} seconds"
    return done.returncode, done.stdout


def compiled_together(compiler, includes, more, texts):
    """What the compiler says of each of these programs, many in one file (answers.py), by name; of some nothing."""
    said = {}
    with tempfile.TemporaryDirectory() as folder:
        unit, names = pathlib.Path(folder) / "together.cpp", sorted(texts)
        for few in (names[first:first + run_fail.TOGETHER] for first in range(0, len(names), run_fail.TOGETHER)):
            paths = {f"{folder}/{name}.cpp": name for name in few}
            for path, name in paths.items():  # the compiler quotes them
                pathlib.Path(path).write_text(texts[name])
            inside = (f'#line 1 "{path}"\n{texts[name].replace(FRONT_DOOR, "", 1)}\n#line 1 "between"\n' for path, name in paths.items())
            unit.write_text(FRONT_DOOR + "\n" + "".join(run_fail.apart(i, "", text) for i, text in enumerate(inside)))
            command = [run_fail.find(compiler), "-std=c++20", "-fsyntax-only", "-fmax-errors=0", *more, *run_fail.reads(includes), str(unit)]
            try:
                done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", timeout=LONGEST_SECONDS)
            except subprocess.TimeoutExpired:
                continue  # alone it is seen which one takes so long
            parts = run_fail.answers.divided(done.stdout, list(paths), str(unit)) or {}
            said |= {paths[path]: words for path, words in parts.items()}
    return said


def complaints(code, output):
    if code == 0:
        yield "it compiles"
    errors = len(re.findall(r"\berror\s*:", output))
    if code != 0 and errors != 1:
        yield f"'error:' occurs {errors} times"
    lines = len(output.splitlines())
    if lines > MOST_LINES:
        yield f"the compiler says {lines} lines"
    if code != 0 and not re.search(r"\[heddle\.[A-Z]\d\d\]", output):
        yield "no code is named"


def tried(options, seed):
    draw = random.Random(seed)
    names = [options.only] if options.only else sorted(MISTAKES)
    for number in range(options.cases):
        if number % len(names) == 0:
            draw.shuffle(names)
        yield names[number % len(names)], f"{seed}.{number}"


def progress(number, cases, name):
    """How far the program is, on stderr: one line that is written over on a terminal, elsewhere a line for each ten mistakes."""
    if sys.stderr.isatty():
        print("\r\033[K" + (f"mistake {number + 1} of {cases}: {name}" if name else ""), end="", file=sys.stderr, flush=True)
    elif number % 10 == 0 and name:
        print(f"mistake {number + 1} of {cases}", file=sys.stderr, flush=True)


SENTENCE = re.compile(r'"(\[heddle\.[A-Z]\d\d\] (?:[^"\\\\]|\\\\.)*)"')
PAGE = """# Sixty mistakes, sixty sentences

One mistake from a grammar of {count}, each in a small program that is otherwise sound. Each is one error, of at most {lines} lines, with a code of
[errors.md](errors.md), on g++ 12, clang 14 and clang 19. This is what g++ says of each. `python3 tests/fail/random_mistakes.py --include include --cases 20 --seed 7`
draws others.

| mistake | sentence |
|---|---|
{rows}
"""


def page_of(sentences):
    """The names and sentences as a page of docs."""
    rows = [f"| {name.replace('_', ' ')} | {sentence.replace('|', chr(92) + '|')} |" for name, sentence in sorted(sentences.items())]
    return PAGE.format(count=len(MISTAKES), lines=MOST_LINES, rows="\n".join(rows))


def self_check():
    assert not list(complaints(1, "x.cpp:1:1: error: [heddle.G01] a law\n"))
    assert list(complaints(0, "")) == ["it compiles"]
    assert list(complaints(1, "error: no law\n")) == ["no code is named"]
    assert list(complaints(1, "error: [heddle.G01]\nerror: [heddle.G01]\n")) == ["'error:' occurs 2 times"]
    assert list(complaints(1, "error: [heddle.G01]\n" + "note\n" * 15)) == ["the compiler says 16 lines"]
    assert len(MISTAKES) >= 40
    for name in MISTAKES:
        broken, sound = written(name, "0.0")
        assert broken != sound, f"{name} changes nothing"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--self-check", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--include", action="append", default=[])
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--precompiled", metavar="FOLDER")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cases", type=int, default=len(MISTAKES))
    parser.add_argument("--only", choices=sorted(MISTAKES))
    parser.add_argument("--table", metavar="PAGE", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if options.table:
        options.cases, options.compiler = len(MISTAKES), "g++"
    if options.self_check:
        self_check()
        return 0
    if options.list:
        print("\n".join(sorted(MISTAKES)))
        return 0
    if run_fail.find(options.compiler) is None:
        print(f"SKIPPED: {options.compiler} is not installed")
        return run_fail.SKIPPED
    more = run_fail.flags_of_precompiled(options.precompiled, options.compiler, "front_door")
    faults, sentences = 0, {}
    drawn = list(tried(options, options.seed))
    broken_by_name = {name: written(name, seed)[0] for name, seed in drawn} if more and options.table else {}
    together = compiled_together(options.compiler, options.include, more, broken_by_name)
    for number, (name, seed) in enumerate(drawn):
        broken, sound = written(name, seed)
        progress(number, options.cases, name)
        said = (1, together.get(name, ""))
        if list(complaints(*said)):  # it has no answer of its own, or one that may be wrong only beside others
            said = compiled(options.compiler, options.include, more, broken)
        found = list(complaints(*said))
        text = broken
        sentences[name] = (SENTENCE.findall(said[1]) or ["?"])[0]
        if not found and number % 10 == 0:  # what is drawn around the mistake is sound
            said = compiled(options.compiler, options.include, more, sound)
            found, text = ["without its mistake it does not compile"] if said[0] != 0 else [], sound
        if found:
            faults += 1
            print(f"---- {name}, seed {seed}, on {options.compiler}: {'; '.join(found)}\n{text}\n{said[1][:3000]}", flush=True)
    progress(options.cases, options.cases, "")
    print(f"{options.cases - faults} of {options.cases} mistakes were one error with a code on {options.compiler}, seed {options.seed}")
    if options.table and options.write:
        options.table.write_text(page_of(sentences))
    elif options.table and page_of(sentences) != options.table.read_text():
        faults += 1
        print(f"{options.table} says something else. Fix: call this with --write, and read what has changed.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
