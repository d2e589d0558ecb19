// SPDX-License-Identifier: MIT
#include "heddle/policy/sharded.hpp"

#include <doctest/doctest.h>

#include "heddle/policy/data_parallel.hpp"
#include "heddle/policy/hybrid.hpp"
#include "policy/models.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

template <class P>
constexpr Layout answer_of = [] {
  Layout layout{graph_of<Chain>};
  P::answer(graph_of<Chain>, layout);
  return layout;
}();

}  // namespace

TEST_CASE("Sharded splits the batch and slices what it names") {
  constexpr Layout zero1 = answer_of<Sharded<4, OptimizerState>>;
  static_assert(zero1.fault.ok() && zero1.mesh.size(axis::shard) == 4 && zero1.batch_ranks() == 4 && zero1.slices() == 4);
  static_assert(zero1.sharding == Sharding{false, false, true});
  static_assert(answer_of<Sharded<4, Gradients>>.sharding == Sharding{false, true, true});
  static_assert(answer_of<Sharded<4>>.sharding == Sharding{true, true, true});
  static_assert(answer_of<Sharded<4, Parameters>>.sharding == answer_of<Sharded<4>>.sharding);
  CHECK(zero1.batch_split[static_cast<int>(axis::shard)]);
}

TEST_CASE("options stand in any order, and a gathered copy is kept for the pass unless the step is named") {
  constexpr Sharding kept{true, true, true, true};
  static_assert(answer_of<Sharded<4, Keep::Step>>.sharding == kept);
  static_assert(answer_of<Sharded<4, Parameters, Keep::Step>>.sharding == kept);
  static_assert(answer_of<Sharded<4, Keep::Step, Parameters>>.sharding == kept);
  CHECK(answer_of<Sharded<4, Keep::Pass>>.sharding == answer_of<Sharded<4>>.sharding);
}

TEST_CASE("what Sharded does not know, what it is told twice, and a copy that nobody makes are refused") {
  constexpr Diagnosis unknown = answer_of<Sharded<4, DataParallel<2>>>.fault;
  CHECK(unknown.code == Code{'M', 4});
  CHECK(unknown.words.view().find("DataParallel<2> is no part of Sharded. Fix: ") != std::string_view::npos);
  CHECK(answer_of<Sharded<4, Gradients, Parameters>>.fault.code == Code{'M', 4});
  constexpr Diagnosis twice = answer_of<Sharded<4, Keep::Step, Keep::Pass>>.fault;
  CHECK(twice.code == Code{'M', 4});
  CHECK(twice.words.view().find("Sharded names Keep 2 times") != std::string_view::npos);
  constexpr Diagnosis gradients = answer_of<Sharded<4, Gradients, Keep::Step>>.fault;
  CHECK(gradients.code == Code{'M', 8});
  CHECK(gradients.words.view().find("slices only gradients and optimizer states") != std::string_view::npos);
  constexpr Diagnosis states = answer_of<Sharded<4, Keep::Pass, OptimizerState>>.fault;
  CHECK(states.code == Code{'M', 8});
  CHECK(states.words.view().find("slices only optimizer states") != std::string_view::npos);
}

TEST_CASE("HSDP is the product of Sharded and DataParallel, in either nesting") {
  constexpr Layout inside = answer_of<Hybrid<Sharded<4>, DataParallel<2>>>;
  constexpr Layout outside = answer_of<Hybrid<DataParallel<2>, Sharded<4>>>;
  static_assert(inside.batch_ranks() == 8 && inside.slices() == 4);
  static_assert(outside.batch_ranks() == 8 && outside.slices() == 4);
  CHECK(inside.mesh.stride(axis::data) == 4);
  CHECK(outside.mesh.stride(axis::shard) == 2);
}

TEST_CASE("an axis that does not cut units evenly is refused with the nearest that do") {
  constexpr Diagnosis three = answer_of<Sharded<3>>.fault;
  CHECK(three.code == Code{'M', 5});
  CHECK(three.words.view().find("size 3") != std::string_view::npos);
  CHECK(three.words.view().find("Fix: use 2 or 4, ") != std::string_view::npos);
  constexpr Diagnosis many = answer_of<Sharded<128>>.fault;
  CHECK(many.code == Code{'M', 5});
  CHECK(many.words.view().find("Fix: use 64, ") != std::string_view::npos);
}

TEST_CASE("one rank slices nothing, and no rank is refused as for every axis") {
  static_assert(answer_of<Sharded<1>>.slices() == 1 && answer_of<Sharded<1>>.fault.ok());
  CHECK(answer_of<Sharded<0>>.fault.code == Code{'M', 2});
}
