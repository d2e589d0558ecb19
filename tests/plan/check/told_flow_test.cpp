// SPDX-License-Identifier: MIT
#include "heddle/plan/check/told_flow.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/policy/sharded.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

using All = Trained<Chain, Hybrid<Sharded<2>, DataParallel<2>>, Clip<GlobalNorm>, LossScaling, Guarded>;
std::string words(const ToldFault& fault) { return std::string{fault.doing} + std::string{fault.what}; }
constexpr std::uint8_t bit(Axis a) { return static_cast<std::uint8_t>(1U << static_cast<unsigned>(a)); }

}  // namespace

TEST_CASE("of gradients each rank has a term where it has a slice, of the flag of the loss also where it has other rows") {
  ToldFlow told;
  told.open(training_of<All>());
  CHECK(told.of_gradients.along == bit(Axis::shard));
  CHECK(told.of_loss.along == (bit(Axis::shard) | bit(Axis::data)));
  CHECK_FALSE(told.moving());
  told.of_loss.moving = static_cast<int>(Axis::data);
  CHECK(told.moving());
}

TEST_CASE("a device skips and clips once, in this order, when all that the plan asks for is found and summed") {
  ToldFlow told;
  told.open(training_of<All>());
  const std::string unknown = "by what is not known of all ranks";
  CHECK(words(told.skip()) == " skips " + unknown);
  told.looked = true;
  CHECK(words(told.skip()) == " skips " + unknown);
  CHECK(words(told.guard(true, false)) == " looks at its losses before they are made");
  CHECK(told.guard(false, false).ok());  // no loss is made here
  CHECK(words(told.guard(true, true)) == " looks at its losses another time");
  CHECK(words(told.skip()) == " skips " + unknown + ": of the norm or flag each rank has a term along axis ");
  told.of_gradients.along = 0;
  CHECK(words(told.skip()) == " skips " + unknown + ": of the flag of the loss each rank has a term along axis ");
  CHECK(told.skip().axis >= 0);
  told.of_loss.along = 0;
  CHECK(words(told.clip()).find(" clips before it knows whether to skip") == 0);
  CHECK_FALSE(told.decided());
  CHECK(told.skip().ok());
  CHECK(words(told.skip()) == " skips another time");
  CHECK(told.clip().ok());
  CHECK(words(told.clip()) == " clips another time");
  CHECK(told.decided());
}

TEST_CASE("a plan that asks for nothing looks at, decides and clips nothing") {
  ToldFlow told;
  told.open(training_of<Trained<Chain, DataParallel<2>>>());
  CHECK_FALSE(told.guard(true, true).ok());
  CHECK_FALSE(told.skip().ok());
  CHECK_FALSE(told.clip().ok());
  CHECK(told.decided());
}
