// SPDX-License-Identifier: MIT
// Room: transport. The fixed binary tree along which positions are summed, one pass over a range of elements.
// Sees: seams/concepts.  Does not see: threads, groups, every other room.
// In: one buffer per position, a range.  Out: in every buffer, or in one, the same sum, to the last bit.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "heddle/seams/concepts.hpp"

namespace heddle::transport_room {

inline constexpr int most_tree_levels = 16;
inline constexpr std::int64_t tree_block = 256;  // elements; a block of every level stays in the first-level cache
/// Compilers vectorise a loop of constant length at -O2 as well; a loop of unknown length only at -O3.
inline constexpr int unrolled_elements = 16;

/// target[i] = sum(i), in blocks of constant length and a rest.
template <class Sum> void for_each_unrolled(std::int64_t first, std::int64_t last, Sum sum) {
  std::int64_t i = first;
  for (; i + unrolled_elements <= last; i += unrolled_elements)
    for (int j = 0; j < unrolled_elements; ++j) sum(i + j);
  for (; i < last; ++i) sum(i);
}

inline void tree_sum_of_two(float* __restrict a, float* __restrict b, std::int64_t first, std::int64_t last) {
  for_each_unrolled(first, last, [=](std::int64_t i) {
    const float sum = a[i] + b[i];
    a[i] = sum;
    b[i] = sum;
  });
}

inline void tree_sum_of_four(float* __restrict a, float* __restrict b, float* __restrict c, float* __restrict d, std::int64_t first,
                             std::int64_t last) {
  for_each_unrolled(first, last, [=](std::int64_t i) {
    const float sum = (a[i] + b[i]) + (c[i] + d[i]);
    a[i] = sum;
    b[i] = sum;
    c[i] = sum;
    d[i] = sum;
  });
}

inline void add_block(float* __restrict target, const float* __restrict a, const float* __restrict b, std::int64_t elements) {
  for_each_unrolled(0, elements, [=](std::int64_t i) { target[i] = a[i] + b[i]; });
}

/// Addition commutes to the last bit; what counts is the shape of the tree.
inline void add_to_block(float* __restrict target, const float* __restrict other, std::int64_t elements) {
  for_each_unrolled(0, elements, [=](std::int64_t i) { target[i] += other[i]; });
}

/// Partial sums of one block: levels[l] holds the sum of 2^(l+1) neighbours, as bit l of a counter of pairs.
struct TreeLevels {
  alignas(64) float levels[most_tree_levels][tree_block];
};

/// How blocks are added: as floats, in loops that compilers turn into vector code, or by a function.
struct AddFloats {
  static void sum(float* target, const float* a, const float* b, std::int64_t elements) { add_block(target, a, b, elements); }
  static void more(float* target, const float* other, std::int64_t elements) { add_to_block(target, other, elements); }
};
/// Adds by a function of the backend, as exact arithmetic has one: 3 + 4 is 7, modulo its prime.
struct AddBy {
  AddElements add;
  void sum(float* target, const float* a, const float* b, std::int64_t elements) const { add(target, a, b, elements); }
  void more(float* target, const float* other, std::int64_t elements) const { add(target, target, other, elements); }
};

/// Where the sum of one block is, for any number of positions: in one of the levels, or in the only buffer.
template <class Add>
const float* tree_sum_block(Add add, TreeLevels& partial, const float* const* buffers, int members, std::int64_t first, std::int64_t elements) {
  auto& levels = partial.levels;
  const int pairs = members / 2;
  for (int p = 0; p < pairs; ++p) {
    const int level = std::countr_one(static_cast<unsigned>(p));
    add.sum(levels[level], buffers[2 * p] + first, buffers[2 * p + 1] + first, elements);
    for (int l = 0; l < level; ++l) add.more(levels[level], levels[l], elements);
  }
  const float* right = members % 2 == 1 ? buffers[members - 1] + first : nullptr;
  for (int l = 0; l < most_tree_levels; ++l) {
    if ((pairs >> l & 1) == 0) continue;
    if (right != nullptr) add.more(levels[l], right, elements);
    right = levels[l];
  }
  return right;
}

/// visit(first element, elements, their sum) for each block of elements [first, last).
template <class Visit>
void each_tree_sum(const float* const* buffers, int members, std::int64_t first, std::int64_t last, AddElements add, Visit visit) {
  TreeLevels partial;
  for (std::int64_t block = first; block < last; block += tree_block) {
    const std::int64_t elements = std::min(tree_block, last - block);
    visit(block, elements,
          add == nullptr ? tree_sum_block(AddFloats{}, partial, buffers, members, block, elements)
                         : tree_sum_block(AddBy{add}, partial, buffers, members, block, elements));
  }
}

/// Writes the sum over positions to elements [first, last) of every buffer.
///
/// The tree is that of a binary counter: positions are taken from left to right, neighbours of equal size are added, and what is left over is
/// combined from the smallest to the largest: (a0+a1)+a2 for three, ((a0+a1)+(a2+a3))+(a4+a5) for six. Each element has its own tree, so any
/// partition of the range gives the same bits. The sum is that of floats, or by `add`.
/// Shape   members buffers that do not overlap, fewer than 2^16
/// Source  sources.md#reproducible-sums
/// Tested  transport/tree_sum_test
inline void tree_sum_to_all(float* const* buffers, int members, std::int64_t first, std::int64_t last, AddElements add = nullptr) {
  if (members < 2) return;
  if (members == 2 && add == nullptr) return tree_sum_of_two(buffers[0], buffers[1], first, last);
  if (members == 4 && add == nullptr) return tree_sum_of_four(buffers[0], buffers[1], buffers[2], buffers[3], first, last);
  each_tree_sum(buffers, members, first, last, add, [&](std::int64_t block, std::int64_t elements, const float* sum) {
    for (int q = 0; q < members; ++q) std::memcpy(buffers[q] + block, sum, static_cast<std::size_t>(elements) * sizeof(float));
  });
}

/// Writes the same sum, to the last bit, to target[0, last - first) only; the target may be that range of one of the buffers.
inline void tree_sum_to_one(const float* const* buffers, int members, std::int64_t first, std::int64_t last, float* target,
                            AddElements add = nullptr) {
  each_tree_sum(buffers, members, first, last, add, [&](std::int64_t block, std::int64_t elements, const float* sum) {
    if (target + (block - first) != sum) std::memcpy(target + (block - first), sum, static_cast<std::size_t>(elements) * sizeof(float));
  });
}

}  // namespace heddle::transport_room
