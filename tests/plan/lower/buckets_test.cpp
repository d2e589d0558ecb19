// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/buckets.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "heddle/graph/one_unit.hpp"
#include "heddle/plan/check/check.hpp"
#include "heddle/plan/options/groups.hpp"
#include "heddle/plan/options/options.hpp"
#include "heddle/policy/sharded.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

template <class Flat> std::vector<FlatBucket> buckets_of(const Graph& graph, const Layout& layout, const Flat& flat, std::int64_t bytes) {
  std::vector<FlatBucket> all;
  each_bucket(graph, layout, flat.view(), bytes, Storage{}, false, [&](const FlatBucket& b) { all.push_back(b); });
  return all;
}

/// A unit of three layers of 1,056 elements, whose last two begin at 1,056 and 2,112, in 3,168 and padding to 4,096; and a layer of 132 in 1,024.
struct Wide : Sequential<OneUnit<Linear<32, 32>, ReLU, Linear<32, 32>, Tanh, Linear<32, 32>>, Linear<32, 4>> {};
/// The same with layers that begin at 0, 528 and 800, of which 528 is no multiple of 32.
struct Odd : Sequential<OneUnit<Linear<32, 16>, ReLU, Linear<16, 16>, Tanh, Linear<16, 32>>, Linear<32, 4>> {};
template <class Model, class Policy, class... Options> using Of = Plan<Model, CrossEntropy, Adam, Batch<16>, Policy, Options...>;
template <class... Parts> using States = Of<Wide, Sharded<2, OptimizerState>, Parts...>;
using Third = Bucket<4_KiB>;  // 1,024 elements

/// Where the buckets of one role begin, from its end.
template <class P> std::vector<std::int64_t> begins() {
  const Program& p = P::training;
  REQUIRE(check(p).sentence().view() == "");
  std::vector<std::int64_t> all;
  std::int64_t end = p.arenas[0].flat_elements(), payload = 0;
  for (int b = 0; b < p.bucket_count; ++b) {
    CHECK(p.buckets[b].end() == end);
    CHECK(p.buckets[b].begin % (p.storage.parts * 16) == 0);  // slices are whole lines
    if (b > 0) CHECK(p.buckets[b].slot != p.buckets[b - 1].slot);
    end = p.buckets[b].begin;
    payload += p.buckets[b].payload;
    all.push_back(end);
  }
  CHECK(end == 0);
  CHECK(payload == p.graph->parameter_elements());
  return all;
}
using Begins = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("a bucket of slices ends inside a unit that is larger, where slices stay whole lines") {
  CHECK(begins<States<>>() == Begins{0});
  CHECK(begins<States<Third>>() == Begins{4096, 2112, 1056, 0});
  CHECK(begins<States<Bucket<8_KiB>>>() == Begins{2112, 0});
  CHECK(begins<Of<Odd, Sharded<2, OptimizerState>, Bucket<1_KiB>>>() == Begins{2048, 800, 0});
  CHECK(begins<Of<Odd, DataParallel<2>, Bucket<1_KiB>>>() == Begins{2048, 800, 528, 0});
  CHECK(begins<Of<Wide, Sharded<4, OptimizerState>, Third>>() == Begins{4096, 2112, 0});  // 64 elements do not divide 1,056
  CHECK(begins<Of<Wide, DataParallel<2>, Third>>() == Begins{4096, 2112, 1056, 0});
}

TEST_CASE("gradients of a ring end with each unit, and inside one if a bucket is named that is smaller: the ring is too") {
  using Units = Of<Wide, Sharded<2, Gradients>>;
  using Small = Of<Wide, Sharded<2, Gradients>, Third>;
  CHECK(begins<Units>() == Begins{4096, 0});
  CHECK(begins<Small>() == Begins{4096, 2112, 1056, 0});
  CHECK(Units::training.arenas[0][RegionKind::fresh].slot_bytes == 4 * 4096);
  CHECK(Small::training.arenas[0][RegionKind::fresh].slot_bytes == 4 * 1984);  // the last layer of the unit, and its padding
  CHECK(peak_memory<Small>() < peak_memory<Units>());
  CHECK(begins<Of<Wide, Sharded<2, Gradients>, Third, Recompute<EveryBlock>>>() == begins<Small>());  // what runs again is not due
}

TEST_CASE("what is gathered, clipped or lies by group is one bucket a unit, however large") {
  CHECK(begins<Of<Wide, Sharded<2>, Third>>() == Begins{4096, 0});
  CHECK(begins<States<Third, Clip<GlobalNorm>>>() == Begins{4096, 0});
  CHECK(begins<States<Third, NoDecay<>>>() == Begins{4096, 0});
  CHECK(begins<Of<Wide, DataParallel<2>, Third, NoDecay<>>>() == Begins{4096, 0});
}

TEST_CASE("the reduction of a bucket that ends inside a unit starts while the backward of the unit still runs") {
  const Program& p = States<Third>::training;
  int backwards = 0;  // behind the first start
  bool started = false;
  for (int e = p.backward_bodies[0].begin; e < p.backward_bodies[0].end; ++e) {
    const Entry& entry = p.entries[e];
    started = started || (entry.what == BodyOp::reduce_start && p.buckets[entry.bucket].highest_node < 5);
    backwards += started && entry.what == BodyOp::leaf_backward ? 1 : 0;
  }
  CHECK(backwards == 4);  // of two layers of the unit, and of what is between them
}

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
