// SPDX-License-Identifier: MIT
// Room: transport. What a collective does to a range of elements where every member's buffers can be reached.
// Sees: seams/concepts, transport/movement, transport/tree_sum.  Does not see: who works when, groups, every other room.
// In: a source and a target per position, a range of the whole.  Out: sums and copies; any partition into ranges gives the same bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "heddle/seams/concepts.hpp"
#include "heddle/transport/movement.hpp"
#include "heddle/transport/tree_sum.hpp"

namespace heddle::transport_room {

/// The buffers of one collective, one per position: all-reduce works on the targets in place, reduce-scatter takes wholes and gives slices,
/// all-gather takes slices and gives wholes. A slice may be the owner's own place inside its whole.
/// A reduce-scatter of 6 elements by 3 members has 3 sources of 6 and 3 targets of 2.
struct CollectiveBuffers {
  Movement kind = Movement::all_reduce;
  int members = 1;
  std::int64_t elements = 0;  // of a whole; a multiple of members where there are slices
  const float* const* sources = nullptr;
  float* const* targets = nullptr;
  AddElements add = nullptr;
};

/// Calls part(owner, begin, end) for every slice of [first, last).
template <class Part> void for_each_owner(std::int64_t slice, std::int64_t first, std::int64_t last, Part part) {
  for (std::int64_t begin = first; begin < last;) {
    const std::int64_t owner = begin / slice;
    const std::int64_t end = std::min(last, (owner + 1) * slice);
    part(static_cast<int>(owner), begin, end);
    begin = end;
  }
}

/// Tested  transport/collective_work_test
inline void work_on_range(const CollectiveBuffers& b, std::int64_t first, std::int64_t last) {
  if (b.kind == Movement::all_reduce) return tree_sum_to_all(b.targets, b.members, first, last, b.add);
  const std::int64_t slice = b.elements / b.members;
  for_each_owner(slice, first, last, [&](int owner, std::int64_t begin, std::int64_t end) {
    const std::int64_t within = begin - owner * slice;
    if (b.kind == Movement::reduce_scatter) return tree_sum_to_one(b.sources, b.members, begin, end, b.targets[owner] + within, b.add);
    const float* const source = b.sources[owner] + within;
    for (int q = 0; q < b.members; ++q)
      if (b.targets[q] + begin != source) std::memcpy(b.targets[q] + begin, source, static_cast<std::size_t>(end - begin) * sizeof(float));
  });
}

}  // namespace heddle::transport_room
