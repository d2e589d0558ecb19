// SPDX-License-Identifier: MIT
#include "heddle/graph/join.hpp"

#include <doctest/doctest.h>

using namespace heddle;

namespace {

constexpr Spec of(Shape shape, ElementType type = ElementType::float32) { return Spec{shape, type}; }
Diagnosis refused(const Spec& first, const Spec& second, const Joint& joint) { return refuse_join<Add>(first, second, joint, "in 'mix'"); }
bool says(const Diagnosis& found, std::string_view words) { return found.code == Code{'G', 2} && found.words.view() == words; }

}  // namespace

static_assert(Joins<Add> && !Joins<int> && !Joins<Leaf>);

TEST_CASE("Add gives what its first value is, saves nothing, and any dimension may be split") {
  const Leaf leaf = Add::describe(of(Shape{3, 5}), of(Shape{3, 5}));
  CHECK(leaf.in == leaf.out);
  CHECK(leaf.out == of(Shape{3, 5}));
  CHECK(leaf.saves == Saves::nothing);
  CHECK(leaf.forward_flops == 15);
  CHECK(leaf.signature_count == 2);
  for (int d = 0; d < 2; ++d) {
    CHECK(leaf.signatures[d].input == laid::shard(d));
    CHECK(leaf.signatures[d].output == laid::shard(d));
  }
  CHECK(leaf.parameter_count == 0);
}

TEST_CASE("branches that cannot be added are named by number or name, with both shapes and what to give") {
  CHECK(says(refused(of(Shape{4}), of(Shape{6}), {2, "", ""}),
             "branches '0' and '2' in 'mix' give (4) and (6), which cannot be added. Fix: let branch '2' give (4)."));
  CHECK(says(refused(of(Shape{4}), of(Shape{2, 2}), {1, "left", "right"}),
             "branches 'left' and 'right' in 'mix' give (4) and (2, 2), which cannot be added. Fix: let branch 'right' give (4)."));
  CHECK(says(refused(of(Shape{4}), of(Shape{4}, ElementType::int32), {1, "", "skip"}),
             "branches '0' and 'skip' in 'mix' give float32 (4) and int32 (4), which cannot be added. Fix: let the branches begin behind the layer "
             "that looks ids up, or each of them look ids up."));
}

TEST_CASE("a Residual is told of as one") {
  CHECK(says(refused(of(Shape{6}), of(Shape{4}), {}),
             "the Residual in 'mix' takes (4) but its layers give (6), which cannot be added. Fix: let the last layer inside give (4)."));
}
