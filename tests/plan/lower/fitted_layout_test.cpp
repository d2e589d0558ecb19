// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/fitted_layout.hpp"

#include <doctest/doctest.h>

#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

struct Wide : Sequential<Linear<4, 256>, GELU, Linear<256, 8>, Linear<8, 64>, Linear<64, 64>, ReLU, Linear<64, 10>> {};
template <class... Options>
using Asked = RequestOf<Plan<Wide, CrossEntropy, Adam, Batch<512>, Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>, Options...>>;

/// Where the second and the third stage begin.
template <class Request> constexpr bool begin_at(const Layout& layout, int second, int third) {
  return layout.first_node[1] == second && layout.first_node[2] == third && layout.first_node[3] == Request::graph.node_count;
}

}  // namespace

TEST_CASE("explicit stages and orders with several chunks on a device keep their cut; a plan without a budget is not asked") {
  using Several = RequestOf<Plan<Wide, CrossEntropy, Adam, Batch<512>, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>, Memory<1_MiB>>>;
  static_assert(Several::answered.balanced && !fits_cut_to_memory<Several>());
  using Named = RequestOf<Plan<Chain, CrossEntropy, Adam, Batch<512>, Back, Memory<1_MiB>>>;
  static_assert(!Named::answered.balanced && !fits_cut_to_memory<Named>());
  static_assert(!fits_cut_to_memory<RequestOf<Plan<Wide, CrossEntropy, Adam, Batch<512>, Pipeline<Balanced<2>>>>>());
  static_assert(fits_cut_to_memory<RequestOf<Plan<Wide, CrossEntropy, Adam, Batch<512>, Pipeline<Balanced<2>>, Memory<1_MiB>>>>());
}

TEST_CASE("the layout of a plan is what its policy answers where that fits, else the best cut that fits, else the smallest") {
  using Free = Asked<>;
  using Roomy = Asked<Memory<1_GB>>;
  using Tight = Asked<Memory<1'000'000_B>>;
  using Refused = Asked<Memory<900'000_B>>;
  static_assert(begin_at<Free>(FittedLayout<Free>::layout, 4, 5));
  static_assert(begin_at<Roomy>(FittedLayout<Roomy>::layout, 4, 5));
  static_assert(begin_at<Tight>(Tight::answered, 4, 5) && begin_at<Tight>(FittedLayout<Tight>::layout, 2, 4));
  static_assert(!CutAccount<Refused>::best_of_budget.found && CutAccount<Refused>::smallest_of_all.found);
  CHECK(begin_at<Refused>(FittedLayout<Refused>::layout, 2, 4));
}
