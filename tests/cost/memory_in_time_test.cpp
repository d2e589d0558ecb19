// SPDX-License-Identifier: MIT
#include "heddle/cost/memory_in_time.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "heddle/cost/predict.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

template <int Blocks> struct Even : Sequential<Input<1>, Embedding<2, 16>, Repeat<Blocks, Linear<16, 16, NoBias>>> {};
template <class Order> using Staged = Plan<Even<8>, MeanSquaredError, SGD, Batch<16>, Pipeline<Balanced<4>, Order, Microbatches<8>>>;

/// Most slots of frames that a device has in use at once, by what its memory is above that of the end of the step.
template <class P> std::vector<std::int64_t> most_frames() {
  const Program& p = P::training;
  const Prediction step = predict(p, Machine{});
  std::vector<std::int64_t> most(static_cast<std::size_t>(p.roles)), end(most);
  for (const MemoryAt& at : step.timeline.memory) {
    auto& top = most[static_cast<std::size_t>(at.device)];
    top = std::max(top, at.bytes.value);
    end[static_cast<std::size_t>(at.device)] = at.bytes.value;
  }
  for (int r = 0; r < p.roles; ++r) {
    const auto at = static_cast<std::size_t>(r);
    CHECK(most[at] <= p.arenas[r].total);
    most[at] = (most[at] - end[at]) / p.pools[r * pool_kinds].slot_bytes;
  }
  return most;
}

}  // namespace

TEST_CASE("1F1B keeps min(m, p-r) micro-batches in use on device r, and behind the first the input of one that arrives; GPipe all of them") {
  const std::vector<std::int64_t> few = most_frames<Staged<OneFOneB>>(), all = most_frames<Staged<GPipe>>();
  for (int r = 0; r < 4; ++r) {
    // The gradient that is received or left for the next backward takes less than a slot of the frames.
    CHECK(few[static_cast<std::size_t>(r)] == std::min(8, 4 - r) + (r > 0 ? 1 : 0));
    CHECK(all[static_cast<std::size_t>(r)] == 8);
  }
}

TEST_CASE("after a step what is left is what the device keeps for all of it, and slots fill the arena where all are in use") {
  using P = Plan<Even<4>, MeanSquaredError, Adam, Batch<16>, Single, Accumulate<2>>;
  const Program& p = P::training;
  const Prediction step = predict(p, Machine{});
  std::int64_t pools = 0;
  for (int k = 0; k < pool_kinds; ++k) pools += p.pools[k].slots * p.pools[k].slot_bytes;
  REQUIRE(pools > 0);
  std::int64_t most = 0;
  for (const MemoryAt& at : step.timeline.memory) most = std::max(most, at.bytes.value);
  CHECK(most == p.arenas[0].total);
  CHECK(step.timeline.memory.back().bytes.value == p.arenas[0].total - pools);
}

TEST_CASE("times of a device never go back") {
  const Prediction step = predict(Staged<OneFOneB>::training, Machine{.alpha = 100});
  const std::vector<MemoryAt>& memory = step.timeline.memory;
  for (std::size_t i = 1; i < memory.size(); ++i)
    if (memory[i].device == memory[i - 1].device) CHECK(memory[i].at.value > memory[i - 1].at.value);
}
