// SPDX-License-Identifier: MIT
// Room: graph. A leaf that makes one value of two: what it says of itself, and the sentence for two that do not fit.
// Sees: core, graph/leaf_rules.  Does not see: policies, devices, memory.
// In: the Specs of both values.  Out: Add, the concept Joins, Joint, G02.
#pragma once

#include <concepts>
#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/core/shape.hpp"
#include "heddle/graph/leaf.hpp"
#include "heddle/graph/leaf_rules.hpp"

namespace heddle::graph_room {

/// A type that says how two values become one. Of Add, wanted((4), (6)) is (4): what the second is to be.
template <class Op>
concept Joins = requires(const Spec& first, const Spec& second) {
  { Op::describe(first, second) } -> std::same_as<Leaf>;
  { Op::wanted(first, second) } -> std::same_as<Spec>;
  { Op::done() } -> std::convertible_to<std::string_view>;
};

/// Joins branches by their sum, element by element.
///
/// Shape   (B, ...) of each branch stays (B, ...)
/// Errors  G02 if branches give different shapes, or token ids and numbers
/// Tested  graph/join_test, graph/branches_test
struct Add {
  static constexpr bool is_sum = true;
  static constexpr std::string_view done() { return "added"; }
  static constexpr Spec wanted(const Spec& first, const Spec&) { return first; }
  static constexpr Leaf describe(const Spec& first, const Spec&) {
    Leaf leaf;
    leaf.kind << "Add";
    leaf.spelled << "Add";
    leaf.in = leaf.other = leaf.out = first;
    leaf.operands = 2;
    leaf.sums = true;
    leaf.saves = Saves::nothing;
    leaf.forward_flops = first.elements();
    for (int d = 0; d < first.shape.dimensions; ++d) leaf.splits({laid::shard(d), laid::shard(d), laid::shard(d), laid::shard(d), {}, {}});
    return leaf;
  }
};

/// What is wrong with a leaf that is to make one value of these two.
/// Errors  G01 too, if its description takes another second value than there is
/// Tested  graph/join_test
[[nodiscard]] constexpr Diagnosis check_joined(const Leaf& leaf, const Spec& first, const Spec& second) {
  if (const Diagnosis found = check_leaf(leaf, first); !found.ok()) return found;
  if (leaf.operands == 2 && leaf.other == second) return {};
  return broken_leaf(leaf, 1) << " takes " << int{leaf.operands} << " values, the second " << leaf.other.shape << ", but joins " << first.shape
                              << " and " << second.shape << ". Fix: let its describe say leaf.operands = 2 and leaf.other = second.";
}

/// What a sentence calls two values that are joined: branch 0 and another one, by their names or numbers. Of a Residual the second value is what it
/// takes, and `position` is 0.
struct Joint {
  int position = 0;
  std::string_view first;
  std::string_view other;
};

/// G02: two values that Op cannot join; `place` says where.
/// Tested  graph/join_test, fail/G02_branches_disagree, fail/G02_branches_of_two_shapes
template <class Op> [[nodiscard]] constexpr Diagnosis refuse_join(const Spec& first, const Spec& second, const Joint& of, std::string_view place) {
  Diagnosis broken{Code{'G', 2}, ""};
  const bool types = first.type != second.type;
  const auto value = [&](const Spec& spec) {
    if (types) broken << name_of(spec.type) << ' ';
    broken << spec.shape;
  };
  const auto branch = [&](int position, std::string_view label) {
    broken << '\'';
    if (label.empty())
      broken << position;
    else
      broken << label;
    broken << '\'';
  };
  if (of.position == 0) {
    broken << "the Residual " << place << " takes ";
    value(second);
    broken << " but its layers give ";
    value(first);
  } else {
    broken << "branches ";
    branch(0, of.first);
    broken << " and ";
    branch(of.position, of.other);
    broken << ' ' << place << " give ";
    value(first);
    broken << " and ";
    value(second);
  }
  const std::string_view not_float = name_of(first.type != ElementType::float32 ? first.type : second.type);
  broken << ", which cannot be " << Op::done() << ". Fix: let ";
  if (of.position == 0) {
    if (types) return broken << "it begin behind the layer that takes " << not_float << '.';
    return broken << "the last layer inside give " << second.shape << '.';
  }
  if (types) return broken << "the branches begin behind the layer that takes " << not_float << ", or each of them begin with one.";
  broken << "branch ";
  branch(of.position, of.other);
  return broken << " give " << Op::wanted(first, second).shape << '.';
}

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Add;
}  // namespace heddle
