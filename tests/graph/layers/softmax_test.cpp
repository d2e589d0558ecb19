// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/softmax.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/local_leaf.hpp"

using namespace heddle;

TEST_CASE("a softmax keeps any shape, saves its output, and splits every dimension but that of its vectors") {
  constexpr Leaf leaf = Softmax::describe(Spec{Shape{4, 3, 5}});
  static_assert(leaf.fault.ok() && leaf.out == leaf.in && leaf.parameter_count == 0 && leaf.saves == Saves::output && !leaf.elementwise);
  static_assert(leaf.forward_flops == 60 * 5 && leaf.backward_flops == 60 * 4 && leaf.weight_flops == 0);
  static_assert(leaf.signature_count == 2 && leaf.signatures[0].input == laid::shard(0) && leaf.signatures[1].output == laid::shard(1));
  for (int i = 0; i < leaf.signature_count; ++i) CHECK(check_signature(leaf, leaf.signatures[i]).ok());
  static_assert(local_leaf(leaf, leaf.signatures[0], 2).in.shape == Shape(2, 3, 5));
  static_assert(Softmax::describe(Spec{Shape{5}}).signature_count == 0);
  CHECK(leaf.spelled.view() == "Softmax");
  CHECK(LogSoftmax::describe(Spec{Shape{5}}).spelled.view() == "LogSoftmax");
}

TEST_CASE("token ids have no softmax") {
  CHECK(std::string{LogSoftmax::describe(Spec{Shape{8}, ElementType::int32}).fault.sentence().view()} ==
        "[heddle.G01] LogSoftmax takes float32 but the value before it has int32. Fix: put a layer that gives float32 before it.");
}
