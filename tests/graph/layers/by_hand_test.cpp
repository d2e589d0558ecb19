// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/by_hand.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/sequential.hpp"

#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/model_facts.hpp"
#include "heddle/graph/trace.hpp"

using namespace heddle;

TEST_CASE("Column and Row are the layer with one way left to split it") {
  constexpr Leaf plain = Linear<12, 8>::describe(Spec{Shape{12}});
  constexpr Leaf column = Column<Linear<12, 8>>::describe(Spec{Shape{12}});
  constexpr Leaf row = Row<Linear<12, 8>>::describe(Spec{Shape{12}});
  static_assert(!plain.by_hand && column.by_hand && row.by_hand);
  static_assert(column.signature_count == 1 && column.signatures[0] == plain.signatures[0]);
  static_assert(row.signature_count == 1 && row.signatures[0] == plain.signatures[1]);
  static_assert(column.out == plain.out && row.parameter_count == plain.parameter_count);
  static_assert(parameters<Column<Linear<12, 8>>> == 104 && output_spec<Row<Linear<12, 8>>>.shape == Shape{8});
  CHECK(column.fault.ok());
}

TEST_CASE("a kernel is found for the layer itself") {
  static_assert(std::is_same_v<Column<Linear<12, 8>>::KernelLayer, Linear<12, 8>>);
  static_assert(std::is_same_v<Row<Linear<12, 8, NoBias>>::KernelLayer, Linear<12, 8, NoBias>>);
}

TEST_CASE("a layer that cannot be split that way is refused") {
  constexpr Leaf row = Row<ReLU>::describe(Spec{Shape{12}});
  static_assert(row.fault.code == Code{'P', 2});
  CHECK(row.fault.sentence().view() == "[heddle.P02] ReLU cannot be split by rows: it states no such signature. Fix: let the policy choose.");
  CHECK(Column<Flatten>::describe(Spec{Shape{3, 4}}).fault.code == Code{'P', 2});
}

TEST_CASE("what is no single layer cannot be split by hand") {
  CHECK(Column<int>::describe(Spec{Shape{4}}).fault.sentence().view() ==
        "[heddle.G25] Column<int> is to split what is no single layer. Fix: write Column around a layer such as Linear<64, 10>.");
  static_assert(Row<Sequential<Linear<4, 4>>>::describe(Spec{Shape{4}}).fault.code == Code{'G', 25});
  static_assert(!Composite<Column<Sequential<Linear<4, 4>>>>);
}
