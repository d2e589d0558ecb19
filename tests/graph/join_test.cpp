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
             "that takes int32, or each of them begin with one."));
}

TEST_CASE("what joins says what its second value is, and adds or has a kernel that keeps neither parameters nor statistics") {
  const Spec six = of(Shape{6});
  const auto joined = [&](auto change) {
    Leaf leaf = Add::describe(six, six);
    change(leaf);
    return check_joined(leaf, six, six);
  };
  const auto finds = [](const Diagnosis& found, int code, std::string_view words) {
    return found.code == Code{'G', code} && found.words.view().find(words) != std::string_view::npos;
  };
  const auto kernel = [](Leaf& leaf) { leaf.sums = false; };
  CHECK(joined([](Leaf&) {}).ok());
  CHECK(joined(kernel).ok());
  CHECK(finds(joined([&](Leaf& leaf) { kernel(leaf), leaf.other.shape = Shape{5}; }), 1, "takes 2 values, the second (5), but joins (6) and (6)"));
  CHECK(finds(joined([](Leaf& leaf) { leaf.in.shape = Shape{5}; }), 1, "takes (5) but the value before it has (6)"));
  CHECK(finds(joined([&](Leaf& leaf) { kernel(leaf), leaf.operands = 1, leaf.other = Spec{}; }), 1, "takes 1 values"));
  CHECK(finds(joined([](Leaf& leaf) { leaf.operands = 3; }), 23, "takes 3 values. Fix: take one, or two"));
  CHECK(finds(joined([](Leaf& leaf) { leaf.operands = 1; }), 23, "takes one value, but says what the second is, or that it adds both"));
  CHECK(finds(joined([&](Leaf& leaf) { kernel(leaf), leaf.with({"weight", Shape{6}}); }), 23, "so it can have no parameters, statistics"));
  CHECK(finds(joined([&](Leaf& leaf) { kernel(leaf), leaf.statistics = Shape{2}; }), 23, "so it can have no parameters, statistics"));
  CHECK(finds(joined([&](Leaf& leaf) { kernel(leaf), leaf.elementwise = true; }), 23, "is neither elementwise nor a reshape"));
  CHECK(finds(joined([&](Leaf& leaf) { kernel(leaf), leaf.saves = Saves::output; }), 23, "saves its output, which is not kept"));
  CHECK(finds(joined([](Leaf& leaf) { leaf.saves = Saves::input; }), 23, "says that it adds (6) and (6) to (6)"));
  CHECK(finds(joined([](Leaf& leaf) { leaf.other.shape = Shape{5}; }), 23, "says that it adds (6) and (5) to (6)"));
  CHECK(finds(joined([&](Leaf& leaf) { kernel(leaf), leaf.other.shape = Shape{0}; }), 6, "takes as its second value (0), which has a size below 1"));
}

TEST_CASE("a Residual is told of as one") {
  CHECK(says(refused(of(Shape{6}), of(Shape{4}), {}),
             "the Residual in 'mix' takes (4) but its layers give (6), which cannot be added. Fix: let the last layer inside give (4)."));
}
