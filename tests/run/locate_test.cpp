// SPDX-License-Identifier: MIT
#include "heddle/run/locate.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

namespace {

struct Model
    : Sequential<Input<2, 2>, Flatten, Named<"in", Linear<4, 3>>, Named<"block", Residual<Named<"inner", Linear<3, 3>>, Tanh>>, Linear<3, 2>> {};
constexpr float infinite = std::numeric_limits<float>::infinity();
constexpr float none = std::numeric_limits<float>::quiet_NaN();

/// A batch of three rows and parameters of ones; each case damages one number.
struct Case {
  std::vector<float> inputs = std::vector<float>(3 * 4, 1.0F);
  std::vector<std::int32_t> labels{0, 1, 0};
  std::vector<std::uint32_t> order;
  std::vector<Floats> parameters{Floats(12, 1.0F), Floats(3, 1.0F), Floats(9, 1.0F), Floats(3, 1.0F), Floats(6, 1.0F), Floats(2, 1.0F)};
  [[nodiscard]] std::string found() const {
    StepInput input;
    input.program = &lower<Plan<Model, CrossEntropy, SGD, Batch<3>, Single>>();
    input.inputs = inputs.data();
    input.targets = labels.data();
    input.order = order.empty() ? nullptr : order.data();
    input.source_rows = input.rows = 3;
    const KernelTable kernels = kernel_table<Model, CrossEntropy, SGD, EigenCompute>();
    return locate_non_finite(graph_of<Model>, kernels, input, parameters);
  }
};

bool begins(const std::string& words, const std::string& with) {
  CAPTURE(words);
  const bool does = words.rfind(with, 0) == 0;
  CHECK(does);
  CHECK(words.find(" Fix: lower the learning rate or repair the data; the parameters are those before the step.") != std::string::npos);
  return does;
}

}  // namespace

TEST_CASE("the first value that is not finite is found, or none") {
  CHECK(first_non_finite({}) == -1);
  CHECK(first_non_finite({0, -1, 3e38F}) == -1);
  CHECK(first_non_finite({0, infinite, none}) == 1);
  CHECK(first_non_finite({none}) == 0);
  CHECK(first_non_finite({1, 2, -infinite}) == 2);
}

TEST_CASE("the earliest cause is named: a parameter before the input, the input before a layer") {
  Case damaged;
  damaged.parameters[2][4] = none;
  damaged.inputs[5] = none;
  begins(damaged.found(), "; parameter 'block.inner.weight' was not finite before it.");
  damaged.parameters[2][4] = 1;
  begins(damaged.found(), "; the input has such a value in row 1, feature 1.");
}

TEST_CASE("token ids are read as they are, in the order of the batch, and are never what is not finite") {
  struct Words : Sequential<Input<1, 2>, Flatten, Embedding<4, 3>, Named<"head", Linear<3, 2>>> {};
  const std::vector<std::int32_t> ids{0, 1, 2, 3, 1, 0}, labels(6);
  std::vector<Floats> parameters{Floats(12, 1.0F), Floats(6, 2.0F), Floats(2, 1.0F)};
  std::fill(parameters[0].begin() + 9, parameters[0].end(), 3e38F);  // of token 3
  const std::vector<std::uint32_t> order{2, 0, 1};
  StepInput input;
  input.program = &lower<Plan<Words, CrossEntropy, SGD, Batch<3>, Single>>();
  input.inputs = ids.data();
  input.targets = labels.data();
  input.source_rows = input.rows = 3;
  const KernelTable kernels = kernel_table<Words, CrossEntropy, SGD, EigenCompute>();
  begins(locate_non_finite(graph_of<Words>, kernels, input, parameters), "; it begins in layer 3 'head' Linear<3, 2>, row 1, feature 2.");
  input.order = order.data();
  begins(locate_non_finite(graph_of<Words>, kernels, input, parameters), "; it begins in layer 3 'head' Linear<3, 2>, row 2, feature 2.");
  std::fill(parameters[0].begin() + 9, parameters[0].end(), 1.0F);
  begins(locate_non_finite(graph_of<Words>, kernels, input, parameters), "; all outputs of the model are finite");
}

TEST_CASE("rows are counted in the order of the batch") {
  Case damaged;
  damaged.inputs[4 * 2 + 3] = infinite;
  begins(damaged.found(), "; the input has such a value in row 2, feature 3.");
  damaged.order = {1, 2, 0};
  begins(damaged.found(), "; the input has such a value in row 1, feature 3.");
}

TEST_CASE("a layer whose output overflows is named with row and feature") {
  Case damaged;
  damaged.parameters[0].assign(12, 0.0F);
  for (int j = 0; j < 4; ++j) damaged.parameters[0][static_cast<std::size_t>(4 + j)] = 3e38F;  // feature 1 of the first Linear
  const std::string first = damaged.found();
  begins(first, "; it begins in ");
  CHECK(first.find("'in' Linear<4, 3>, row 0, feature 1.") != std::string::npos);

  Case sum;  // both operands are finite, their sum is not: tanh gives 1, the skip 3.4e38, and so on
  sum.parameters[0].assign(12, 0.0F);
  sum.parameters[1].assign(3, std::numeric_limits<float>::max());
  sum.parameters[2].assign(9, 0.0F);
  const std::string last = sum.found();
  begins(last, "; it begins in ");
  CHECK(last.find("Linear<3, 2>, row 0, feature 0.") != std::string::npos);
}

TEST_CASE("if every output is finite it is the loss or its targets") { begins(Case{}.found(), "; all outputs of the model are finite"); }

TEST_CASE("an instruction is described by its place in its role's list and by what it does") {
  using Product = Plan<Model, CrossEntropy, SGD, Batch<8>, Hybrid<Pipeline<Balanced<2>, GPipe, Microbatches<2>>, DataParallel<2>>>;
  const Program& p = Product::training;
  std::string all;
  for (int role = 0; role < p.roles; ++role)
    for (int i = p.lists[role].begin; i < p.lists[role].end; ++i) {
      const std::string words = describe(p, i);
      CHECK(words.rfind("instruction " + std::to_string(i - p.lists[role].begin) + " (" + std::string{name_of(p.instructions[i].op)}, 0) == 0);
      all += words + "\n";
    }
  for (const char* words : {"(forward of chunk 0, micro-batch 1)", "(backward of chunk 1, micro-batch 0)", "(send start of chunk 0, micro-batch 0)",
                            "(receive wait of chunk 1, micro-batch 1)", "(reduce wait of gradient bucket 0)", "(reduce start of the loss)",
                            "(report of the loss)", "(step of gradient bucket 1)"}) {
    CAPTURE(words);
    CHECK(all.find(words) != std::string::npos);
  }
}

TEST_CASE("the code that ran is named by its layer, as the loss or as the optimizer, and what it threw keeps a remedy that it has") {
  const Program& program = lower<Plan<Model, CrossEntropy, SGD, Batch<3>, Single>>();
  std::vector<std::string> found;
  for (int i = program.lists[0].begin; i < program.lists[0].end; ++i) {
    const Instruction& line = program.instructions[i];
    if (line.op == ListOp::step) found.push_back(describe_code(program, i, -1));
    if (line.op != ListOp::forward && line.op != ListOp::backward) continue;
    const IndexRange body = program.body(line);
    for (int e = body.begin; e < body.end; ++e) found.push_back(describe_code(program, i, e));
  }
  const auto has = [&](const char* words) { return std::find(found.begin(), found.end(), words) != found.end(); };
  CHECK(has("the forward of layer 2 'in' Linear<4, 3>"));
  CHECK(has("the backward of layer 2 'in' Linear<4, 3>"));
  CHECK(has("the loss"));
  CHECK(has("the step of the optimizer"));
  CHECK(has("instruction 0 (forward of chunk 0, micro-batch 0)"));  // it loads rows
  CHECK(describe_throw("the loss", "no memory") ==
        "the loss threw: no memory. Fix: look there for what it says; Heddle throws nothing of this kind.");
  CHECK(describe_no_memory("the loss") == "the system gave no memory to the loss. Fix: free memory, or raise the limit (ulimit -v).");
  CHECK(describe_no_memory("") == "the system gave no memory. Fix: free memory, or raise the limit (ulimit -v).");
  CHECK(describe_throw("the observer", "no disk. Fix: buy one.") == "the observer threw: no disk. Fix: buy one.");
}

TEST_CASE("what joins two values is run with both, and a value that is not finite is found behind it") {
  struct Forked : Sequential<Linear<4, 3>, Branches<Concat, Named<"left", Linear<3, 2>>, Sequential<>>, Named<"last", Linear<5, 2, NoBias>>> {};
  using Forks = Plan<Forked, CrossEntropy, SGD, Batch<3>, Single>;
  const std::vector<float> inputs(12, 1.0F);
  const std::vector<std::int32_t> labels{0, 1, 0};
  StepInput input;
  input.program = &lower<Forks>();
  input.inputs = inputs.data();
  input.targets = labels.data();
  input.source_rows = input.rows = 3;
  const KernelTable kernels = kernel_table<Forked, CrossEntropy, SGD, EigenCompute>();
  // the last element of the joined value is 4e37, so the second output overflows by the tenfold of it
  std::vector<Floats> parameters{Floats(12, 1e37F), Floats(3, 0.0F), Floats(6, 0.0F), Floats(2, 0.0F), {0, 0, 0, 0, 0, 0, 0, 0, 0, 10}};
  begins(locate_non_finite(graph_of<Forked>, kernels, input, parameters), "; it begins in layer 3 'last' Linear<5, 2, NoBias>, row 0, feature 1.");
}

TEST_CASE("a layer that reads what was tracked is run as it was: in an evaluation, and frozen") {
  struct Images : Sequential<Input<2, 1, 2>, Named<"first", BatchNorm2d<2>>, Named<"still", Frozen<BatchNorm2d<2>>>, Flatten, Linear<4, 2>> {};
  using P = Plan<Images, CrossEntropy, SGD, Batch<4>, Single, Grain<2>>;
  const std::vector<float> inputs{1, 2, 3, 4, 5, 6, 7, 9, 2, 1, 4, 3, 6, 5, 9, 7};
  const std::vector<std::int32_t> labels{0, 1, 0, 1};
  std::vector<Floats> parameters{Floats(2, 1), Floats(2), Floats(2),    Floats(2, -1.0F), Floats(2, 1),
                                 Floats(2),    Floats(2), Floats(2, 1), Floats(8, 1),     Floats(2)};
  StepInput input;
  input.program = &P::training;
  input.inputs = inputs.data();
  input.targets = labels.data();
  input.source_rows = input.rows = 4;
  const KernelTable kernels = kernel_table<Images, CrossEntropy, SGD, EigenCompute>();
  const auto found = [&] { return locate_non_finite(graph_of<Images>, kernels, input, parameters); };
  begins(found(), "; all outputs of the model are finite");  // a negative variance that no training reads
  input.program = &P::evaluation;
  CHECK(found().find("; it begins in layer 1 'first' BatchNorm2d<2>, row 0, feature 0.") == 0);
  input.program = &P::training;
  std::swap(parameters[3], parameters[7]);
  begins(found(), "; it begins in layer 2 'still' BatchNorm2d<2>, row 0, feature 0.");
}

TEST_CASE("a layer in phases is run on all rows of a micro-batch at once, as far as they lie side by side") {
  struct Images : Sequential<Input<2, 1, 2>, BatchNorm2d<2, Synchronised>, Flatten, Linear<4, 2>> {};
  const Leaf& leaf = graph_of<Images>.leaf(1);
  StepInput input;
  input.source_rows = 7;
  const auto rows = [&]<class P>(const P*) {
    input.program = &P::training;
    return rows_at_once(leaf, input);
  };
  CHECK(rows(static_cast<const Plan<Images, CrossEntropy, SGD, Batch<8>, DataParallel<2>>*>(nullptr)) == 7);
  CHECK(rows(static_cast<const Plan<Images, CrossEntropy, SGD, Batch<8>, Single, Accumulate<2>>*>(nullptr)) == 4);
  CHECK(rows_at_once(graph_of<Images>.leaf(3), input) == 7);
}

TEST_CASE("a target that is not finite is named with its row, and with the loss that reads it if there are several") {
  using Two = Losses<LossOf<"kind", Outputs<2>, CrossEntropy>, LossOf<"size", Outputs<2>, MeanSquaredError>>;
  TargetRanges ranges = Two::target_ranges(Spec{Shape{4}});
  std::vector<TargetValue> targets{0, 1.0F, 2.0F, 1, 3.0F, none};
  StepInput input;
  input.targets = targets.data();
  input.source_rows = input.rows = 2;
  CHECK(non_finite_target(ranges, input) == "; target 2 of row 1, of loss 'size', is not finite.");
  const std::vector<std::uint32_t> order{1, 0};
  input.order = order.data();
  CHECK(non_finite_target(ranges, input) == "; target 2 of row 0, of loss 'size', is not finite.");
  targets[5] = 1.0F;
  CHECK(non_finite_target(ranges, input).empty());
  const std::vector<float> floats{1, 2, infinite, 4};
  input.targets = floats.data();
  input.order = nullptr;
  CHECK(non_finite_target(graph_room::target_ranges_of<MeanSquaredError>(Spec{Shape{2}}), input) == "; target 0 of row 1 is not finite.");
  input.targets = nullptr;
  CHECK(non_finite_target(ranges, input).empty());
}
