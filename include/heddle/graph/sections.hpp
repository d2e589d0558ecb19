// SPDX-License-Identifier: MIT
// Room: graph. The sections of a value that two others make, one behind the other: which of them each of the two has.
// Sees: core, graph/leaf.  Does not see: policies, devices, memory.
// In: how the joined value lies, sizes along its dimension.  Out: how both operands lie, a Signature in the sections that a reader asks for.
#pragma once

#include <cstdint>

#include "heddle/graph/leaf.hpp"

namespace heddle::graph_room {

/// How two values lie that stand one behind the other along a dimension. Queries, keys and values of 8, 4 and 4 features in sections 2:1:1: the first
/// two together are in sections 2:1, the last is plain.
struct PartsOfTwo {
  Laid first{};
  Laid second{};
  [[nodiscard]] constexpr bool fit() const { return first.sharded() && second.sharded(); }
};

/// Of 12 features in sections 2:1 the first 8 and the last 4 are plain. Nothing fits where one of the two would end within a section.
[[nodiscard]] constexpr PartsOfTwo parts_of_two(Laid joined, std::int64_t first, std::int64_t second) {
  const std::int64_t share = (first + second) / joined.shares();
  if (!joined.in_sections() || share == 0 || (first + second) % joined.shares() != 0 || second % share != 0) return {};
  const std::int64_t behind = second / share;
  if (behind >= joined.sections()) return {};
  const int front = joined.sections() - static_cast<int>(behind);
  return {laid::shard(joined.dimension(), front, front > 1 ? joined.first() : 1), laid::shard(joined.dimension(), static_cast<int>(behind))};
}

/// The sections of two plain values, the first as one section; Replicate where they are more than a Laid counts. Of 8 and 4 features: 2:1. Of 8 and
/// 12: 2:1:1:1.
[[nodiscard]] constexpr Laid sections_of_two(int dimension, std::int64_t first, std::int64_t second) {
  std::int64_t share = first;
  for (std::int64_t b = second; b > 0;) {
    const std::int64_t rest = share % b;
    share = b;
    b = rest;
  }
  if (share < 1 || second / share >= Laid::most_sections || first / share > Laid::most_of_first) return laid::replicate;
  return laid::shard(dimension, 1 + static_cast<int>(second / share), static_cast<int>(first / share));
}

/// A signature whose output lies in the sections in which a reader takes it. Of a leaf that puts two values one behind the other each value has the
/// sections that are its own; where they do not fit, the signature stays as it is stated.
/// Tested  graph/sections_test
[[nodiscard]] constexpr Signature in_sections(const Leaf& leaf, const Signature& stated, Laid asked) {
  if (leaf.operands == 1) return stated.in_sections_of(asked);
  const Laid joined = laid::in_sections_of(asked, stated.output);
  if (!joined.sharded() || joined.dimension() >= leaf.in.shape.dimensions) return stated;
  const int along = joined.dimension();
  const PartsOfTwo parts = parts_of_two(joined, leaf.in.shape.sizes[along], leaf.other.shape.sizes[along]);
  if (!parts.fit()) return stated;
  Signature all = stated;
  all.input = all.input_gradient = parts.first;
  all.second = parts.second;
  all.output = all.output_gradient = joined;
  return all;
}

}  // namespace heddle::graph_room
