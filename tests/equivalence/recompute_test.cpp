// SPDX-License-Identifier: MIT
// What runs again gives the bits that were not kept: every policy with Recompute against one device without it.
#include "equivalence/training_properties.hpp"

using namespace equivalence;

namespace {

/// An own layer with a parameter, whose backward reads its input and its output.
struct Squash {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Squash";
    leaf.spelled << "Squash";
    leaf.in = leaf.out = in;
    leaf.saves = Saves::both;
    leaf.forward_flops = leaf.backward_flops = 8 * in.elements();
    return leaf.with({Text<16>{"gain"}, Shape{1}, Initial::ones});
  }
};

}  // namespace

namespace heddle {
template <> struct Kernel<Squash, EigenCompute> {
  static constexpr bool backward_in_parts = true;
  static void forward(const ForwardCall& call) {
    for (std::int64_t i = 0; i < call.rows * call.leaf->in.elements(); ++i) call.output[i] = std::tanh(call.parameters[0][0] * call.input[i]);
  }
  static void backward(const BackwardCall& call) {
    float sum = 0;
    for (std::int64_t i = 0; i < call.rows * call.leaf->in.elements(); ++i) {
      const float slope = (1 - call.output[i] * call.output[i]) * call.output_gradient[i];
      sum += call.input[i] * slope;
      if (call.input_gradient != nullptr) call.input_gradient[i] = call.parameters[0][0] * slope;
    }
    if (call.parameter_gradients != nullptr) call.parameter_gradients[0][0] = call.add ? call.parameter_gradients[0][0] + sum : sum;
  }
};
}  // namespace heddle

namespace {

struct Inner : Sequential<Residual<Squash, Linear<16, 19>, GELU, Named<"back", Linear<19, 16, NoBias>>, Tanh>, Unflatten<4, 4>, Linear<4, 4>, ReLU,
                          Residual<Residual<>, Sigmoid>, Flatten> {};
struct Deep : Sequential<Linear<23, 16>, Named<"blocks", Residual<Repeat<5, Inner>>>, Sigmoid, Linear<16, 10>> {};
struct Line : Sequential<Linear<23, 16>, Repeat<5, Block>, Sigmoid, Linear<16, 10>> {};
template <class Model, class... Parts> using Of = Plan<Model, CrossEntropy, Adam, Batch<32, KeepLast>, Grain<2>, Bucket<1_KiB>, Parts...>;

template <class Model> [[nodiscard]] const Trained& alone() {
  static const Trained made = train_and_check<Of<Model, Single>>(32, 21);
  return made;
}
/// Every property of training under these parts, and the bits of one device that keeps everything.
template <class Model, class... Parts> void holds() {
  using P = Of<Model, Parts...>;
  const Trained got = train_and_check<P>(32, 21);
  check_same_training(got, alone<Model>());
  for (const float loss : got.losses) CHECK(std::isfinite(loss));
  CHECK(flops_run_again(P::training) > Flops{0});
}
template <class OfPlan> void data_holds(const PlanAsData& plan, const Trained& alone) {
  const Trained got = train_and_check_data<OfPlan>(plan, 32, 21);
  check_same_training(got, alone);
  for (const float loss : got.losses) CHECK(std::isfinite(loss));
  CHECK(flops_run_again(plan.training()) > Flops{0});
}
/// The same of a plan that the test lowers while it runs.
template <class Model, class... Parts> void holds_as_data() {
  using P = Of<Model, Parts...>;
  data_holds<TypesOf<P>>(as_data<P>(), alone<Model>());
}

}  // namespace

TEST_CASE("blocks, layers of a type and layers of a name that run again give the bits of one device that keeps everything") {
  holds<Deep, Single, Recompute<EveryBlock>>();
  holds_as_data<Deep, Single, Recompute<GELU, Squash>>();
  holds_as_data<Deep, Single, Recompute<Only<"back">, Sigmoid, ReLU>>();
  holds_as_data<Deep, Single, Recompute<EveryBlock, Sigmoid, Linear<23, 16>>, Accumulate<4>>();
  CHECK(peak_memory<Of<Deep, Single, Recompute<EveryBlock>>>() < peak_memory<Of<Deep, Single>>());
}

TEST_CASE("replicas and slices of every kind that run blocks again have the bits of one device") {
  holds<Deep, DataParallel<2>, Recompute<EveryBlock>>();
  holds_as_data<Deep, Sharded<2, OptimizerState>, Recompute<EveryBlock>>();
  holds_as_data<Deep, Sharded<2, Gradients>, Recompute<EveryBlock>, Accumulate<2>>();
  holds_as_data<Deep, Sharded<4>, Recompute<EveryBlock>>();
  holds_as_data<Deep, Sharded<2>, Recompute<Squash, Linear<16, 19>, GELU, Only<"back">>>();
  holds_as_data<Deep, Sharded<2>, Recompute<EveryBlock, Linear<23, 16>, Sigmoid, Linear<16, 10>>>();
  holds_as_data<Deep, Hybrid<Sharded<2>, DataParallel<2>>, Recompute<EveryBlock>, Accumulate<2>>();
}

TEST_CASE("stages that run blocks again have the bits of one device, in every order") {
  holds<Line, Pipeline<Balanced<2>>, Recompute<EveryBlock>>();
  holds_as_data<Line, Pipeline<Balanced<3>, GPipe, Microbatches<4>>, Recompute<EveryBlock>>();
  holds_as_data<Line, Pipeline<Balanced<2>, OneFOneB, Microbatches<8>>, Recompute<EveryBlock>>();
  holds_as_data<Line, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>, Recompute<EveryBlock, Sigmoid>>();
  holds_as_data<Line, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, Recompute<EveryBlock>>();
  holds_as_data<Line, Pipeline<Balanced<4>, ZeroBubbleH1, Microbatches<8>>, Recompute<GELU>>();
  holds_as_data<Deep, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, Recompute<EveryBlock>, Accumulate<2>>();
}

TEST_CASE("products that run blocks again have the bits of one device") {
  holds<Line, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, Sharded<2>>, Recompute<EveryBlock>>();
  holds_as_data<Line, Hybrid<DataParallel<2>, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<2>>, Sharded<2, Gradients>>,
                Recompute<EveryBlock>>();
  holds_as_data<Line, Hybrid<Pipeline<Balanced<3>, ZeroBubbleH1, Microbatches<4>>, Sharded<2, OptimizerState>>, Recompute<EveryBlock>>();
  holds_as_data<Line, Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, Sharded<2>>, Recompute<EveryBlock>>();
  holds_as_data<Line, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, Sharded<2, Keep::Step>>, Recompute<EveryBlock>>();
}

namespace {

/// Norms and parameters after some steps that clip some gradients.
template <class P> std::pair<std::vector<float>, std::uint64_t> clipped() {
  const auto rows = rows_of<P>(64);
  Trainer<P, CpuThreads> trainer{settings<Adam>(), Seed{5}};
  trainer.clip().max_norm = 0.3;
  std::vector<float> norms;
  for (int step = 0; step < steps; ++step) norms.push_back(trainer.step(rows.batch(step, 32)).norm.value());
  return {norms, trainer.parameter_hash()};
}

}  // namespace

TEST_CASE("norms of gradients that come from what ran again are those of one device") {
  const auto wanted = clipped<Of<Line, Single, Clip<GlobalNorm>>>();
  const auto got = clipped<Of<Line, Sharded<2>, Clip<GlobalNorm>, Recompute<EveryBlock>>>();
  CHECK(equal_bits(got.first, wanted.first));
  CHECK(got.second == wanted.second);
}

// ---- axis tensor: products are added in another order than on one device, so the plan that keeps everything is what is compared with.
namespace {

struct Halves : Sequential<Residual<Linear<16, 24>, GELU, Linear<24, 16>>, Linear<16, 16>, Tanh, Linear<16, 16>, Residual<Tanh>> {};
struct Stack : Sequential<Linear<23, 16>, Repeat<3, Halves>, Linear<16, 10>> {};
struct Inside : Sequential<Residual<Linear<12, 24>, GELU, Linear<24, 12>>, Residual<Linear<12, 12>, Tanh, Linear<12, 12, NoBias>>> {};
struct Steps : Sequential<Input<6, 23>, Linear<23, 12>, Repeat<3, Inside>, Tanh, Flatten, Linear<72, 10>> {};

/// What was trained, each step with its first replica alone.
Trained with_one_replica(Trained wanted) {
  for (std::size_t step = 0; step < wanted.parameters.size(); ++step) {
    wanted.parameters[step].resize(1);
    wanted.gradients[step].resize(1);
  }
  return wanted;
}
template <class Model, class Policy, class Again = Recompute<EveryBlock>> void same_with_and_without() {
  const Trained wanted = with_one_replica(train_and_check<Of<Model, Policy>>(32, 21));
  using P = Of<Model, Policy, Again>;
  check_same_training(train_and_check<P>(32, 21), wanted);
  CHECK(flops_run_again(P::training) > Flops{0});
}
template <class OfPlan> void data_is_same(const PlanAsData& kept, const PlanAsData& again) {
  const Trained wanted = with_one_replica(train_and_check_data<OfPlan>(kept, 32, 21));
  check_same_training(train_and_check_data<OfPlan>(again, 32, 21), wanted);
  CHECK(flops_run_again(again.training()) > Flops{0});
}
/// The same of plans that the test lowers while it runs.
template <class Model, class Policy, class Again = Recompute<EveryBlock>> void same_with_and_without_as_data() {
  using Kept = Of<Model, Policy>;
  data_is_same<TypesOf<Kept>>(as_data<Kept>(), as_data<Of<Model, Policy, Again>>());
}

}  // namespace

TEST_CASE("split layers that run again have the bits of the same plan that keeps everything, and send what is stated") {
  same_with_and_without<Stack, TensorParallel<2>>();
  same_with_and_without_as_data<Stack, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>();
  same_with_and_without_as_data<Stack, Hybrid<TensorParallel<2>, Sharded<2>>>();
  same_with_and_without_as_data<Steps, TensorParallel<2, SequenceParallel>>();
  same_with_and_without_as_data<Steps, Hybrid<TensorParallel<2, SequenceParallel>, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>>();
  same_with_and_without_as_data<Stack, TensorParallel<4>, Recompute<GELU>>();
  same_with_and_without_as_data<Stack, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>>();
}

TEST_CASE("a sum over axis tensor inside what runs again is taken once more for each micro-batch, and a last one that nobody reads is not") {
  using Kept = Of<Stack, TensorParallel<2>>;
  using Again = Of<Stack, TensorParallel<2>, Recompute<EveryBlock>>;
  const auto sums = [](const Traffic& t) { return t.value_collectives(0, BodyOp::reduce_value); };
  // A block has two sums forward: of the Residual's last Linear, which the layers behind it read, and of the last Linear before Residual<Tanh>.
  CHECK(sums(traffic<Again>()) > sums(traffic<Kept>()));
  struct Mlp : Sequential<Linear<23, 16>, Repeat<3, Residual<Linear<16, 24>, GELU, Linear<24, 16>>>, Linear<16, 10>> {};
  CHECK(sums(traffic<Of<Mlp, TensorParallel<2>, Recompute<EveryBlock>>>()) == sums(traffic<Of<Mlp, TensorParallel<2>>>()));
}
