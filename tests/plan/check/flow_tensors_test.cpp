// SPDX-License-Identifier: MIT
#include "heddle/plan/check/flow_tensors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

constexpr Place at(int pool, std::int64_t offset) { return {static_cast<std::int16_t>(pool), offset}; }

struct Room {
  FlowPool pools[4]{};
  FlowTensor tensors[32]{};
  FlowTensors memory{pools, tensors, 4, 1};  // one grain of 4 rows: 4 elements a row are 64 bytes
  constexpr Room() {
    pools[2] = FlowPool{1024, 0, 0, 0, 0, 0};
    pools[3] = FlowPool{128, 0, 1, 0, 0, 0};
    memory.open(0, 256);
  }
};

}  // namespace

TEST_CASE("a tensor is found in its place until something is written over a part of it") {
  Room room;
  FlowTensors& memory = room.memory;
  CHECK(memory.at(at(0, 0)).what == 0);
  CHECK(memory.put(at(0, 0), 4, 11, lying::whole));
  CHECK(memory.put(at(0, 64), 4, 12, lying::term));
  CHECK(memory.put(at(0, 128), 8, 13, 2));
  CHECK(memory.at(at(0, 0)).what == 11);
  CHECK(memory.at(at(0, 128)).how == 2);
  CHECK(memory.at(at(0, 64)).what == 12);
  CHECK(memory.at(at(0, 192)).what == 0);
  CHECK(memory.put(at(0, 64), 4, 14, lying::whole));  // the very place: its neighbours stay
  CHECK(memory.at(at(0, 0)).what == 11);
  CHECK(memory.at(at(0, 64)).what == 14);
  CHECK(memory.put(at(0, 32), 4, 15, lying::whole));  // across two
  CHECK(memory.at(at(0, 0)).what == 0);
  CHECK(memory.at(at(0, 64)).what == 0);
  CHECK(memory.at(at(0, 32)).what == 15);
  CHECK(memory.put(at(0, 0), 4, 16, lying::whole));  // on what is no tensor any more
  CHECK(memory.at(at(0, 32)).what == 0);
  CHECK(memory.put(at(0, 128), 4, 17, lying::whole));  // shorter than what lies there
  CHECK(memory.at(at(0, 128)).elements == 4);
}

TEST_CASE("pools and scratch are apart; a place that is too small, or of another device, is none") {
  Room room;
  FlowTensors& memory = room.memory;
  CHECK(memory.put(at(Place::scratch, 0), 4, 21, lying::whole));
  CHECK(memory.put(at(0, 0), 4, 22, lying::whole));
  CHECK(memory.put(at(Place::scratch, 64), 4, 23, lying::whole));
  CHECK(memory.put(at(0, 64), 4, 24, lying::whole));
  CHECK(memory.at(at(Place::scratch, 0)).what == 21);
  CHECK(memory.at(at(0, 0)).what == 22);
  CHECK_FALSE(memory.put(at(Place::scratch, 256), 4, 25, lying::whole));
  CHECK_FALSE(memory.put(at(1, 0), 4, 25, lying::whole));
  CHECK_FALSE(memory.put(at(Place::nowhere, 0), 4, 25, lying::whole));
  memory.open(1, 64);
  CHECK(memory.at(at(Place::scratch, 0)).what == 0);
  CHECK(memory.put(at(1, 64), 4, 26, lying::whole));
  CHECK_FALSE(memory.put(at(1, 65), 4, 26, lying::whole));
}

TEST_CASE("no sum of up to three of the names of the loss and of the first layers is another such sum") {
  std::vector<std::uint64_t> names{FlowNames::targets, FlowNames::terms, FlowNames::shares, FlowNames::loss};
  for (std::uint64_t n = 5; n < 12; ++n) names.push_back(flow_name(n));
  std::vector<std::uint64_t> sums{0};  // of names that are chosen in one order: (0) (a) (a, b) (a, b, c)
  for (std::size_t a = 0; a < names.size(); ++a) {
    sums.push_back(names[a]);
    for (std::size_t b = a; b < names.size(); ++b) {
      sums.push_back(names[a] + names[b]);
      for (std::size_t c = b; c < names.size(); ++c) sums.push_back(names[a] + names[b] + names[c]);
    }
  }
  std::sort(sums.begin(), sums.end());
  CHECK(sums.size() == 1 + 11 + 66 + 286);
  CHECK(std::adjacent_find(sums.begin(), sums.end()) == sums.end());
}

TEST_CASE("a part is known by its runs, whatever shape it is read under") {
  CHECK(lies(Shape{4, 6}, laid::replicate) == lying::whole);
  CHECK(lies(Shape{4, 6}, laid::partial) == lying::term);
  CHECK(lies(Shape{4, 6}, laid::shard(0)) == 1);
  CHECK(lies(Shape{4, 6}, laid::shard(1)) == 4);
  CHECK(lies(Shape{24}, laid::shard(0)) == lies(Shape{4, 6}, laid::shard(0)));
}

TEST_CASE("a gradient is the sum of what its readers hand back, each once") {
  const Graph& graph = graph_of<Skips>;
  std::uint64_t values[16]{};
  std::uint64_t gradients[16]{};
  std::uint64_t terms[16]{};
  FlowNames{values, gradients, terms}.find(graph, true);
  CHECK(values[5] == values[1] + values[4]);
  CHECK(gradients[11] == FlowNames::loss);
  CHECK(gradients[1] == gradients[5] + terms[1]);
  CHECK(terms[4] == gradients[5]);
  for (int a = 0; a < 11; ++a)
    for (int b = 0; b < a; ++b) CHECK(values[a] != values[b]);
}
