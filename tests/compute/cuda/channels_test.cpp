// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/channels.hpp"

#include <doctest/doctest.h>

#include "compute/cuda/against_loops.hpp"
#include "compute/cuda/own_kernels.hpp"
#include "heddle/graph/layers/batch_norm.hpp"

using namespace heddle;
using against_loops::Card;
using conformance::CardTensors;

namespace {

Leaf images(std::int64_t channels, std::int64_t height, std::int64_t width) {
  Leaf leaf;
  leaf.in = Spec{Shape{channels, height, width}};
  return leaf;
}

/// Each value is counted by the thread that has it; both sums of each share count values and rows.
struct CountValues {
  static constexpr const char* name = "CountValues";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B> void operator()(B& b, Channels all, float* counts, double* shares) const {
    const Team<true, B> team(b);
    const ShareOfChannel<B> own(b, all);
    TwoSums sums;
    own.each([&](std::int64_t at, int width) {
      Pack<float> pack = own.of(counts, at, width);
      for (float& count : pack.values) count += static_cast<float>(own.channel() + 1);
      own.put(pack, counts, at, width);
      sums.first += width;
    });
    own.each_row([&](std::int64_t) { ++sums.second; });
    sums.leave(b, team, shares);
  }
};
/// The sums of all shares of each channel.
struct SumShares {
  static constexpr const char* name = "SumShares";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B> void operator()(B& b, int count, const double* shares, double* sums) const {
    const Team<true, B> team(b);
    const TwoSums all = TwoSums::of(b, team, shares, b.index(), count);
    if (b.thread() != 0) return;
    sums[2 * b.index()] = all.first;
    sums[2 * b.index() + 1] = all.second;
  }
};

bool each_once(const Leaf& leaf, std::int64_t rows) {
  const Channels all(leaf, rows);
  Floats counts(static_cast<std::size_t>(rows * leaf.in.elements()));
  std::vector<double> sums(static_cast<std::size_t>(2 * all.channels));
  CardTensors card;
  const CudaMemory space = card.space({});
  auto* const shares = static_cast<double*>(card.scratch(Channels::scratch(leaf).value));
  launch<CountValues>(space.queue->stream, all.extents(), all, card.made(counts.data(), std::ssize(counts)), shares);
  launch<SumShares>(space.queue->stream, all.a_warp_each(), all.shares, static_cast<const double*>(shares), card.made(sums.data(), std::ssize(sums)));
  card.finish();
  bool once = true;
  for (std::size_t i = 0; i < counts.size(); ++i)
    once = once && counts[i] == static_cast<float>(static_cast<std::int64_t>(i) / all.values % all.channels + 1);
  for (std::size_t c = 0; c < sums.size(); c += 2)
    once = once && sums[c] == static_cast<double>(rows * all.values) && sums[c + 1] == static_cast<double>(rows);
  return once;
}

}  // namespace

TEST_CASE("every value of every channel is one thread's, in packs and singly, of one block and of several") {
  const Card card;
  CHECK(each_once(images(3, 2, 2), 1));
  CHECK(each_once(images(3, 5, 5), 4));
  CHECK(each_once(images(2, 40, 40), 9));
  CHECK(each_once(images(1, 37, 37), 7));
  CHECK((Channels(images(2, 40, 40), 9).shares == 3 && Channels(images(1, 37, 37), 7).shares == 9));
}

TEST_CASE("the shares of a channel are bounded, and so is their scratch, also that of a part of the channels") {
  CHECK(Channels(images(256, 14, 14), 64).shares == 3);
  CHECK(Channels(images(64, 112, 112), 4096).shares == 32);
  CHECK(Channels(images(3000, 28, 28), 4096).shares == 1);
  for (const std::int64_t channels : {1, 3, 375, 1500, 2048, 5000})
    for (std::int64_t part = 1; part <= channels; ++part)
      if (channels % part == 0)
        REQUIRE(2 * 8 * part * Channels(images(part, 64, 64), 1 << 20).shares <= Channels::scratch(images(channels, 64, 64)).value);
}
