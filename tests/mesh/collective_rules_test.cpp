// SPDX-License-Identifier: MIT
#include "heddle/mesh/collective_rules.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "says.hpp"

using namespace heddle;
using heddle::tests::says;

namespace {

constexpr Placements term = placements_of<Partial<axis::data>>();
constexpr Placements part = placements_of<Shard<axis::data>>();

struct MeanOfFour {
  static constexpr int mean_rows = 4;
};
/// No mean: its member only has the name.
struct Padded {
  static constexpr int mean_rows = 4;
  float sum = 0;
  [[nodiscard]] constexpr float* data() { return &sum; }
  [[nodiscard]] static constexpr std::int64_t size() { return 1; }
};

}  // namespace

template <> inline constexpr bool heddle::mesh_room::is_mean_of_rows<MeanOfFour> = true;

TEST_CASE("P13: a reduction takes a sum that is not yet taken over its axis, and only that") {
  CHECK(may_reduce(CalledCollective::all_reduce, axis::data, term).ok());
  const Diagnosis again = may_reduce(CalledCollective::all_reduce, axis::data, {});
  CHECK(again.code == Code{'P', 13});
  CHECK(says(again, "all_reduce over data takes a sum that is not yet taken, but the value is Replicate"));
  CHECK(says(may_reduce(CalledCollective::all_reduce, axis::shard, term), "name data"));
  CHECK(says(may_reduce(CalledCollective::reduce_scatter, axis::data, part), "parts, not terms"));
  CHECK(may_call<CalledCollective::all_reduce, axis::data, axis::data>(term).code == Code{'P', 13});  // the second time nothing is left to take
  CHECK(may_call<CalledCollective::all_reduce, axis::data, axis::shard>(placements_of<Partial<axis::shard, axis::data>>()).ok());
}

TEST_CASE("P13: a gather joins parts along dimension 0") {
  CHECK(may_gather(axis::data, part).ok());
  CHECK(says(may_gather(axis::data, term), "a term of a sum"));
  CHECK(says(may_gather(axis::data, {}), "has all of it"));
  CHECK(says(may_gather(axis::data, placements_of<Shard<axis::data, 1>>()), "split along dimension 1"));
  CHECK(says(may_gather(axis::data, placements_of<Shard<axis::data>, Shard<axis::tensor>>()), "split over tensor as well"));
  CHECK(may_gather(axis::data, placements_of<Shard<axis::data>, Shard<axis::tensor, 1>>()).ok());
  CHECK(may_call<CalledCollective::reduce_scatter, axis::data>(placements_of<Partial<axis::data>, Shard<axis::tensor>>()).code == Code{'P', 13});
}

TEST_CASE("P13: a broadcast replaces neither terms nor parts") {
  CHECK(may_broadcast(axis::data, {}).ok());
  CHECK(may_broadcast(axis::shard, term).ok());
  CHECK(says(may_broadcast(axis::data, term), "terms of a sum"));
  CHECK(says(may_broadcast(axis::data, part), "other parts"));
}

TEST_CASE("P16 and P18: means, plain values, what cannot move or grow, no axis, no reason") {
  using Term = Distributed<float, Partial<axis::data>>;
  CHECK(call_is_sound<CalledCollective::all_reduce, Term, axis::data>().ok());
  CHECK(says(call_is_sound<CalledCollective::all_reduce, Term>(), "names no axis"));
  CHECK(says(call_is_sound<CalledCollective::all_reduce, float, axis::data>(), "does not say how it lies"));
  CHECK(call_is_sound<CalledCollective::broadcast, float, axis::data>().ok());
  CHECK(call_is_sound<CalledCollective::all_reduce, Distributed<double, Partial<axis::data>>, axis::data>().code == Code{'P', 18});
  CHECK(says(call_is_sound<CalledCollective::all_gather, Distributed<float, Shard<axis::data>>, axis::data>(), "resize()"));
  CHECK(call_is_sound<CalledCollective::all_gather, Distributed<std::vector<float>, Shard<axis::data>>, axis::data>().ok());
  CHECK(call_is_sound<CalledCollective::all_reduce, Distributed<MeanOfFour, Partial<axis::data>>, axis::data>().code == Code{'P', 16});
  CHECK(call_is_sound<CalledCollective::all_reduce, Distributed<Padded, Partial<axis::data>>, axis::data>().ok());
  CHECK(says(Assuming<false, Term, axis::data>::found, "has no reason"));
  CHECK(Assuming<true, Term, axis::data>::found.ok());
  CHECK(Assuming<true, Term, axis::shard>::found.code == Code{'P', 13});
}

TEST_CASE("the result lies as the collective says") {
  using Both = Distributed<std::vector<float>, Partial<axis::data, axis::shard>>;
  CHECK(placements_after<CalledCollective::all_reduce, Both, axis::data>() == placements_of<Partial<axis::shard>>());
  CHECK(placements_after<CalledCollective::reduce_scatter, Both, axis::shard>() == placements_of<Partial<axis::data>, Shard<axis::shard>>());
  CHECK(placements_after<CalledCollective::all_reduce, Both, axis::tensor>() == placements_of<Partial<axis::data, axis::shard>>());  // refused
}
