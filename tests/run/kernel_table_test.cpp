// SPDX-License-Identifier: MIT
#include "heddle/run/kernel_table.hpp"

#include <doctest/doctest.h>

#include <string_view>
#include <type_traits>
#include <vector>

#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

namespace {

struct Block : Residual<Linear<4, 4>, Tanh> {};
struct Model : Sequential<Input<2, 2>, Flatten, Named<"blocks", Repeat<3, Block>>, ReLU, Linear<4, 3>> {};

template <class Loss, class Optimizer> KernelTable table_of() { return kernel_table<Model, Loss, Optimizer, EigenCompute>(); }

/// out = in x weight: a kernel that knows the whole backward alone.
struct Whole {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Whole";
    leaf.spelled << "Whole";
    leaf.in = leaf.out = in;
    return leaf.with({Text<16>{"weight"}, Shape{in.elements()}, Initial::ones});
  }
};
/// What CrossEntropy says of parts, with a kernel that knows whole outputs alone.
struct WithoutTerms {
  using Target = CrossEntropy::Target;
  static constexpr std::string_view name() { return "WithoutTerms"; }
  static constexpr Diagnosis accepts(const Spec& output) { return CrossEntropy::accepts(output); }
  static constexpr std::int64_t target_features(const Spec& output) { return CrossEntropy::target_features(output); }
  static constexpr std::int64_t flops(const Spec& output) { return CrossEntropy::flops(output); }
  static constexpr Laid splits(const Spec& output) { return CrossEntropy::splits(output); }
  static constexpr std::int64_t terms(const Spec& output) { return CrossEntropy::terms(output); }
};
struct Renamed : CrossEntropy {};
struct Unsplit : Sequential<Linear<4, 4>, Repeat<2, Residual<Tanh>>, Whole, Linear<4, 3>> {};

}  // namespace

namespace heddle {
template <> struct Kernel<Whole, EigenCompute> {
  static void forward(const ForwardCall&) {}
  static void backward(const BackwardCall&) {}
};
template <> struct LossKernel<WithoutTerms, EigenCompute> {
  static float sum(const LossCall&) { return 0; }
};
}  // namespace heddle

/// A backend with kernels of its own for everything.
struct OwnCompute : EigenCompute {
  template <class L> struct KernelOf {
    static void forward(const ForwardCall&) {}
    static void backward(const BackwardCall&) {}
  };
  template <class Loss> struct LossKernelOf {
    static float sum(const LossCall&) { return 7; }
  };
  template <class Optimizer> struct OptimizerKernelOf {
    static void step(const typename Optimizer::Constants&, std::int64_t, float* parameters, const float*, float* const*) { parameters[0] = 7; }
  };
};

TEST_CASE("a backend may bring its kernels itself: those that users specialise are then not taken") {
  const KernelTable table = kernel_table<Unsplit, MeanSquaredError, SGD, OwnCompute>();
  CHECK((table.leaves[0].forward == &OwnCompute::KernelOf<Linear<4, 4>>::forward));
  CHECK(table.loss(LossCall{}) == 7);
  const SGD::Constants constants{};
  float parameter = 1;
  table.step(&constants, 1, &parameter, nullptr, nullptr);
  CHECK(parameter == 7);
  CHECK((table.arithmetic.plus == &FloatArithmetic::plus));
  CHECK((table_of<MeanSquaredError, SGD>().leaves[0].forward != table.leaves[0].forward));
}

TEST_CASE("a split backward needs kernels with parameters in two parts; a whole one takes any kernel") {
  static_assert(CheckedKernels<Model, EigenCompute, true>::found.ok());
  static_assert(CheckedKernels<Unsplit, EigenCompute, false>::found.ok());
  constexpr const Diagnosis& found = CheckedKernels<Unsplit, EigenCompute, true>::found;
  static_assert(found.code == Code{'G', 14});
  CHECK(found.words.view().find("layer Whole has parameters, but its kernel for EigenCompute has no backward in two parts") !=
        std::string_view::npos);
}

TEST_CASE("a frozen layer that passes a gradient on needs a kernel in two parts; one in front of all trained layers does not") {
  using Passing = Sequential<Linear<4, 4>, Frozen<Whole>, Linear<4, 3>>;
  using Before = Sequential<Frozen<Sequential<Linear<4, 4>, Whole>>, Linear<4, 3>>;
  using Apart = Sequential<Linear<4, 4>, Whole, Frozen<Linear<4, 3>>>;
  static_assert(CheckedKernels<Before, EigenCompute, false>::found.ok());
  static_assert(CheckedKernels<Apart, EigenCompute, false>::found.ok());
  constexpr const Diagnosis& found = CheckedKernels<Passing, EigenCompute, false>::found;
  static_assert(found.code == Code{'G', 14});
  CHECK(found.words.view().find(
            "layer Whole has parameters, but its kernel for EigenCompute has no backward in two parts, which Frozen needs. Fix: let "
            "it leave out a gradient whose pointer is null and say static constexpr bool backward_in_parts = true.") != std::string_view::npos);
}

TEST_CASE("a loss that takes parts needs a kernel that makes terms of them") {
  static_assert(CheckedLoss<CrossEntropy, EigenCompute>::found.ok() && CheckedLoss<MeanSquaredError, EigenCompute>::found.ok());
  CHECK((table_of<CrossEntropy, SGD>().loss_terms == &LossKernel<CrossEntropy, EigenCompute>::terms));
  CHECK((table_of<MeanSquaredError, SGD>().loss_terms == nullptr));
  static_assert(SplitLossDescription<WithoutTerms>);
  CHECK((table_of<Renamed, SGD>().loss_terms == &LossKernel<Renamed, EigenCompute>::terms));  // a name derived from a loss has its kernel
  CHECK(
      CheckedLoss<WithoutTerms, EigenCompute>::found.sentence().view() ==
      "[heddle.P07] WithoutTerms says that it takes outputs in parts, but its kernel for EigenCompute makes no terms of a part. Fix: give LossKernel "
      "a static void terms(const LossCall&), or drop splits and terms from the loss.");
}

TEST_CASE("every leaf that computes has the kernels of its type, at the number that the graph gives it") {
  const KernelTable table = table_of<CrossEntropy, SGD>();
  const Graph& graph = graph_of<Model>;
  int linears = 0;
  int elementwise = 0;
  for (int n = 0; n < graph.node_count; ++n) {
    const LeafKernels& kernels = table.leaves[graph.nodes[n].leaf];
    if (graph.adds(n)) continue;
    const Leaf& leaf = graph.leaf(n);
    CAPTURE(n);
    if (leaf.parameter_count > 0 && leaf.out.elements() == 4) {
      ++linears;
      CHECK((kernels.forward == &Kernel<Linear<4, 4>, EigenCompute>::forward));
      CHECK((kernels.backward == &Kernel<Linear<4, 4>, EigenCompute>::backward));
    } else if (leaf.parameter_count > 0) {
      ++linears;
      CHECK((kernels.forward == &Kernel<Linear<4, 3>, EigenCompute>::forward));
    } else if (leaf.kind.view() == "Tanh") {
      ++elementwise;
      CHECK((kernels.forward == &Kernel<Tanh, EigenCompute>::forward));
      CHECK((kernels.backward == &Kernel<Tanh, EigenCompute>::backward));
    } else if (leaf.kind.view() == "ReLU") {
      ++elementwise;
      CHECK((kernels.backward == &Kernel<ReLU, EigenCompute>::backward));
    }
  }
  CHECK(linears == 4);  // three blocks share the kernels of one
  CHECK(elementwise == 4);
}

TEST_CASE("a sum of values and an input have no kernels: the executor adds and loads") {
  const KernelTable table = table_of<CrossEntropy, SGD>();
  const Graph& graph = graph_of<Model>;
  int sums = 0;
  for (int n = 0; n < graph.node_count; ++n)
    if (graph.adds(n)) {
      ++sums;
      CHECK((table.leaves[graph.nodes[n].leaf].forward == nullptr));
    }
  CHECK(sums == 3);
  CHECK((table.leaves[graph.nodes[0].leaf].forward == nullptr));
}

TEST_CASE("loss and optimizer say what targets are and how many states there are") {
  const TargetRanges classes = table_of<CrossEntropy, SGD>().targets, values = table_of<MeanSquaredError, SGD>().targets;
  CHECK((classes.count == 1 && classes.labels() && classes.all[0].features == 1));
  CHECK((values.count == 1 && !values.labels() && values.all[0].features == graph_of<Model>.output().elements()));
  CHECK((table_of<CrossEntropy, SGD>().states == 0));
  CHECK((table_of<CrossEntropy, MomentumSGD>().states == 1));
  CHECK((table_of<CrossEntropy, AdamW>().states == 2));
  CHECK((table_of<MeanSquaredError, SGD>().loss == &LossKernel<MeanSquaredError, EigenCompute>::sum));
  CHECK((table_of<CrossEntropy, SGD>().workspace_bytes == EigenCompute::workspace.value));
}

TEST_CASE("the workspace has room for the kernel that takes most beside the usual one") {
  struct Net : Sequential<Input<2, 9, 9>, Conv2d<2, 3, KernelSize<3>>, Conv2d<3, 700, KernelSize<3>>, AdaptiveAvgPool2d<1>, Flatten, Linear<700, 2>> {
  };
  constexpr Leaf small = Conv2d<2, 3, KernelSize<3>>::describe(Spec{Shape{2, 9, 9}});
  constexpr Leaf large = Conv2d<3, 6000, KernelSize<3>>::describe(Spec{Shape{3, 7, 7}});
  using Small = Kernel<Conv2d<2, 3, KernelSize<3>>, EigenCompute>;
  static_assert(Small::scratch(small) == Bytes{512 * 1024} && Small::scratch(large) == Bytes{4 * 32 * (27 + 6000)});
  CHECK((kernel_table<Net, CrossEntropy, SGD, EigenCompute>().workspace_bytes == EigenCompute::workspace.value + 512 * 1024));
  using Wide = Sequential<Input<3, 7, 7>, Conv2d<3, 3000, KernelSize<3>>, Conv2d<3000, 2, KernelSize<3>>, Flatten>;
  constexpr Leaf widest = Conv2d<3000, 2, KernelSize<3>>::describe(Spec{Shape{3000, 5, 5}});
  CHECK((kernel_table<Wide, MeanSquaredError, SGD, EigenCompute>().workspace_bytes == (EigenCompute::workspace + Small::scratch(widest)).value));
}

TEST_CASE("the step of the table is the step of the optimizer") {
  alignas(64) float through_table[16];
  alignas(64) float direct[16];
  alignas(64) float gradients[16];
  for (int i = 0; i < 16; ++i) {
    through_table[i] = direct[i] = static_cast<float>(i);
    gradients[i] = static_cast<float>(3 - i);
  }
  const SGD::Constants constants = SGD::constants({.learning_rate = 0.5}, 1);
  const KernelTable table = table_of<CrossEntropy, SGD>();
  table.step(&constants, 16, through_table, gradients, nullptr);
  OptimizerKernel<SGD, EigenCompute>::step(constants, 16, direct, gradients, nullptr);
  CHECK(std::vector<float>(through_table, through_table + 16) == std::vector<float>(direct, direct + 16));
  CHECK(through_table[0] == -1.5F);
  table.add(direct, through_table, gradients, 16);
  CHECK(direct[0] == 1.5F);
  table.copy(direct, gradients, 16);
  CHECK(direct[15] == -12.0F);
}

TEST_CASE("what joins two values has a kernel as a layer has, or is refused") {
  struct Unknown : Concat {
    using KernelLayer = Unknown;
  };
  struct Joined : Sequential<Linear<4, 4>, Branches<Concat, Tanh, Sequential<>>, Linear<8, 2>> {};
  struct Lacking : Sequential<Linear<4, 4>, Branches<Unknown, Tanh, Sequential<>>, Linear<8, 2>> {};
  const KernelTable table = kernel_table<Joined, CrossEntropy, SGD, EigenCompute>();
  using Joins = Kernel<ConcatAlong<graph_room::last_dimension>, EigenCompute>;
  CHECK((table.leaves[2].forward == &Joins::forward && table.leaves[2].backward == &Joins::backward));
  CHECK((table.leaves[3].forward == &Kernel<Linear<8, 2>, EigenCompute>::forward));
  CHECK(CheckedKernels<Joined, EigenCompute, true>::found.ok());
  CHECK(CheckedKernels<Lacking, EigenCompute, false>::found.code == Code{'G', 13});
}

namespace {

/// Tensors that lie elsewhere; its kernels count in host memory that stands for it.
struct CardMemory {};
struct CardCompute : EigenCompute {
  using Space = CardMemory;
  template <class L> struct KernelOf {
    static void forward(const ForwardCallIn<CardMemory>& call) { call.output[0] = call.input[0] + 1; }
    static void backward(const BackwardCallIn<CardMemory>& call) { call.input_gradient[0] = call.output_gradient[0] * 2; }
  };
  template <class Loss> struct LossKernelOf {
    static void sum(const LossCallIn<CardMemory>& call) { *call.loss = static_cast<float>(call.rows); }
  };
  template <class Optimizer> struct OptimizerKernelOf {
    static void step(const typename Optimizer::Constants* there, const StepCallIn<CardMemory>& call) {
      call.parameters[call.elements - 1] = there->learning_rate;
    }
  };
};
/// The same, but with the kernels of the host.
struct MistakenCompute : CardCompute {
  template <class L> struct KernelOf {
    static void forward(const ForwardCall&) {}
    static void backward(const BackwardCall&) {}
  };
};

}  // namespace

TEST_CASE("kernels for another memory are called with calls of that memory, and those of the host are refused there") {
  struct Net : Sequential<Linear<4, 4>, ReLU> {};
  const KernelTableIn<CardMemory> table = kernel_table<Net, MeanSquaredError, SGD, CardCompute>();
  float in = 2, out = 0;
  ForwardCallIn<CardMemory> forward;
  forward.input = &in;
  forward.output = &out;
  table.leaves[1].forward(forward);
  CHECK(out == 3.0F);
  BackwardCallIn<CardMemory> backward;
  backward.output_gradient = &in;
  backward.input_gradient = &out;
  table.leaves[1].backward(backward);
  CHECK(out == 4.0F);
  LossCallIn<CardMemory> loss;
  float sum = 0;
  loss.rows = 5;
  loss.loss = &sum;
  table.loss(loss);
  CHECK(sum == 5.0F);
  const SGD::Constants constants = SGD::constants({.learning_rate = 0.5}, 1);
  float parameters[16] = {};
  table.step(&constants, {16, parameters, parameters, nullptr});
  CHECK(parameters[15] == 0.5F);
  CHECK(table.on_host().leaves == nullptr);
  const auto with_reference = kernel_table<Net, MeanSquaredError, SGD, CardCompute, true, EigenCompute>();
  CHECK(with_reference.on_host().leaves != nullptr);
  CHECK(with_reference.on_host().states == 0);

  CHECK(CheckedKernels<Net, CardCompute, false>::found.ok());
  const Diagnosis mistaken = CheckedKernels<Net, MistakenCompute, false>::found;
  CHECK(mistaken.code == Code{'G', 13});
  CHECK(mistaken.words.view().find("is written for the memory of the host, and tensors lie in ") != std::string_view::npos);
  CHECK(std::is_same_v<KernelTable, decltype(kernel_table<Net, MeanSquaredError, SGD, EigenCompute>())>);
}

namespace {

/// Linear and the loss take values in bfloat16; a kernel that derives from that of Linear does not say so too.
template <class L> struct TakingKernel {
  static void forward(const ForwardCallIn<CardMemory>&) {}
  static void backward(const BackwardCallIn<CardMemory>&) {}
};
template <std::int64_t In, std::int64_t Out, class Bias> struct TakingKernel<Linear<In, Out, Bias>> {
  using TakesBFloat16 = TakingKernel;
  static constexpr bool backward_in_parts = true;
  template <class Value = float> static void forward(const ForwardCallIn<CardMemory>& call) { call.output[0] = sizeof(Value); }
  template <class Value = float> static void backward(const BackwardCallIn<CardMemory>& call) { call.input_gradient[0] = 10 * sizeof(Value); }
};
template <> struct TakingKernel<ReLU> : TakingKernel<Linear<4, 4>> {};
struct TakingCompute : CardCompute {
  template <class L> using KernelOf = TakingKernel<L>;
  template <class Loss> struct LossKernelOf {
    using TakesBFloat16 = LossKernelOf;
    template <class Value = float> static void sum(const LossCallIn<CardMemory>& call) { *call.loss = sizeof(Value); }
  };
};

}  // namespace

TEST_CASE("kernels that take bfloat16 are those of plans that keep values so, and of these alone") {
  struct Net : Sequential<Linear<4, 4>, ReLU, Tanh> {};
  float out = 0;
  ForwardCallIn<CardMemory> forward;
  forward.output = &out;
  BackwardCallIn<CardMemory> backward;
  backward.input_gradient = &out;
  LossCallIn<CardMemory> loss;
  loss.loss = &out;
  const auto asked = [&](const KernelTableIn<CardMemory>& table, int leaf) {
    table.leaves[leaf].forward(forward);
    const float first = out;
    table.leaves[leaf].backward(backward);
    return first + out;
  };
  const KernelTableIn<CardMemory> floats = kernel_table<Net, MeanSquaredError, SGD, TakingCompute>();
  CHECK(asked(floats, 0) == 44.0F);
  CHECK(!floats.leaves[0].takes_bfloat16);
  floats.loss(loss);
  CHECK(out == 4.0F);
  CHECK(!floats.loss_takes_bfloat16);
  const auto halves = kernel_table<Net, MeanSquaredError, SGD, TakingCompute, true, EigenCompute, ElementType::bfloat16>();
  CHECK(asked(halves, 0) == 22.0F);
  CHECK(halves.leaves[0].takes_bfloat16);
  CHECK(asked(halves, 1) == 44.0F);
  CHECK(!halves.leaves[1].takes_bfloat16);
  CHECK(!halves.leaves[2].takes_bfloat16);
  halves.loss(loss);
  CHECK(out == 2.0F);
  CHECK(halves.loss_takes_bfloat16);
  CHECK(!halves.on_host().leaves[0].takes_bfloat16);
}

/// One phase more than its kernel has.
struct Told {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Told";
    leaf.spelled << "Told";
    leaf.in = leaf.out = in;
    leaf.rows_together = 1;
    leaf.backward_phases.then_sum(2);
    return leaf;
  }
};
template <> struct heddle::Kernel<Told, EigenCompute> {
  static void forward(const ForwardCall&) {}
  static void backward(const BackwardCall&) {}
  static constexpr ForwardPhase forward_phases[] = {&forward, &forward};
  static constexpr BackwardPhase backward_phases[] = {&backward, &backward};
};

TEST_CASE("a kernel has a function for each phase of its leaf, and no other number of them") {
  using Joint = Sequential<Linear<4, 12>, Unflatten<3, 2, 2>, BatchNorm2d<3, Synchronised>, Flatten, Linear<12, 3>>;
  const KernelTable table = kernel_table<Joint, MeanSquaredError, SGD, EigenCompute>();
  CHECK((table.leaves[2].forward_phases == Kernel<BatchNorm2d<3, Synchronised>, EigenCompute>::forward_phases));
  CHECK((table.leaves[2].backward_phases == Kernel<BatchNorm2d<3, Synchronised>, EigenCompute>::backward_phases));
  CHECK((table.leaves[0].forward_phases == nullptr && table.leaves[0].backward_phases == nullptr));
  static_assert(CheckedKernels<Joint, EigenCompute, true>::found.ok());
  using Wrong = Sequential<Linear<4, 4>, Told, Linear<4, 3>>;
  CHECK(CheckedKernels<Wrong, EigenCompute, false>::found.sentence().view() ==
        "[heddle.G13] layer Told runs forward in 1 phase, but its kernel for EigenCompute in 2. Fix: give Kernel a static constexpr ForwardPhase "
        "forward_phases[] with a function for each phase, or let its describe state as many.");
}
