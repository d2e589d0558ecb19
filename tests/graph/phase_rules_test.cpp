// SPDX-License-Identifier: MIT
#include "heddle/graph/phase_rules.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/layers/batch_norm.hpp"
#include "heddle/graph/leaf_rules.hpp"
#include "heddle/graph/local_leaf.hpp"

using namespace heddle;

namespace {

Leaf leaf_in_phases() { return BatchNorm2d<6, Synchronised>::describe(Spec{Shape{6, 2, 2}}); }
/// What is said of a leaf in phases of which something is changed.
template <class Change> std::string refused(Change change) {
  Leaf leaf = leaf_in_phases();
  change(leaf);
  const Diagnosis found = check_leaf(leaf, leaf.in);
  CHECK(found.ok() == check_phases(leaf).ok());
  return std::string{found.sentence().view()};
}

}  // namespace

TEST_CASE("a pass is one call of its kernel, or one for each sum and one behind the last") {
  static_assert(!Phases{}.any() && Phases{}.count() == 1);
  static_assert(Phases{}.then_sum(4).count() == 2 && Phases{}.then_sum(4).then_sum(2).count() == 3);
  static_assert(Phases{}.then_sum(4).then_sum(2).sums[1] == 2 && Phases{}.then_sum(4).then_sum(2).surplus == 0);
  static_assert(Phases{}.then_sum(4).then_sum(2).then_sum(1).surplus == 1);
  CHECK(refused([](Leaf&) {}) == "");
}

TEST_CASE("a phase beyond the third, and sums of no floats, are refused") {
  CHECK(
      refused([](Leaf& leaf) { leaf.forward_phases.then_sum(1); }) ==
      "[heddle.G19] BatchNorm2d<6, Synchronised> has more than 3 phases in a pass, which are not kept. Fix: tell in one sum what two of them tell.");
  CHECK(refused([](Leaf& leaf) { leaf.backward_phases.sums[0] = -1; }) ==
        "[heddle.G23] BatchNorm2d<6, Synchronised> tells -1 sums between two phases. Fix: tell from 1 to 1,073,741,824 of them.");
}

TEST_CASE("rows that stand alone need no phases, and what a forward was told is kept") {
  CHECK(
      refused([](Leaf& leaf) { leaf.rows_together = 0; }) ==
      "[heddle.G23] BatchNorm2d<6, Synchronised> has phases, between which ranks tell each other of their rows, but says that rows stand alone. Fix: "
      "set leaf.rows_together to at least 1.");
  CHECK(refused([](Leaf& leaf) { leaf.statistics = Shape{}; }) ==
        "[heddle.G23] BatchNorm2d<6, Synchronised> has forward phases, but keeps nothing of what ranks told each other, so it could not run again. "
        "Fix: "
        "set leaf.statistics to what its last phase makes its output of, beside the input.");
  CHECK(refused([](Leaf& leaf) { leaf.saves = Saves::both; }) ==
        "[heddle.G23] BatchNorm2d<6, Synchronised> has backward phases and saves its output, which is not kept then. Fix: save the input.");
}

TEST_CASE("ranks that have a part of the values have a part of the sums, and no others") {
  const std::string whole = refused([](Leaf& leaf) { leaf.signatures[0].parts_of_sums = false; });
  CHECK(whole ==
        "[heddle.G23] BatchNorm2d<6, Synchronised> is split by signature 0, but what ranks tell each other between its phases is whole though its "
        "input "
        "is in parts. Fix: say with_parts_of_sums() of a signature whose input is in parts, and of no other.");
  CHECK(refused([](Leaf& leaf) { leaf.splits(Signature{}.with_parts_of_sums()); }).find(" is in parts though its input is whole.") !=
        std::string::npos);
  const Leaf leaf = leaf_in_phases();
  const Leaf third = local_leaf(leaf, leaf.signatures[0], 3);
  CHECK(third.forward_phases.sums[0] == 2);
  CHECK(third.forward_phases.sums[1] == 2);
  CHECK(third.backward_phases.sums[0] == 4);
  CHECK(third.forward_phases.count() == 3);
  CHECK(indivisible_size(leaf, leaf.signatures[0], 3) == 0);
  Leaf odd = leaf;
  odd.forward_phases.sums[1] = 7;
  CHECK(indivisible_size(odd, odd.signatures[0], 3) == 7);
}
