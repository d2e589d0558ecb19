// SPDX-License-Identifier: MIT
#include "heddle/mesh/placements.hpp"

#include <doctest/doctest.h>

#include <set>
#include <type_traits>

using namespace heddle;

namespace {

template <Placements P> struct Tag {};

}  // namespace

TEST_CASE("the order of axes is no difference, and Replicate says nothing") {
  static_assert(placements_of<Partial<axis::data>, Shard<axis::tensor>>() == placements_of<Shard<axis::tensor>, Partial<axis::data>>());
  static_assert(placements_of<Partial<axis::data, axis::shard>>() == placements_of<Partial<axis::shard>, Partial<axis::data>>());
  static_assert(placements_of<Replicate>() == Placements{} && placements_of<>() == Placements{});
  static_assert(placements_of<Sum<axis::data>>() != placements_of<Mean<axis::data>>());
  static_assert(placements_of<Sum<axis::data>>() != Placements{});
  CHECK(spelled(placements_of<Replicate>()).view() == "Replicate");
}

TEST_CASE("every axis, placement, mark and dimension is read as it was put, and no two are the same number") {
  std::set<std::uint64_t> seen;
  for (const Axis a : every_axis)
    for (const Placement placement : {Placement::replicate, Placement::shard, Placement::partial})
      for (const Taken how : {Taken::unknown, Taken::sum, Taken::mean})
        for (const int dimension : {0, 1, Placements::most_dimension}) {
          Placements p;
          p.put(a, placement, how, dimension);
          CHECK(p.at(a) == placement);
          CHECK(p.taken(a) == how);
          CHECK(p.dimension(a) == dimension);
          CHECK(p.fault() == PlacementFault::none);
          for (const Axis other : every_axis)
            if (other != a) CHECK(p.at(other) == Placement::replicate);
          seen.insert(p.bits);
        }
  CHECK(seen.size() == 6 * (3 * 3 * 3 - 1) + 1);  // Replicate along any axis, with nothing known, is the same
}

TEST_CASE("types with another axis are other types") {  // g++ 12 mixes them up where placements are an array
  static_assert(!std::is_same_v<Tag<placements_of<Partial<axis::stage>>()>, Tag<placements_of<Partial<axis::data>>()>>);
  static_assert(!std::is_same_v<Tag<placements_of<Sum<axis::tensor>>()>, Tag<placements_of<Sum<axis::shard>>()>>);
  CHECK(placements_of<Partial<axis::stage>>().at(axis::stage) == Placement::partial);
}

TEST_CASE("placements are spelled as a user writes them") {
  CHECK(spelled(placements_of<Partial<axis::shard, axis::data>>()).view() == "Partial<data>, Partial<shard>");
  CHECK(spelled(placements_of<Shard<axis::tensor, 1>, Mean<axis::data>>()).view() == "Mean<data>, Shard<tensor, 1>");
  CHECK(spelled(placements_of<Sum<axis::expert>>()).view() == "Sum<expert>");
  CHECK(axes_with(placements_of<Partial<axis::shard, axis::data>>(), Placement::partial).view() == "data and shard");
}

TEST_CASE("an axis named twice, a dimension that cannot be and a foreign type are remembered") {
  static_assert(placements_of<Partial<axis::data>, Shard<axis::data>>().fault() == PlacementFault::axis_named_twice);
  static_assert(placements_of<Sum<axis::data>, Mean<axis::data>>().fault() == PlacementFault::axis_named_twice);
  static_assert(placements_of<Shard<axis::shard, -1>>().fault() == PlacementFault::dimension_out_of_range);
  static_assert(placements_of<Shard<axis::shard, 16>>().fault_axis() == axis::shard);
  static_assert(placements_of<int>().fault() == PlacementFault::no_placement);
  CHECK(placements_of<Partial<axis::data>, Shard<axis::shard>>().fault() == PlacementFault::none);
}
