// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/fitted_cut.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "heddle/graph/frozen.hpp"
#include "heddle/plan/lower/fitted_layout.hpp"
#include "heddle/plan/lowered.hpp"
#include "heddle/policy/sharded.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

/// What Pipe answers, cut before piece A and, with three stages, before piece B.
template <class Pipe, int A, int B> struct CutAt {
  static constexpr void answer(const Graph& graph, Layout& layout) {
    Pipe::answer(graph, layout);
    const BalancedCut<64> cut{graph, layout.chunk_count};
    layout.first_node[1] = cut.piece_node[A];
    if (layout.chunk_count > 2) layout.first_node[2] = cut.piece_node[B];
    layout.balanced = false;
  }
};

/// A cut that was really lowered.
struct Made {
  std::vector<int> first_node;
  std::int64_t largest = 0;  // bytes of the largest stage
  std::int64_t slowest = 0;  // flops of the slowest
};

template <class Request> Made measured(const Layout& layout) {
  Made made;
  for (int c = 0; c < layout.chunk_count; ++c) {
    std::int64_t flops = 0;
    for (int n = layout.first_node[c]; n < layout.first_node[c + 1]; ++n) flops += Request::graph.flops(n);
    made.slowest = std::max(made.slowest, flops);
    made.first_node.push_back(layout.first_node[c]);
  }
  return made;
}

/// As the lowering is given it, for a budget that is no part of the type.
template <class Request> Layout fit_cut(std::int64_t budget) {
  using Account = CutAccount<Request>;
  if (Account::fits(Request::answered, budget)) return Request::answered;
  const auto best = Account::best(budget);
  return Account::cut(best.found ? best : Account::smallest());
}

/// All cuts between which one value passes, each lowered; with two stages the second place does not count.
template <class Model, class Pipe, class Outer> struct AllCuts {
  static constexpr const Graph& graph = graph_of<Model>;
  static constexpr int pieces = BalancedCut<64>{graph, 1}.pieces;
  template <class Policy> using RequestFor = RequestOf<Plan<Model, CrossEntropy, Adam, Batch<512>, Hybrid<Policy, Outer>>>;
  using Balanced = RequestFor<Pipe>;
  static constexpr int chunks = Balanced::answered.chunk_count;
  std::vector<Made> made;

  template <int K> void lower_one() {
    constexpr int a = 1 + K / pieces;
    constexpr int b = K % pieces;
    if constexpr (a < pieces && (chunks == 2 ? b == 0 : b > a)) {
      using Request = RequestFor<CutAt<Pipe, a, b>>;
      made.push_back(measured<Request>(Request::layout));
      const LoweredPlan plan = lower(request_of<Request>());  // while this program runs: compilers lower the same, more slowly
      const Program& p = plan.training();
      REQUIRE(p.roles == Request::layout.roles());
      for (int role = 0; role < p.roles; ++role) made.back().largest = std::max(made.back().largest, p.arenas[role].total);
    }
  }
  template <int... K> void lower_all(std::integer_sequence<int, K...>) { (lower_one<K>(), ...); }
  AllCuts() { lower_all(std::make_integer_sequence<int, pieces * pieces>{}); }

  [[nodiscard]] const Made& same(const Layout& layout) const {
    const Made wanted = measured<Balanced>(layout);
    return *std::find_if(made.begin(), made.end(), [&](const Made& m) { return m.first_node == wanted.first_node; });
  }
  /// Budgets that exactly one more cut keeps than the one before; one byte less keeps it out. `moves`: some of them do not keep the cut of flops
  /// alone. Returns the number of budgets.
  int compare(bool moves) const {
    int moved = 0;
    std::int64_t least = made.front().largest;
    for (const Made& m : made) least = std::min(least, m.largest);
    const auto check = [&](std::int64_t budget) {
      CAPTURE(budget);
      const Made& chosen = same(fit_cut<Balanced>(budget));
      if (budget < least) {
        CHECK(chosen.largest == least);
        return;
      }
      CHECK(chosen.largest <= budget);
      std::int64_t best = INT64_MAX;
      for (const Made& m : made)
        if (m.largest <= budget) best = std::min(best, m.slowest);
      CHECK(chosen.slowest == best);
    };
    for (const Made& m : made) {
      check(m.largest);
      check(m.largest - 1);
      if (same(fit_cut<Balanced>(m.largest)).first_node != measured<Balanced>(Balanced::answered).first_node) ++moved;
    }
    check(INT64_MAX);
    CHECK(same(fit_cut<Balanced>(INT64_MAX)).slowest == same(Balanced::answered).slowest);
    CHECK((moved > 0) == moves);
    return static_cast<int>(2 * made.size());
  }
};

/// Few operations and much that is saved in front, the other way round behind.
struct Wide : Sequential<Linear<4, 256>, GELU, Linear<256, 8>, Linear<8, 64>, Linear<64, 64>, ReLU, Linear<64, 10>> {};
/// Wide, of which the front is frozen.
struct Headed : Sequential<Frozen<Sequential<Linear<4, 256>, GELU, Linear<256, 64>, Tanh>>, Linear<64, 64>, ReLU, Linear<64, 10>> {};
struct Deep : Sequential<Linear<20, 24>, Repeat<6, Residual<Linear<24, 40>, GELU, Linear<40, 24>>>, Tanh, Linear<24, 10>> {};

}  // namespace

TEST_CASE("of all cuts that fit, really lowered, the one with the fastest slowest stage is chosen: every budget at which one more fits") {
  int cases = AllCuts<Wide, Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>, Single>{}.compare(true);
  cases += AllCuts<Wide, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, Sharded<2, OptimizerState>>{}.compare(true);
  cases += AllCuts<Wide, Pipeline<Balanced<2>>, Sharded<2, Gradients>>{}.compare(true);
  cases += AllCuts<Wide, Pipeline<Balanced<3>, GPipe, Microbatches<4>>, Sharded<2>>{}.compare(true);
  cases += AllCuts<Deep, Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>, Single>{}.compare(false);
  // A stage that is frozen as a whole has no room for gradients: a budget of what it needs without them is enough.
  cases += AllCuts<Headed, Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>, Single>{}.compare(true);
  cases += AllCuts<Headed, Pipeline<Balanced<2>, GPipe, Microbatches<4>>, Sharded<2>>{}.compare(true);
  CHECK(cases >= 60);
}

TEST_CASE("memory moves the cut of flops alone, which would not fit; where nothing fits the sentence speaks of the best cut") {
  using Pipe = Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>;
  using Free = Plan<Wide, CrossEntropy, Adam, Batch<512>, Pipe>;
  using Tight = Plan<Wide, CrossEntropy, Adam, Batch<512>, Pipe, Memory<1'000'000_B>>;
  using Kept = Plan<Wide, CrossEntropy, Adam, Batch<512>, CutAt<Pipe, 4, 5>, Memory<1'000'000_B>>;
  static_assert(Free::Request::layout.first_node[1] == 4 && Free::Request::layout.first_node[2] == 5);
  static_assert(peak_memory<Free>() > 1'000'000_B);
  static_assert(check<Kept>().code == Code{'C', 1});
  static_assert(check<Tight>().ok());
  static_assert(Tight::Request::layout.first_node[1] == 2 && Tight::Request::layout.first_node[2] == 4);
  static_assert(peak_memory<Tight>() == 956'416_B);
  constexpr Diagnosis none = check<Plan<Wide, CrossEntropy, Adam, Batch<512>, Pipe, Memory<900'000_B>>>();
  CHECK(none.code == Code{'C', 1});
  CHECK(none.words.view().find("needs 956,416 bytes in the best cut found, the plan allows 900,000 bytes. Largest: ") != std::string_view::npos);
}

TEST_CASE("a model with more places to cut than are tried at once is cut near the best places") {
  struct Long : Sequential<Linear<8, 16>, Repeat<150, Linear<16, 16>>, Linear<16, 4>> {};
  using Request = RequestOf<Plan<Long, CrossEntropy, Adam, Batch<8>, Pipeline<Balanced<4>, OneFOneB, Microbatches<4>>>>;
  const Layout layout = CutAccount<Request>::cut(CutAccount<Request>::best(INT64_MAX));
  CHECK(measured<Request>(layout).slowest == measured<Request>(Request::answered).slowest);
  CHECK(layout.first_node[4] == 152);
}
