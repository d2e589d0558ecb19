// SPDX-License-Identifier: MIT
#include "heddle/plan/check/bucket_flow.hpp"

#include <doctest/doctest.h>

#include "plan/flow.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

struct Found {
  std::vector<BucketFlow> buckets;
  std::vector<std::int16_t> bucket_of;
  Diagnosis fault;
  explicit Found(const Program& p)
      : buckets(static_cast<std::size_t>(p.bucket_count) + 1), bucket_of(static_cast<std::size_t>(p.graph->node_count)),
        fault(place_parameters(p, buckets.data(), bucket_of.data())) {}
};

}  // namespace

TEST_CASE("each layer is counted in the bucket in which its gradient lies") {
  const Program& p = HalvedSlices::training;
  const Found found{p};
  CHECK(found.fault.ok());
  int layers = 0;
  for (const BucketFlow& bucket : found.buckets) layers += bucket.left;
  CHECK(layers == 6);
  for (int n = 0; n < p.graph->node_count; ++n)
    if (p.graph->nodes[n].parameter_count > 0) CHECK(found.bucket_of[static_cast<std::size_t>(n)] == p.bucket_of_node[n]);
}

TEST_CASE("layers that share parameters are known by the graph") {
  const Program& p = TiedStages::training;
  const Found found{p};
  CHECK(found.fault.ok());
  int sharing = 0;
  for (int b = 0; b < p.bucket_count; ++b) {
    CHECK(found.buckets[static_cast<std::size_t>(b)].shares == p.buckets[b].shared);
    sharing += p.buckets[b].shared ? 1 : 0;
  }
  CHECK(sharing == 3);
}

TEST_CASE("a parameter that no bucket holds, or that lies in another ring than its layer looks, is named") {
  Copy copy{Replicas::training};
  copy.buckets[0].begin += 16;
  CHECK(refused_for(Found{copy.view()}.fault, Code{'S', 17}, "the gradient of parameter '0.weight' lies in no bucket"));
  Program p = HalvedSlices::training;
  std::vector<std::int16_t> other(p.bucket_of_node, p.bucket_of_node + p.graph->node_count);
  other[0] = 0;
  p.bucket_of_node = other.data();
  CHECK((refused_for(Found{p}.fault, Code{'S', 17}, "the gradient of parameter '0.weight' lies in no bucket") ||
         HalvedSlices::training.bucket_of_node[0] == 0));
}
