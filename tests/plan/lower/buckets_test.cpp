// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/buckets.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

template <class Flat> std::vector<FlatBucket> buckets_of(const Graph& graph, const Layout& layout, const Flat& flat, std::int64_t bytes) {
  std::vector<FlatBucket> all;
  each_bucket(graph, layout, flat.view(), bytes, Storage{}, false, [&](const FlatBucket& b) { all.push_back(b); });
  return all;
}

}  // namespace

TEST_CASE("buckets of any size cover every role once, the last layer first") {
  constexpr const Graph& graph = graph_of<Skips>;
  constexpr Layout layout = cut_at(graph, {0, 5, 10}, {0, 1, 0});
  constexpr auto flat = lay_out_parameters<graph.parameter_count, graph.node_count, 2>(graph, layout);
  for (const std::int64_t bytes : {std::int64_t{1}, unit_bytes, 2 * unit_bytes, std::int64_t{1} << 30}) {
    std::int64_t payload = 0;
    std::int64_t end[2] = {flat.role_elements[0], flat.role_elements[1]};
    for (const FlatBucket& b : buckets_of(graph, layout, flat, bytes)) {
      CHECK(b.end() == end[b.role]);  // touches the bucket before it
      end[b.role] = b.begin;
      payload += b.payload;
      CHECK((b.begin == 0 || 4 * b.elements >= bytes));
      CHECK(layout.device_of_chunk[layout.chunk_of(b.lowest_node)] == b.role);
    }
    CHECK(end[0] == 0);
    CHECK(end[1] == 0);
    CHECK(payload == graph.parameter_elements());
  }
}

TEST_CASE("a bucket that holds all is one a role, a bucket of a byte is one a layer") {
  constexpr const Graph& graph = graph_of<Mnist>;
  constexpr Layout layout = cut_at(graph, {0}, {0});
  constexpr auto flat = lay_out_parameters<graph.parameter_count, graph.node_count, 1>(graph, layout);
  CHECK(buckets_of(graph, layout, flat, default_bucket.value).size() == 1);
  const auto small = buckets_of(graph, layout, flat, 1);
  REQUIRE(small.size() == 2);
  CHECK(small[0].lowest_node == 2);
  CHECK(small[0].payload == 510);
  CHECK(small[1].lowest_node == 0);
  CHECK(small[1].payload == 39'250);
}
