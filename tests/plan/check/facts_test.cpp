// SPDX-License-Identifier: MIT
#include "heddle/plan/check/facts.hpp"

#include <doctest/doctest.h>

#include "heddle/plan/lowered.hpp"
#include "plan/spoilt.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

constexpr auto facts = Code{'S', 18};
using Rounds = Trained<Chain, Sharded<2, Gradients>, Accumulate<2>>;

}  // namespace

TEST_CASE("a request that is a type and one that is data say the same of what a Program was made from") {
  using Request = Rounds::Request;
  constexpr MadeFrom of_type = made_from(Request{});
  static_assert(&of_type.model == &Request::graph && &of_type.layout == &Request::layout && &of_type.batch == &Request::batch);
  const LoweringRequest request = request_of<Request>();
  const MadeFrom of_data = made_from(request);
  CHECK(&of_data.layout == &request.layout);
  CHECK(of_data.states == of_type.states);
  CHECK(of_data.target_features == of_type.target_features);
  const LoweredPlan plan = lower(request);
  for (const MadeFrom& from : {of_type, of_data}) CHECK(check_noted(plan.training(), plan.evaluation(), from).sentence().view() == "");
}

TEST_CASE("a Program that does not train, or a pair with other tables, is no pair") {
  const LoweringRequest request = request_of<Rounds::Request>();
  const LoweredPlan one = lower(request);
  const LoweredPlan other = lower(request);
  CHECK(refused_for(check_noted(one.evaluation(), one.evaluation(), made_from(request)), facts, "how many of two Programs train is noted as 0"));
  CHECK(check_noted(one.training(), other.evaluation(), made_from(request)).sentence().view().find("the evaluation has other tables") !=
        std::string_view::npos);
}
