// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/vectors.hpp"

#include <doctest/doctest.h>

#include "compute/cuda/against_loops.hpp"
#include "compute/cuda/own_kernels.hpp"

using namespace heddle;
using against_loops::Card;
using conformance::CardTensors;

namespace {

/// Each element of each vector is counted by the thread that has it; sums has that of all elements of a block.
template <class Way> struct CountElements {
  static constexpr const char* name = "CountElements";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B> void operator()(B& b, std::int64_t vectors, std::int64_t n, bool packed, float* counts, double* sums) const {
    const Team<Way::whole, B> team(b);
    const Places<Way> places(team, n, packed);
    double own = 0;
    for (std::int64_t v = team.first(); v < vectors; v += team.teams()) {
      double of_vector = 0;
      places.each([&](int, const FourPlaces& at) {
        Pack<float> pack = at.of(counts + v * n);
        for (int e = 0; e < Pack<float>::count; ++e) of_vector += at.has(e) ? 1 : 0;
        for (float& count : pack.values) ++count;
        at.put(pack, counts + v * n);
      });
      const double of_team = team.template folded<Added>(of_vector);
      if (team.thread() == 0) own += of_team;
    }
    own = team.sum_of_block(own);
    if (b.thread() == 0) sums[b.index()] = own;
  }
};

/// Whether each element is one thread's, and the sums are that of all; packs where n allows it, or never.
bool each_once(std::int64_t vectors, std::int64_t n, bool packs, std::int64_t most_blocks) {
  Floats counts(static_cast<std::size_t>(vectors * n));
  double all = 0;
  with_team(n, [&](auto way) {
    const Extents extents = extents_of_teams(way, vectors, most_blocks);
    std::vector<double> sums(static_cast<std::size_t>(extents.blocks));
    CardTensors card;
    launch<CountElements<decltype(way)>>(card.space({}).queue->stream, extents, vectors, n, packs && n % 4 == 0,
                                         card.made(counts.data(), vectors * n), card.made(sums.data(), extents.blocks));
    card.finish();
    for (const double sum : sums) all += sum;
  });
  for (const float count : counts)
    if (count != 1) return false;
  return all == static_cast<double>(vectors * n);
}

}  // namespace

TEST_CASE("every element of a vector is one thread's, whoever shares it and however it is read") {
  const Card card;
  for (const std::int64_t n : {1, 3, 4, 33, 255, 256, 257, 1000, 1024, 1025, 8192, 8193, 20000})
    for (const bool packs : {false, true}) CHECK(each_once(n > 1024 ? 3 : 19, n, packs, 2));
  CHECK(each_once(0, 5, true, 2));
}

TEST_CASE("a fold of doubles keeps their digits, and the largest of a block is found in any lane") {
  CHECK((Larger::of(2.0F, -infinity) == 2 && Larger::of(-infinity, -infinity) == -infinity && Added::of(0x1p-30, 1.0) == 1 + 0x1p-30));
  CHECK((extents_of_teams(TeamWay<false, 2>{}, 17).blocks == 3 && extents_of_teams(TeamWay<true, 8>{}, 17).blocks == 17));
  CHECK(extents_of_teams(TeamWay<true, 8>{}, 17, 5).blocks == 5);
}
