// SPDX-License-Identifier: MIT
#include "heddle/backend/cuda_lanes.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cuda_emulator/cuda_emulator.hpp"
#include "heddle/transport/tree_sum.hpp"

using namespace heddle;
using backend_room::Card, backend_room::CardLanes, backend_room::queue_copy;

namespace {

constexpr std::int64_t n = 40;
struct Numbers {
  explicit Numbers(Card& card, std::int64_t count, float first)
      : card_(card), there_(compute_room::card_memory<float>(static_cast<std::size_t>(count), "a test")) {
    std::vector<float> given(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < given.size(); ++i) given[i] = first + static_cast<float>(i % 13) / 3;
    card.upload(at(), given.data(), given.size() * sizeof(float));
  }
  [[nodiscard]] float* at() const { return there_.get(); }
  [[nodiscard]] std::vector<float> down(std::int64_t count) const {
    std::vector<float> back(static_cast<std::size_t>(count));
    card_.download(back.data(), at(), back.size() * sizeof(float));
    return back;
  }
  Card& card_;
  compute_room::CardMemory<float> there_;
};

}  // namespace

TEST_CASE("an operation comes behind what was computed, and what is computed after its join comes behind it, in every order of the rest") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    cuda_emulator::reset({.seed = seed, .devices = 1});
    {
      Card card{0, {.workspace_bytes = 4096}};
      CardLanes lanes{card, 0};
      const Numbers a{card, n, 1}, b{card, n, 2}, c{card, n, 3}, d{card, n, 4};
      std::vector<int> marks;
      for (int round = 0; round < 3; ++round) {
        queue_copy(card.stream(), b.at(), a.at(), n);  // computed
        lanes.fork();
        lanes.copy(c.at(), b.at(), n);  // the operation
        const int mark = lanes.mark();
        marks.push_back(mark);
        lanes.join(mark);
        queue_copy(card.stream(), d.at(), c.at(), n);  // computed from what has come
      }
      CHECK(d.down(n) == a.down(n));
      CHECK(marks == std::vector<int>{0, 0, 0});  // one event does for all rounds
      lanes.fork();
      const int first = lanes.mark(), second = lanes.mark();
      CHECK((first == 0 && second == 1));
      lanes.join(second);
      lanes.join(first);
      card.wait();
    }
    CHECK(cuda_emulator::violations().empty());
    CHECK(cuda_emulator::alive() == "");
  }
}

TEST_CASE("sums of 1 to 200 members have the bits of the tree of the host") {
  cuda_emulator::reset({.devices = 1});
  for (const int members : {1, 2, 7, 63, 64, 65, 100, 128, 129, 193, 200}) {
    CAPTURE(members);
    Card card{0, {.workspace_bytes = 4096}};
    CardLanes lanes{card, members * n};
    CHECK(lanes.parts_size() == members * n);
    std::vector<std::vector<float>> given;
    std::vector<const float*> from;
    std::vector<float*> on_host;
    for (int m = 0; m < members; ++m) {
      auto& one = given.emplace_back(static_cast<std::size_t>(n));
      for (std::size_t i = 0; i < one.size(); ++i)
        one[i] = static_cast<float>((m * 37 + static_cast<int>(i) * 11) % 101) / 7 * (m % 3 == 0 ? 1e-3F : 1.0F);
      card.upload(lanes.parts() + m * n, one.data(), one.size() * sizeof(float));
      from.push_back(lanes.parts() + m * n);
    }
    const Numbers sum{card, n, 0};
    lanes.fork();
    lanes.sum(sum.at(), from.data(), members, n);
    lanes.join(lanes.mark());
    const std::vector<float> there = sum.down(n);
    for (auto& one : given) on_host.push_back(one.data());
    transport_room::tree_sum_to_all(on_host.data(), members, 0, n);
    CHECK(there == given[0]);
  }
  CHECK(cuda_emulator::violations().empty());
}
