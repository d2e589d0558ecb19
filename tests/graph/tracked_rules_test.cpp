// SPDX-License-Identifier: MIT
#include "heddle/graph/tracked_rules.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "heddle/graph/layers/batch_norm.hpp"
#include "heddle/graph/leaf_rules.hpp"

using namespace heddle;

namespace {

Leaf sound() { return BatchNorm2d<6>::describe(Spec{Shape{6, 2, 5}}); }
/// By the rule itself, and where a model is checked.
std::string words(const Leaf& leaf) {
  CHECK(check_leaf(leaf, leaf.in).words.view() == check_tracked(leaf).words.view());
  return std::string{check_tracked(leaf).sentence().view()};
}

}  // namespace

TEST_CASE("what BatchNorm2d says is sound, and a leaf that tracks nothing has nothing to say") {
  CHECK(words(sound()).empty());
  CHECK(check_tracked(Leaf{}).ok());
}

TEST_CASE("rows that are normalised together are counted from 0, by what is more than a function of each element") {
  Leaf leaf = sound();
  leaf.rows_together = -1;
  CHECK(words(leaf) == "[heddle.G23] BatchNorm2d<6> normalises -1 rows together. Fix: say at least how many, or 0 where each row stands alone.");
  leaf = elementwise("Same", Spec{Shape{6}}, 1);
  leaf.rows_together = 1;
  CHECK(words(leaf) == "[heddle.G23] Same normalises rows together, but says that it is elementwise or only reshapes. Fix: drop one of both.");
}

TEST_CASE("a tracked parameter is a mean of as many values of a row in each element, with a momentum") {
  Leaf leaf = sound();
  leaf.parameters[2].tracks = -1;
  CHECK(words(leaf) == "[heddle.G23] BatchNorm2d<6> tracks 'running_mean', but of grains with at least -1 values. Fix: say 1 or more.");
  for (const float wrong : {-0.1F, 1.5F, std::numeric_limits<float>::quiet_NaN()}) {
    leaf = sound();
    leaf.momentum = wrong;
    CHECK(
        words(leaf) ==
        "[heddle.G23] BatchNorm2d<6> tracks 'running_mean', but its momentum is not between 0 and 1. Fix: set leaf.momentum to how far a step goes, "
        "for example 0.1.");
  }
  leaf = sound();
  leaf.parameters[3].shape = Shape{7};
  CHECK(words(leaf) ==
        "[heddle.G23] BatchNorm2d<6> tracks 'running_var', but its 7 elements do not divide the 60 of the input. Fix: track a mean of as many values "
        "in each element.");
}

TEST_CASE("no rank has a part of a mean: what is tracked is split as the input is") {
  Leaf leaf = sound();
  leaf.signatures[0].with(2, laid::replicate, laid::partial);
  CHECK(words(leaf) ==
        "[heddle.G23] BatchNorm2d<6> tracks 'running_mean', but signature 0 takes its input Shard<0> and has it Replicate, so ranks would have parts "
        "of its mean. Fix: split both or neither.");
  leaf = sound();
  leaf.signatures[0] = Signature{};
  leaf.signatures[0].with(3, laid::replicate, laid::partial);
  CHECK(words(leaf).find("signature 0 takes its input Replicate and has it Replicate, so ranks would have parts of its mean.") != std::string::npos);
}
