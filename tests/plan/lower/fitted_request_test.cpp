// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/fitted_request.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "heddle/plan/lower/fitted_layout.hpp"
#include "heddle/plan/lowered.hpp"
#include "heddle/policy/sharded.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "plan/difference.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

/// Few operations and much that is saved in front, the other way round behind.
struct Wide : Sequential<Linear<4, 256>, GELU, Linear<256, 8>, Linear<8, 64>, Linear<64, 64>, ReLU, Linear<64, 10>> {};
struct Deep : Sequential<Linear<20, 24>, Repeat<6, Residual<Linear<24, 40>, GELU, Linear<40, 24>>>, Tanh, Linear<24, 10>> {};
struct Long : Sequential<Linear<8, 16>, Repeat<150, Linear<16, 16>>, Linear<16, 4>> {};

template <class Model, class Policy, class... Options> using Of = Plan<Model, CrossEntropy, Adam, Batch<512>, Policy, Options...>;
template <int Stages, class Order> using In = Pipeline<Balanced<Stages>, Order, Microbatches<4>>;

/// What the account of a plan that is a type chooses for a budget that is none of it.
template <class Request> Layout chosen(std::int64_t budget) {
  using Account = CutAccount<Request>;
  if (Account::fits(Request::answered, budget)) return Request::answered;
  const auto best = Account::best(budget);
  return Account::cut(best.found ? best : Account::smallest());
}
bool same_cut(const Layout& a, const Layout& b) {
  return a.chunk_count == b.chunk_count && std::equal(a.first_node, a.first_node + a.chunk_count + 1, b.first_node);
}

/// For many budgets the cut is the same as that of the plan that is a type. Returns how many cuts there are.
template <class ThePlan> int check_cuts() {
  using Request = typename ThePlan::Request;
  LoweringRequest request = request_of<ThePlan>();
  request.fitted = true;
  int cuts = 1;
  Layout last = Request::answered;
  for (std::int64_t budget = 4 * peak_memory<ThePlan>().value; budget > 1'000; budget -= budget / 12) {
    CAPTURE(budget);
    request.budget = Bytes{budget};
    const LoweredPlan plan = lower(request);
    REQUIRE(plan.fault().ok());
    const Layout& layout = plan.request().layout;
    CHECK(same_cut(layout, chosen<Request>(budget)));
    if (!same_cut(layout, last)) ++cuts;
    last = layout;
  }
  return cuts;
}

/// The same Programs, or the same sentence, from a type and from data.
template <class ThePlan> void check_plan() {
  const LoweringRequest request = request_of<ThePlan>();
  REQUIRE(request.fitted);
  CHECK(same_cut(request.layout, RequestOf<ThePlan>::answered));
  const LoweredPlan plan = lower(request);
  CHECK(same_cut(plan.request().layout, RequestOf<ThePlan>::layout));
  const Diagnosis found = check<ThePlan>();
  CHECK(std::string{check(plan).sentence().view()} == std::string{found.sentence().view()});
  if constexpr (check<ThePlan>().ok()) CHECK(Difference(ThePlan::training, plan.training()).words() == "");
}

}  // namespace

TEST_CASE("a request that asks for a cut that fits gets the cut of the plan that is a type, for every budget") {
  CHECK(check_cuts<Of<Wide, In<3, OneFOneB>>>() > 2);
  CHECK(check_cuts<Of<Wide, Hybrid<In<2, ZeroBubbleH1>, Sharded<2, OptimizerState>>>>() > 1);
  CHECK(check_cuts<Of<Wide, Hybrid<In<3, GPipe>, Sharded<2>>, Clip<GlobalNorm>>>() > 1);
  CHECK(check_cuts<Of<Deep, In<3, OneFOneB>, Recompute<EveryBlock>>>() > 0);
  CHECK(check_cuts<Of<Wide, Hybrid<TensorParallel<2>, In<3, OneFOneB>>>>() > 1);
  CHECK(check_cuts<Plan<Long, CrossEntropy, Adam, Batch<8>, In<4, OneFOneB>>>() > 0);
}

TEST_CASE("a plan with Balanced beside Memory is lowered from data as the compiler lowers it; what does not fit is C01 in the same words") {
  check_plan<Of<Wide, In<3, OneFOneB>, Memory<1'000'000_B>>>();
  check_plan<Of<Wide, In<3, OneFOneB>, Memory<1_GB>>>();
  check_plan<Of<Wide, Hybrid<TensorParallel<2>, In<3, OneFOneB>>, Memory<600'000_B>>>();
  check_plan<Of<Deep, In<3, ZeroBubbleH1>, Recompute<EveryBlock>, Memory<1_GB>>>();
  using TooLarge = Of<Wide, In<3, OneFOneB>, Memory<900'000_B>>;
  static_assert(check<TooLarge>().code == "C01");
  const LoweredPlan plan = lower(request_of<RequestOf<TooLarge>>());
  CHECK(check(plan).sentence().view() == check<TooLarge>().sentence().view());
  CHECK(check(plan).words.view().find("needs 956,416 bytes in the best cut found, the plan allows 900,000 bytes. ") != std::string_view::npos);
  CHECK(same_cut(plan.request().layout, RequestOf<TooLarge>::layout));
}

TEST_CASE("a request keeps its cut where it does not ask, names its stages, or has several chunks on a device") {
  LoweringRequest request = request_of<Of<Wide, In<3, OneFOneB>>>();
  const Layout asked = request.layout;
  request.budget = Bytes{1'000'000};
  LoweredPlan plan = lower(request);
  CHECK((same_cut(plan.request().layout, asked) && check(plan).code == "C01"));
  CHECK(check(plan).words.view().find("in the best cut found") == std::string_view::npos);
  request.fitted = true;
  CHECK(check(lower(request)).ok());
  request.layout.balanced = false;
  plan = lower(request);
  CHECK((same_cut(plan.request().layout, asked) && !plan.request().fitted));
  request = request_of<Of<Wide, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>>>();
  request.budget = Bytes{1};
  request.fitted = true;
  plan = lower(request);
  CHECK((same_cut(plan.request().layout, request.layout) && !plan.request().fitted && check(plan).code == "C01"));
}

TEST_CASE("B09 is asked of the cut that is chosen") {
  struct Blocks : Sequential<Linear<4, 256>, GELU, Linear<256, 24>, Repeat<4, Sequential<Linear<24, 48>, Tanh, Linear<48, 24>>>, Linear<24, 4>> {};
  using Clipped = RequestOf<Of<Blocks, In<3, OneFOneB>, Clip<GlobalNorm>, Grain<128>>>;
  LoweringRequest request = request_of<Clipped>();
  request.fitted = true;
  int refused = 0, sound = 0;
  for (std::int64_t budget = 2'000'000; budget > 10'000; budget -= budget / 10) {
    request.budget = Bytes{budget};
    const Diagnosis found = check_sums(request.graph, chosen<Clipped>(budget), request.batch, false, true);
    CHECK(std::string{lower(request).fault().sentence().view()} == std::string{found.sentence().view()});
    ++(found.ok() ? sound : refused);
  }
  CAPTURE(refused);
  CAPTURE(sound);
  CHECK((refused > 0 && sound > 0));
}
