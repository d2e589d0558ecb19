// SPDX-License-Identifier: MIT
#include "heddle/graph/optimizer.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace heddle;

namespace {

struct Sign {  // a user's own optimizer
  static constexpr int states = 0;
  struct Options {
    double learning_rate = 1e-4;
  };
  struct Constants {
    float learning_rate;
  };
  static constexpr std::string_view name() { return "Sign"; }
  static Constants constants(const Options& o, std::int64_t) { return {static_cast<float>(o.learning_rate)}; }
  static void update(const Constants& c, float& parameter, float gradient) { parameter -= gradient > 0 ? c.learning_rate : -c.learning_rate; }
  static Diagnosis check(const Options&) { return {}; }
};
struct OneStateWithoutIt : Sign {
  static constexpr int states = 1;
};

}  // namespace

TEST_CASE("an optimizer is described by its options, its constants of a step and the update of one element") {
  static_assert(OptimizerDescription<Sign>);
  float parameter = 1;
  Sign::update(Sign::constants({.learning_rate = 0.25}, 1), parameter, 3.0F);
  CHECK(parameter == 0.75F);
}

TEST_CASE("options with OnlyByName are given by name, and take no room for it") {
  struct Options {
    [[no_unique_address]] OnlyByName by_name = OnlyByName{};
    double learning_rate = 1e-3;
    double momentum = 0.9;
  };
  constexpr auto in_order = []<class O>() {
    return requires { O{1e-3, 0.9}; };
  };
  static_assert(!in_order.operator()<Options>() && sizeof(Options) == 2 * sizeof(double));
  CHECK(Options{.momentum = 0.5}.learning_rate == 1e-3);
}

TEST_CASE("an update that does not take as many states as it declares is refused") {
  static_assert(!OptimizerDescription<OneStateWithoutIt>);
  static_assert(!OptimizerDescription<int>);
  CHECK(UpdatesElement<Sign, 0>);
  CHECK_FALSE(UpdatesElement<Sign, 2>);
}

TEST_CASE("a refused option is one sentence with its value and a remedy") {
  const Diagnosis refused = refused_option("Adam", "beta1", 1.5, "from 0 to below 1", "use 0.9, the default");
  CHECK(refused.code == Code{'O', 1});
  CHECK(refused.sentence().view() == "[heddle.O01] Adam has beta1 = 1.5, which must be from 0 to below 1. Fix: use 0.9, the default.");
}

TEST_CASE("NaN and infinity are within no range") {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(is_zero_or_more(0));
  CHECK(is_zero_or_more(1e30));
  for (const double value : {-1e-30, infinity, -infinity, nan, 1e39}) CHECK_FALSE(is_zero_or_more(value));
  CHECK(is_from_zero_below_one(0));
  CHECK(is_from_zero_below_one(0.999));
  for (const double value : {-0.1, 1.0, infinity, nan}) CHECK_FALSE(is_from_zero_below_one(value));
}
