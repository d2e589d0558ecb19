// SPDX-License-Identifier: MIT
// Models with norms, whose forward leaves statistics for the backward: every policy has the bits of one device, and split sequences its numbers.
#include <doctest/doctest.h>

#include "equivalence/every_policy.hpp"

using namespace heddle;

namespace {

/// Norms first, inside of blocks, without and with a bias, and in front of a loss.
struct Inner : Residual<RMSNorm<16, Epsilon<6>>, Linear<16, 19>, GELU, Linear<19, 16, NoBias>> {};
struct Normed : Sequential<LayerNorm<23>, Linear<23, 16>, Repeat<3, Inner>, LayerNorm<16, NoBias>, Linear<16, 10>, LayerNorm<10>> {};
/// What is frozen passes a gradient on, and reads its statistics for it; what lies in front of all trained layers leaves none.
struct Adapted
    : Sequential<Frozen<Sequential<LayerNorm<23>, Linear<23, 16>>>, LayerNorm<16>, Linear<16, 16>, Frozen<RMSNorm<16>>, Tanh, Linear<16, 10>> {};

template <class Model, class... Parts> using Of = Plan<Model, CrossEntropy, AdamW, Batch<32, KeepLast>, Grain<2>, Parts...>;
template <class Order> using Two = equivalence::TwoStages<Order>;

}  // namespace

TEST_CASE("norms anywhere in a model have the bits of one device under every policy") {
  equivalence::check_every_policy<Of, Normed>();
  equivalence::check_same_bits_as_data<Of<Normed, Single, Recompute<LayerNorm<16, NoBias>, RMSNorm<16, Epsilon<6>>, GELU>>, Of<Normed, Single>>();
}
TEST_CASE("frozen norms, and norms that run no backward, do so too") {
  using Alone = Of<Adapted, Single>;
  equivalence::check_same_bits_as_data<Of<Adapted, Recompute<LayerNorm<16>, RMSNorm<16>>, Single>, Alone>();
  equivalence::check_same_bits_as_data<Of<Adapted, DataParallel<4>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Adapted, Sharded<2>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Adapted, Two<OneFOneB>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Adapted, Two<ZeroBubbleH1>>, Alone>();
}

TEST_CASE("a norm in a residual of split sequences has its gradient until the weight part of a split backward has read it") {
  struct Net : Sequential<Input<6, 4>, Linear<4, 4>, Residual<LayerNorm<4>>, Branches<Add, LayerNorm<4>, RMSNorm<4>>, Flatten, Linear<24, 4>> {};
  using Split = Hybrid<TensorParallel<2, SequenceParallel>, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>;
  using Zero = Plan<Net, CrossEntropy, Adam, Batch<32>, Split>;
  const auto data = equivalence::rows_of<Zero>(32);
  CHECK(verify<Zero, CpuThreads>(data.batch(0, 32), Seed{3}, 2e-5).text == "");
}

TEST_CASE("statistics are kept for a backward alone: an evaluation has none, nor what runs no backward, and what runs again makes its own") {
  const auto written = [](const Program& p, const IndexRange* bodies) {
    int count = 0;
    for (int c = 0; c < p.chunks; ++c)
      for (int e = bodies[c].begin; e < bodies[c].end; ++e) count += p.entries[e].what == BodyOp::leaf_forward && p.entries[e].e.set() ? 1 : 0;
    return count;
  };
  const auto plain = equivalence::as_data<Of<Normed, Single>>();
  CHECK(written(plain.training(), plain.training().forward_bodies) == 6);
  CHECK(written(plain.evaluation(), plain.evaluation().forward_bodies) == 0);
  const auto adapted = equivalence::as_data<Of<Adapted, Single>>();
  CHECK(written(adapted.training(), adapted.training().forward_bodies) == 2);  // not the norm in front
  const auto again = equivalence::as_data<Of<Normed, Single, Recompute<RMSNorm<16, Epsilon<6>>>>>();
  CHECK(written(again.training(), again.training().forward_bodies) == 3);
  CHECK(written(again.training(), again.training().backward_bodies) == 3);
}
