// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/segment_runner.hpp"

#include <doctest/doctest.h>

#include <set>

#include "heddle/policy/sharded.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

template <int L> struct Deep : Sequential<Repeat<L, Residual<Linear<6, 24>, GELU, Linear<24, 6>>>> {};
template <class P> std::int64_t scratch() { return training_of<P>().arenas[0][RegionKind::scratch].bytes(); }

}  // namespace

TEST_CASE("scratch is that of one segment, however many there are") {
  CHECK(scratch<Trained<Deep<2>, Single, Recompute<EveryBlock>>>() == scratch<Trained<Deep<9>, Single, Recompute<EveryBlock>>>());
  CHECK(scratch<Trained<Deep<2>, Single, Recompute<EveryBlock>>>() > scratch<Trained<Deep<2>, Single>>());
}

TEST_CASE("nothing that is written in a backward body overlaps what is made again and still to be read") {
  const Program& p = training_of<Trained<Deep<4>, Single, Recompute<EveryBlock>>>();
  const auto bytes = [&](std::int64_t features) { return 4 * p.grain_stride(features) * p.batch.grains(); };
  const IndexRange body = p.backward_bodies[0];
  int looked_at = 0;
  for (int e = body.begin; e < body.end; ++e) {
    if (p.entries[e].what != BodyOp::leaf_forward) continue;
    const Place made = p.entries[e].d;
    const std::int64_t end = made.offset + bytes(p.entries[e].features);
    int last = e;
    for (int r = e + 1; r < body.end; ++r) {
      const Entry& reader = p.entries[r];
      if (reader.what == BodyOp::leaf_forward && reader.node < p.entries[e].node) break;  // another block
      if (reader.a == made && (reader.what == BodyOp::leaf_forward || reader.what == BodyOp::leaf_backward)) last = r;
    }
    CHECK(last > e);
    for (int w = e + 1; w < last; ++w) {
      const Entry& writer = p.entries[w];
      if (writer.d.pool != Place::scratch) continue;
      const std::int64_t features = writer.what == BodyOp::leaf_backward ? p.graph->leaf(writer.node).in.elements() : writer.features;
      CHECK((writer.d.offset >= end || writer.d.offset + bytes(features) <= made.offset));
      ++looked_at;
    }
  }
  CHECK(looked_at == 8);
}

TEST_CASE("a weight part finds what ran again in the slot of its micro-batch") {
  using P = Trained<Deep<4>, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, Recompute<EveryBlock>>;
  for (int c = 0; c < 2; ++c)
    for (int e = training_of<P>().weight_bodies[c].begin; e < training_of<P>().weight_bodies[c].end; ++e)
      CHECK(training_of<P>().entries[e].a.pool != Place::scratch);
  CHECK(training_of<P>().pools[pool_of(0, PoolKind::gradient_reread)].slot_bytes > 0);
}

TEST_CASE("the parameters of a unit are there before its layers run again") {
  const Program& p = training_of<Trained<Deep<3>, Sharded<2>, Recompute<EveryBlock>>>();
  std::set<int> gathered;
  int runs = 0;
  for (int e = p.backward_bodies[0].begin; e < p.backward_bodies[0].end; ++e) {
    const Entry& entry = p.entries[e];
    if (entry.what == BodyOp::gather_wait) CHECK(gathered.insert(entry.bucket).second);  // once each
    if (entry.what != BodyOp::leaf_forward || p.graph->nodes[entry.node].parameter_count == 0) continue;
    CHECK(gathered.count(p.bucket_of_node[entry.node]) == 1);
    ++runs;
  }
  CHECK(runs == 3);
}
