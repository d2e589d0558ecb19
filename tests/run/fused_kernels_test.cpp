// SPDX-License-Identifier: MIT
#include "heddle/run/fused_kernels.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

namespace {

/// Its Linear and LayerNorm derive from those of EigenCompute and say nothing of tails or sums: each entry runs by itself.
struct Apart : EigenCompute {};
/// Its Linear counts what it is given.
struct Counted : EigenCompute {
  static inline std::atomic<int> alone = 0, tails = 0, back_tails = 0;
};

}  // namespace

template <std::int64_t In, std::int64_t Out, class Bias>
struct heddle::Kernel<graph_room::Linear<In, Out, Bias>, Apart> : Kernel<graph_room::Linear<In, Out, Bias>, EigenCompute> {};
template <std::int64_t Features, class... Options>
struct heddle::Kernel<graph_room::LayerNorm<Features, Options...>, Apart> : Kernel<graph_room::LayerNorm<Features, Options...>, EigenCompute> {};
template <std::int64_t In, std::int64_t Out, class Bias>
struct heddle::Kernel<graph_room::Linear<In, Out, Bias>, Counted> : Kernel<graph_room::Linear<In, Out, Bias>, EigenCompute> {
  using Before = Kernel<graph_room::Linear<In, Out, Bias>, EigenCompute>;
  using TakesTail = Kernel;
  static void forward(const ForwardCall& call) {
    ++Counted::alone;
    Before::forward(call);
  }
  static void forward_with_tail(const ForwardCall& call, const Tail& tail) {
    ++Counted::tails;
    Before::forward_with_tail(call, tail);
  }
  static void backward_with_tail(const BackwardCall& call, const Tail& tail) {
    ++Counted::back_tails;
    Before::backward_with_tail(call, tail);
  }
};

namespace {

template <class C> struct OnThreads : CpuThreads { using Compute = C; };

// Products of several tiles, with sides that fill no block.
struct Model : Sequential<Linear<20, 37>, GELU, Linear<37, 270>, ReLU, Residual<Linear<270, 19>, Tanh, Linear<19, 270>>, LayerNorm<270>,
                          Residual<Linear<270, 270>, Sigmoid>, LayerNorm<270>, Linear<270, 10>> {};
template <class Policy, class... Options> using Of = Plan<Model, CrossEntropy, Adam, Batch<32, KeepLast>, Policy, Options...>;

Examples<std::int32_t> rows(std::vector<float>& inputs, std::vector<std::int32_t>& labels, int count) {
  for (int i = 0; i < count; ++i) {
    for (int j = 0; j < 20; ++j) inputs.push_back(static_cast<float>((37 * i + 101 * j + i * j) % 127 - 60) / 64.0F);
    labels.push_back((7 * i + 3) % 10);
  }
  return examples(inputs, labels, 20);
}

struct Nobody : Observer {};

/// The bits with which some steps end: parameters, and what a prediction then gives.
template <class ThePlan, class C> std::vector<std::uint64_t> ends(bool watched = false) {
  Trainer<ThePlan, OnThreads<C>> trainer{{.learning_rate = 1e-2F}, Seed{3}};
  Nobody nobody;
  if (watched) trainer.observe(&nobody);
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  const auto all = rows(inputs, labels, 32);
  for (const int count : {32, 32, 27, 1}) trainer.step(all.slice(0, count));
  std::vector<std::uint64_t> bits{trainer.parameter_hash()};
  for (const float y : trainer.predict(inputs)) bits.push_back(__builtin_bit_cast(std::uint32_t, y));
  trainer.observe(nullptr);
  return bits;
}
template <class ThePlan> void same_bits_apart() {
  const std::vector<std::uint64_t> fused = ends<ThePlan, EigenCompute>();
  CHECK(fused == ends<ThePlan, Apart>());
  CHECK(fused == ends<ThePlan, EigenCompute>(true));
}
int pairs(const Program& p, const IndexRange& body, BodyOp what) {
  int count = 0;
  for (int e = body.begin; e < body.end; ++e) count += p.entries[e].fused && p.entries[e].what == what ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("fused or not, no bit of a plan changes: every policy, order and option") {
  same_bits_apart<Of<Single>>();
  same_bits_apart<Of<Single, Grain<8>, Accumulate<2>>>();
  same_bits_apart<Of<DataParallel<2>, Recompute<GELU, LayerNorm<270>>>>();
  same_bits_apart<Of<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>>();
  same_bits_apart<Of<Sharded<2>>>();
  same_bits_apart<Of<TensorParallel<2>>>();
}

TEST_CASE("a kernel that takes a tail is given one where entries are fused, once for each grain, and where nobody watches") {
  using P = Of<Single, Grain<8>>;
  const Program& p = P::training;
  const int forwards = pairs(p, p.forward_bodies[0], BodyOp::leaf_forward), backwards = pairs(p, p.backward_bodies[0], BodyOp::leaf_backward);
  REQUIRE(forwards == 4);
  REQUIRE(backwards > 0);
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  const auto all = rows(inputs, labels, 32);
  Trainer<P, OnThreads<Counted>> trainer{{}, Seed{3}};
  const auto seen = [&] {
    Counted::alone = Counted::tails = Counted::back_tails = 0;
    trainer.step(all);
    return std::vector<int>{Counted::alone, Counted::tails, Counted::back_tails};
  };
  CHECK(seen() == std::vector<int>{2 * 4, forwards * 4, backwards * 4});  // two of the six layers have none behind them
  Nobody nobody;
  trainer.observe(&nobody);
  CHECK(seen() == std::vector<int>{6 * 4, 0, 0});
  trainer.observe(nullptr);
}

TEST_CASE("a kernel says by its own name what it can, so one that derives from it and has another forward does not") {
  using L = Linear<4, 3>;
  static_assert(TakesTail<L, EigenCompute> && TakesTail<L, Counted> && !TakesTail<L, Apart> && !TakesTail<GELU, EigenCompute>);
  static_assert(RunsInTail<GELU, EigenCompute> && RunsInTail<ReLU, Apart> && !RunsInTail<L, EigenCompute> &&
                !RunsInTail<Dropout<1, 2>, EigenCompute>);
  static_assert(TakesSum<LayerNorm<4>, EigenCompute> && TakesSum<RMSNorm<4>, Apart> && !TakesSum<LayerNorm<4>, Apart>);
  const KernelTable fused = kernel_table<Model, CrossEntropy, Adam, EigenCompute>(), apart = kernel_table<Model, CrossEntropy, Adam, Apart>();
  using P = Of<Single>;
  RankTensors tensors(P::training, Rank{0});
  HostWork work{fused};
  KernelOperands<HostWork> operands{P::training, tensors, work};
  bool second_runs = false;
  for (int e = P::training.forward_bodies[0].begin; e < P::training.forward_bodies[0].end; ++e) {
    const Entry& first = P::training.entries[e];
    if (!first.fused) continue;
    CHECK(FusedKernels<HostWork>{P::training, fused, operands, work, first, (&first)[1], second_runs}.there());
    CHECK_FALSE(FusedKernels<HostWork>{P::training, apart, operands, work, first, (&first)[1], second_runs}.there());
  }
}

TEST_CASE("what is thrown is told of the layer that threw, also where that runs in the tail of another") {
  struct Fragile {
    static constexpr Leaf describe(Spec in) { return elementwise("Fragile", in, 1); }
    static float forward(float x) { return x > 1 ? throw std::runtime_error("the table ends at 1") : x; }
    static float backward(float, float gradient) { return gradient; }
  };
  struct Breaks : Sequential<Named<"in", Linear<1, 1, NoBias>>, Fragile, Linear<1, 1>> {};
  using P = Plan<Breaks, MeanSquaredError, SGD, Batch<4>, Single>;
  static_assert(P::training.entries[P::training.forward_bodies[0].begin + 1].fused);
  Trainer<P, CpuThreads> trainer{{}, Seed{1}};
  trainer.set_parameter("in.weight", std::vector<float>{2});
  const std::vector<float> small{0, 0, 0, 0}, large{0, 0, 1, 0};
  trainer.step(examples(small, small, 1));
  CHECK_THROWS_WITH_AS(trainer.step(examples(large, small, 1)), doctest::Contains("the forward of layer 1 '1' Fragile threw: the table ends at 1"),
                       HeddleError);
}
