// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <vector>

#include "heddle/heddle.hpp"
#include "oracle/schedules.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

struct Deep : Sequential<Linear<8, 8>, Tanh, Linear<8, 8>, Tanh, Residual<Linear<8, 8>, Tanh>, Linear<8, 4>> {};
template <class... Parts> using Cut = Plan<Deep, CrossEntropy, SGD, Batch<64>, Pipeline<Parts...>>;
// A value skips the device between, and goes back to the first.
using Back = Plan<Deep, CrossEntropy, SGD, Batch<64>,
                  Pipeline<Stage<Sequential<Linear<8, 8>, Tanh>, On<0>>, Stage<Sequential<Linear<8, 8>, Tanh>, On<1>>,
                           Stage<Sequential<Residual<Linear<8, 8>, Tanh>, Linear<8, 4>>, On<0>>, GPipe, Microbatches<8>>>;

// Three stages use the parameters of one leaf, two those of another: their gradients cross after all else.
using Square = Linear<8, 8>;
struct Woven : Sequential<Named<"a", Square>, Tanh, Named<"b", Square>, Tied<"c", Square, To<"a">>, Tanh, Linear<8, 8>, Tied<"d", Square, To<"b">>,
                          Tanh, Tied<"e", Square, To<"a">>, Linear<8, 4>> {};
template <class... Parts> using Ties = Plan<Woven, CrossEntropy, SGD, Batch<64>, Pipeline<Parts...>>;

/// The sends and receives of a program, as the executor walks them.
RoleLists lists_of(const Program& p) {
  RoleLists lists(at(p.roles));
  for (int r = 0; r < p.roles; ++r) {
    std::vector<int> start_of_token;
    for (int i = p.lists[r].begin; i < p.lists[r].end; ++i) {
      if (p.instructions[i].transfer < 0) continue;
      const ProgramLists view{&p, nullptr, p.roles};
      Event e{view.kind(i), view.peer(i), -1, view.elements(i)};
      const auto token = at(p.instructions[i].token);
      start_of_token.resize(std::max(start_of_token.size(), token + 1), -1);
      if (is_start(e))
        start_of_token[token] = static_cast<int>(lists[at(r)].size());
      else
        e.start = start_of_token[token];
      lists[at(r)].push_back(e);
    }
  }
  return lists;
}

template <class ThePlan> void agrees() {
  Random random{109401};
  for (const Program* p : {&lower<ThePlan>(), &ThePlan::evaluation}) {
    const RoleLists lists = lists_of(*p);
    for (const Lanes lanes : {Lanes::free, Lanes::per_communicator, Lanes::one_per_device})
      for (int timing = 0; timing < 20; ++timing) CHECK(Chance{lists, lanes}.run(random) == 0);
    Agreement agreement;
    for (const Slip slip : all_slips)
      for (int n = 0; n < 50; ++n) {
        RoleLists corrupted = lists;
        corrupt(corrupted, slip, random);
        agreement.compare(corrupted, random);
      }
    CHECK(agreement.disagreements == 0);
    CHECK(agreement.stuck + agreement.mismatched > 0);
  }
}

}  // namespace

TEST_CASE("the lists of plans end under every timing and lane model, and a slip in them gets the verdict that it has") {
  agrees<Cut<Balanced<2>, OneFOneB, Microbatches<8>>>();
  agrees<Cut<Balanced<4>, OneFOneB, Microbatches<8>>>();
  agrees<Cut<Balanced<4>, GPipe, Microbatches<8>>>();
  agrees<Cut<Balanced<3>>>();
  agrees<Back>();
  agrees<Cut<Balanced<2>, Interleaved<2>, Microbatches<8>>>();
  agrees<Cut<Balanced<2>, Interleaved<3>, Microbatches<4>>>();
  agrees<Cut<Balanced<4>, ZeroBubbleH1, Microbatches<8>>>();
  static_assert(Ties<Balanced<3>, OneFOneB, Microbatches<4>>::training.use_count == 5);
  agrees<Ties<Balanced<3>, OneFOneB, Microbatches<4>>>();
  agrees<Ties<Balanced<2>, Interleaved<2>, Microbatches<4>>>();
}
