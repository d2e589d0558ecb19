// SPDX-License-Identifier: MIT
// Room: graph. Joins two values one behind the other along a dimension of a sample.
// Sees: core, graph/leaf.  Does not see: policies, devices, memory.
// In: the Specs of both values.  Out: Concat, ConcatAlong<D>, ConcatParts.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/core/shape.hpp"
#include "heddle/graph/leaf.hpp"
#include "heddle/graph/sections.hpp"

namespace heddle::graph_room {

inline constexpr int last_dimension = -1;

/// Joins branches one behind another along dimension D of a sample, from left to right; the batch is not counted. Branches that are split along D
/// over ranks are joined in sections: each rank has its part of each branch, and nothing is gathered if what reads them takes sections.
///
/// Shape   (B, ..., n, ...) and (B, ..., m, ...) become (B, ..., n + m, ...)
/// Errors  G01 if there is no such dimension, G02 if the branches differ in another one, or give token ids
/// Tested  graph/layers/concat_test, compute/eigen/concat_test, compute/field/concat_test, equivalence/branches_test, golden/branches_test
template <int D> struct ConcatAlong {
  static constexpr std::string_view done() { return "joined"; }
  static constexpr int dimension(const Shape& shape) { return D == last_dimension ? shape.dimensions - 1 : D; }
  static constexpr bool has(const Shape& shape) { return dimension(shape) >= 0 && dimension(shape) < shape.dimensions; }
  static constexpr Spec wanted(const Spec& first, const Spec& second) {
    Spec like = first;
    if (has(first.shape) && first.shape.dimensions == second.shape.dimensions)
      like.shape.sizes[dimension(first.shape)] = second.shape.sizes[dimension(first.shape)];
    return like;
  }
  static constexpr Leaf describe(const Spec& first, const Spec& second) {
    Leaf leaf;
    leaf.kind << "Concat";
    leaf.spelled << "Concat";
    if (D != last_dimension) leaf.spelled << "Along<" << D << '>';
    leaf.in = leaf.out = first;
    leaf.other = second;
    leaf.operands = 2;
    leaf.saves = Saves::nothing;
    if (!has(first.shape)) {
      leaf.fault = Diagnosis{Code{'G', 1}, leaf.spelled.view()}
                   << " joins along dimension " << D << ", but the branches give " << first.shape
                   << ". Fix: name a dimension that is there, counted from 0 without the batch, or write Concat for the last.";
      return leaf;
    }
    const int along = dimension(first.shape);
    leaf.out.shape.sizes[along] += second.shape.sizes[along];
    for (int d = 0; d < first.shape.dimensions; ++d)
      if (d != along) leaf.splits({laid::shard(d), laid::shard(d), laid::shard(d), laid::shard(d), {}, {}});
    const Laid joined = sections_of_two(along, first.shape.sizes[along], second.shape.sizes[along]);
    if (!joined.sharded()) return leaf;
    const PartsOfTwo parts = parts_of_two(joined, first.shape.sizes[along], second.shape.sizes[along]);
    return leaf.splits(Signature{parts.first, joined, parts.first, joined, {}, {}}.with_second(parts.second).with_any_sections());
  }
};

/// ConcatAlong the last dimension, whichever that is.
struct Concat : ConcatAlong<last_dimension> {
  using KernelLayer = ConcatAlong<last_dimension>;
};

/// How a row lies: of (2, 3) and (2, 4) joined along the last dimension, 2 times 3 elements of the first and 4 of the second.
struct ConcatParts {
  std::int64_t runs = 1;
  std::int64_t first = 0;
  std::int64_t second = 0;

  constexpr ConcatParts(const Leaf& leaf, int along) {
    for (int d = 0; d < along; ++d) runs *= leaf.out.shape.sizes[d];
    first = leaf.in.elements() / runs;
    second = leaf.other.elements() / runs;
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Concat, graph_room::ConcatAlong;
}  // namespace heddle
