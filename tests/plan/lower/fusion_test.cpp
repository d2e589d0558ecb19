// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/fusion.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/layers/norm.hpp"
#include "heddle/plan/check/check.hpp"
#include "heddle/plan/lowered.hpp"
#include "heddle/plan/options/options.hpp"
#include "heddle/policy/sharded.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

/// The pairs of a body, by layer: "f0+1" is a forward of 0 with which that of 1 may run, "b" a backward, "i" one of the input alone, "s" a sum.
std::string pairs(const Program& p, const IndexRange& body) {
  std::string all;
  for (int e = body.begin; e < body.end; ++e) {
    const Entry& first = p.entries[e];
    if (!first.fused) continue;
    const char letter = first.what == BodyOp::leaf_forward          ? 'f'
                        : first.what == BodyOp::add                 ? 's'
                        : first.what == BodyOp::leaf_backward       ? 'b'
                        : first.what == BodyOp::leaf_backward_input ? 'i'
                                                                    : '?';
    all += letter + std::to_string(first.node) + '+' + std::to_string(p.entries[e + 1].node) + ' ';
  }
  return all;
}
std::string on(const Program& p, int chunk = 0) { return pairs(p, p.forward_bodies[chunk]); }
std::string back(const Program& p, int chunk = 0) { return pairs(p, p.backward_bodies[chunk]); }

struct Smooth : Sequential<Linear<8, 6>, GELU, Linear<6, 6>, Tanh, Linear<6, 3>> {};
struct Bare : Sequential<Linear<8, 6>, Linear<6, 6>, Linear<6, 3>> {};
struct Sums : Sequential<Linear<8, 6>, GELU, Linear<6, 6>, Tanh> {};
struct Tower : Sequential<Linear<8, 6>, Repeat<2, Block>, Linear<6, 3>> {};
struct Twice : Sequential<Linear<8, 6>, GELU, Tanh, ReLU, Linear<6, 3>> {};
struct Beside : Sequential<Linear<8, 6>, Linear<6, 6>, Residual<GELU>, Linear<6, 3>> {};
struct Normed : Sequential<Linear<8, 6>, Residual<Linear<6, 6>, ReLU>, LayerNorm<6>, Residual<RMSNorm<6>, Linear<6, 6>>, Linear<6, 3>> {};

}  // namespace

TEST_CASE("a layer and a function of each of its elements are a pair, forward, and backward with the function before") {
  using P = Trained<Smooth, Single>;
  CHECK(on(P::training) == "f0+1 f2+3 ");
  CHECK(back(P::training) == "b4+3 b2+1 ");
  CHECK(on(P::evaluation) == "f0+1 f2+3 ");
  CHECK(on(Trained<Bare, Single>::training) + back(Trained<Bare, Single>::training) == "");
}

TEST_CASE("every policy has the pairs whose entries stand side by side") {
  using Apart = Trained<Smooth, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>;
  CHECK(on(Apart::training, 0) + on(Apart::training, 1) == "f0+1 f2+3 ");
  CHECK(back(Apart::training, 0) + back(Apart::training, 1) == "i4+3 ");  // from 2 to 1 it goes by a transfer
  CHECK(pairs(Apart::training, Apart::training.weight_bodies[0]) == "");
  using Bucketed = Trained<Smooth, DataParallel<2>, Bucket<1_B>>;  // between the backwards of 4 and 3 a reduction starts
  CHECK(on(Bucketed::training) == "f0+1 f2+3 ");
  CHECK(back(Bucketed::training) == "");
  CHECK(back(Trained<Smooth, DataParallel<2>>::training) == "b4+3 b2+1 ");
  using Split = Trained<Sums, TensorParallel<3>>;  // 0 by columns, 2 by rows: what it gives is summed over ranks before 3 reads it
  CHECK(on(Split::training) == "f0+1 ");
  CHECK(on(Trained<Sums, Single>::training) == "f0+1 f2+3 ");
  using Again = Trained<Tower, Single, Recompute<EveryBlock>>;
  CHECK(on(Again::training) == "f1+2 f5+6 ");
  CHECK(back(Again::training) == "f5+6 b7+6 f1+2 b3+2 ");
}

TEST_CASE("an entry is in one pair at most") {
  using P = Trained<Twice, Single>;
  CHECK(on(P::training) == "f0+1 f2+3 ");
  CHECK(back(P::training) == "b4+3 b2+1 ");
}

TEST_CASE("a sum and the norm that reads it are a pair; a sum that another layer reads is none") {
  using P = Trained<Normed, Single>;
  CHECK(on(P::training) == "f1+2 s3+4 ");
}

TEST_CASE("no entry is in a pair that would write over what the other one still reads") {
  // In an evaluation the value that layer 1 reads is nobody's when it has run: what layer 2 gives lies there. In training all are kept.
  const Program& p = Trained<Beside, Single>::evaluation;
  const Entry& first = p.entries[p.forward_bodies[0].begin + 2];
  REQUIRE(first.node == 1);
  CHECK((&first)[1].d == first.a);
  CHECK(on(p) == "");
  CHECK(on(Trained<Beside, Single>::training) == "f1+2 ");
}

TEST_CASE("a request that asks for no pairs has none, and the same entries beside") {
  LoweringRequest request = request_of<Trained<Normed, Single>>();
  const LoweredPlan fused = lower(request);
  request.fuses = false;
  const LoweredPlan apart = lower(request);
  CHECK(check(fused).ok());
  CHECK(check(apart).ok());
  CHECK(on(apart.training()) + back(apart.training()) == "");
  CHECK(on(fused.training()) != "");
  CHECK(fused.training().arenas[0].total == apart.training().arenas[0].total);
  for (int e = 0; e < fused.training().backward_bodies[0].end; ++e) {
    CHECK(fused.training().entries[e].what == apart.training().entries[e].what);
    CHECK(fused.training().entries[e].d == apart.training().entries[e].d);
  }
}
