// SPDX-License-Identifier: MIT
#include "heddle/plan/read/whole_layers.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/heddle.hpp"
#include "heddle/plan/lowered.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

template <class Model, class Policy> AdviceReport remarks(int percent) {
  using Trained = Plan<Model, MeanSquaredError, Adam, Batch<8>, Policy>;
  AdviceReport report;
  remark_on_whole_layers(report, training_of<Trained>(), percent);
  return report;
}

struct Uneven : Sequential<Linear<8, 64>, ReLU, Linear<64, 8>, Repeat<3, Linear<8, 8>>, Linear<8, 6>> {};

}  // namespace

TEST_CASE("a leaf whose every signature has a size that the ranks do not divide") {
  constexpr Leaf three = Linear<9, 3>::describe(Spec{Shape{9}});
  static_assert(indivisible_signature(three, 3) == nullptr);
  static_assert(indivisible_signature(three, 2) != nullptr);
  constexpr Leaf four = Linear<9, 4>::describe(Spec{Shape{9}});
  static_assert(indivisible_signature(four, 2) == nullptr);  // by columns
  static_assert(indivisible_signature(ReLU::describe(Spec{Shape{4}}), 2) == nullptr);
}

TEST_CASE("what the ranks do not divide is told with its share, once for all uses of it") {
  struct Odd : Sequential<Linear<8, 64>, ReLU, Linear<64, 7>, Repeat<2, Residual<Linear<7, 7>>>, Linear<7, 8>> {};
  const AdviceReport report = remarks<Odd, TensorParallel<2>>(1);
  REQUIRE(report.count == 1);
  const std::string said{report.remarks[0].sentence().view()};
  CHECK(said.find("[heddle.A10] layer 3 '3.") == 0);
  CHECK(said.find("Linear<7, 7> runs whole on each of the 2 ranks of axis tensor, which is ") != std::string::npos);
  CHECK(said.find("because 2 does not divide its 7 features. Fix: use as many ranks as divide 7: 1, 7, or a layer whose size they divide.") !=
        std::string::npos);
  CHECK(remarks<Odd, TensorParallel<2>>(90).empty());
  CHECK(remarks<Odd, DataParallel<2>>(0).empty());
}

TEST_CASE("a layer that is whole though the ranks divide it costs less so, and gets no remark") {
  CHECK(remarks<Uneven, TensorParallel<2>>(0).empty());
}
