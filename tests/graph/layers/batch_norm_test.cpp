// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/batch_norm.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/leaf_rules.hpp"
#include "heddle/graph/local_leaf.hpp"

using namespace heddle;

namespace {

template <class L> std::string refused(const Spec& in) { return std::string{L::describe(in).fault.sentence().view()}; }

}  // namespace

TEST_CASE("a weight and a bias are trained, running statistics are tracked, and grains leave a mean and a variance a channel in each row") {
  constexpr Leaf leaf = BatchNorm2d<6>::describe(Spec{Shape{6, 4, 5}});
  static_assert(leaf.fault.ok() && leaf.out == leaf.in && leaf.saves == Saves::input && leaf.statistics == Shape(6, 2) && !leaf.weights_read);
  static_assert(leaf.parameter_count == 4 && leaf.parameters[0].initial == Initial::ones && leaf.parameters[1].initial == Initial::zeros);
  static_assert(leaf.parameters[2].name.view() == "running_mean" && leaf.parameters[2].initial == Initial::zeros && leaf.parameters[2].tracks == 1);
  static_assert(leaf.parameters[3].name.view() == "running_var" && leaf.parameters[3].initial == Initial::ones && leaf.parameters[3].tracks == 2);
  static_assert(leaf.tracks() && leaf.momentum == 0.1F && leaf.values_a_row(2) == 20 && leaf.rows_together == 1);
  static_assert(!leaf.parameters[0].tracked() && BatchNorm2d<6>::epsilon == 1e-5F);
  CHECK(check_leaf(leaf, leaf.in).ok());
}

TEST_CASE("ranks may have some of the channels, with their parameters and statistics, and nothing else is split") {
  constexpr Leaf leaf = BatchNorm2d<6>::describe(Spec{Shape{6, 4, 5}});
  static_assert(leaf.signature_count == 1 && leaf.signatures[0].input == laid::shard(0) && leaf.signatures[0].statistics == laid::shard(0));
  static_assert(leaf.signatures[0].parameters[3] == laid::shard(0) && leaf.signatures[0].parameter_gradients[2] == laid::shard(0));
  CHECK(check_signature(leaf, leaf.signatures[0]).ok());
  constexpr Leaf third = local_leaf(leaf, leaf.signatures[0], 3);
  static_assert(third.in.shape == Shape(2, 4, 5) && third.statistics == Shape(2, 2) && third.parameters[2].shape == Shape{2});
  static_assert(third.values_a_row(3) == 20);
}

TEST_CASE("images of one pixel need two rows") {
  static_assert(BatchNorm2d<6>::describe(Spec{Shape{6, 1, 1}}).rows_together == 2);
  static_assert(BatchNorm2d<6>::describe(Spec{Shape{6, 1, 2}}).rows_together == 1);
}

TEST_CASE("options are named in any order, each once") {
  using L = BatchNorm2d<6, Momentum<1, 4>, Epsilon<3>>;
  static_assert(L::momentum == 0.25F && L::epsilon > 0.0009F && L::epsilon < 0.0011F && Momentum<0, 1>::value() == 0);
  CHECK(std::string{L::describe(Spec{Shape{6, 2, 2}}).spelled.view()} == "BatchNorm2d<6, Momentum<1, 4>, Epsilon<3>>");
  static_assert(L::describe(Spec{Shape{6, 2, 2}}).momentum == 0.25F);
  const Spec in{Shape{6, 2, 2}};
  CHECK(refused<BatchNorm2d<6, Epsilon<3>, Epsilon<4>>>(in) ==
        "[heddle.G25] BatchNorm2d<6, Epsilon<3>, Epsilon<4>> names an option twice. Fix: keep one of them.");
  CHECK(refused<BatchNorm2d<6, Momentum<1, 2>, Momentum<1, 2>>>(in).find(" names an option twice.") != std::string::npos);
  CHECK(refused<BatchNorm2d<6, NoBias>>(in) ==
        "[heddle.G25] BatchNorm2d<6, NoBias> names what is no option of BatchNorm2d. Fix: write Synchronised, Epsilon<6> for 1e-6, "
        "Momentum<1, 100> for 0.01, or nothing.");
  CHECK(refused<BatchNorm2d<6, Epsilon<0>>>(in).find(" has an epsilon that is not between 1e-1 and 1e-30.") != std::string::npos);
  for (const std::string& text : {refused<BatchNorm2d<6, Momentum<3, 2>>>(in), refused<BatchNorm2d<6, Momentum<-1, 2>>>(in)})
    CHECK(text.find(" has a momentum that is no fraction between 0 and 1. Fix: write Momentum<1, 10> for 0.1.") != std::string::npos);
  CHECK(refused<BatchNorm2d<6, Momentum<1, 0>>>(in).find(" has a momentum that is no fraction between 0 and 1.") != std::string::npos);
}

TEST_CASE("what is no image of so many channels is refused with what would be") {
  CHECK(refused<BatchNorm2d<6>>(Spec{Shape{12}}) ==
        "[heddle.G01] BatchNorm2d<6> takes images, of channels, height and width, but the value before it has (12). Fix: put Unflatten before it, or "
        "LayerNorm<12> in its place.");
  CHECK(refused<BatchNorm2d<6>>(Spec{Shape{3, 4, 4}}) ==
        "[heddle.G01] BatchNorm2d<6> takes 6 channels but the value before it has (3, 4, 4). Fix: write BatchNorm2d<3>.");
  CHECK(refused<BatchNorm2d<6>>(Spec{Shape{6, 4, 4}, ElementType::int32}) ==
        "[heddle.G01] BatchNorm2d<6> takes float32 but the value before it has int32. Fix: put a layer that gives float32 before it.");
  CHECK(refused<BatchNorm2d<0>>(Spec{Shape{6, 4, 4}}).find("[heddle.G06] BatchNorm2d<0> has a size that is not between 1 and ") == 0);
}

TEST_CASE("Synchronised has three phases forward and two backward, of which ranks that split channels have parts") {
  using L = BatchNorm2d<6, Momentum<1, 4>, Synchronised>;
  constexpr Leaf leaf = L::describe(Spec{Shape{6, 4, 5}});
  static_assert(L::synchronised && !BatchNorm2d<6>::synchronised && !BatchNorm2d<6>::describe(Spec{Shape{6, 4, 5}}).has_phases());
  static_assert(leaf.forward_phases.count() == 3 && leaf.forward_phases.sums[0] == 6 && leaf.forward_phases.sums[1] == 6);
  static_assert(leaf.backward_phases.count() == 2 && leaf.backward_phases.sums[0] == 12 && leaf.momentum == 0.25F);
  static_assert(leaf.signatures[0].parts_of_sums && !BatchNorm2d<6>::describe(Spec{Shape{6, 4, 5}}).signatures[0].parts_of_sums);
  CHECK(check_leaf(leaf, leaf.in).ok());
  CHECK(std::string{leaf.spelled.view()} == "BatchNorm2d<6, Momentum<1, 4>, Synchronised>");
  CHECK(refused<BatchNorm2d<6, Synchronised, Synchronised>>(Spec{Shape{6, 2, 2}}).find(" names an option twice.") != std::string::npos);
}
