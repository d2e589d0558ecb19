// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "heddle/transport/group_ring.hpp"

using namespace heddle;

namespace {
std::vector<std::vector<float>> ones(int members, std::size_t elements) {
  return std::vector<std::vector<float>>(static_cast<std::size_t>(members), std::vector<float>(elements, 1.0F));
}
bool post(GroupRing& ring, std::int64_t k, int position, std::vector<float>& data, std::int64_t elements) {
  return ring.post(k, position, {Movement::all_reduce, elements}, data.data(), data.data());
}
}  // namespace

TEST_CASE("one waiter alone completes everything") {
  for (const std::size_t elements : {0U, 1U, 1000U, 100000U}) {
    GroupRing ring{3, 1};
    for (std::int64_t k = 0; k < 5; ++k) {
      auto data = ones(3, elements);
      for (int q = 0; q < 3; ++q) {
        CHECK_FALSE(ring.done(k));
        CHECK_FALSE(ring.has_work(k));
        CHECK(post(ring, k, q, data[static_cast<std::size_t>(q)], static_cast<std::int64_t>(elements)) == (q == 2));
      }
      ring.work(k);
      CHECK(ring.done(k));
      for (const auto& one : data) CHECK(one == std::vector<float>(elements, 3.0F));
    }
  }
}

TEST_CASE("several waiters share the slices, each is summed once") {
  GroupRing ring{2, 1};
  for (std::int64_t k = 0; k < 20; ++k) {
    auto data = ones(2, 300000);
    for (int q = 0; q < 2; ++q) post(ring, k, q, data[static_cast<std::size_t>(q)], 300000);
    std::atomic<int> finishers{0};
    std::thread other([&] { finishers += ring.work(k) ? 1 : 0; });
    finishers += ring.work(k) ? 1 : 0;
    other.join();
    CHECK(finishers == 1);
    CHECK(ring.done(k));
    CHECK(data[0] == std::vector<float>(300000, 2.0F));
    CHECK(data[1] == data[0]);
  }
}

TEST_CASE("counts that differ complete without a sum and name the odd position") {
  GroupRing ring{3, 1};
  auto data = ones(3, 8);
  post(ring, 0, 0, data[0], 8);
  post(ring, 0, 2, data[2], 8);
  post(ring, 0, 1, data[1], 7);
  CHECK(ring.done(0));
  CHECK(ring.odd_position(0) == 1);
  CHECK((ring.posted(0, 0).elements == 8 && ring.posted(0, 1).elements == 7));
  CHECK(data == ones(3, 8));
}

TEST_CASE("a dead slot stays untouched by those who come later") {
  GroupRing ring{2, 2};
  auto data = ones(2, 8);
  post(ring, 0, 1, data[1], 8);
  CHECK((ring.started(0, 1) && !ring.started(0, 0)));
  CHECK(ring.kill(0));
  CHECK(ring.dead(0));
  CHECK_FALSE(post(ring, 0, 0, data[0], 8));
  CHECK_FALSE(ring.done(0));
  CHECK(data == ones(2, 8));
}

TEST_CASE("whoever comes too late for a number that was ended is missing for good, whatever it starts afterwards") {
  GroupRing ring{3, 2};
  auto data = ones(3, 8);
  CHECK(ring.first_missing(0) == 0);
  post(ring, 0, 0, data[0], 8);
  post(ring, 0, 2, data[2], 8);
  CHECK(ring.kill(0));
  CHECK(ring.first_missing(0) == 1);
  CHECK_FALSE(post(ring, 0, 1, data[1], 8));
  CHECK(ring.first_missing(0) == 1);
  GroupRing alone{3, 2};
  CHECK(alone.kill(1));  // nobody has started it, and nobody will
  CHECK((alone.dead(1) && alone.first_missing(1) == 0));
  for (int q = 0; q < 3; ++q) post(ring, 1, q, data[static_cast<std::size_t>(q)], 8);
  CHECK(ring.first_missing(0) == 1);
  CHECK(ring.first_missing(1) == 1);  // it starts nothing more, so nobody waits for what it will not do
  CHECK_FALSE(ring.done(1));
  ring.kill_all(0);
  CHECK(ring.dead(1));
}

TEST_CASE("a number is ended or completed while the last member starts it, and who ends it finds somebody missing") {
  for (int attempt = 0; attempt < 2000; ++attempt) {
    GroupRing ring{2, 1};
    auto data = ones(2, 8);
    post(ring, 0, 0, data[0], 8);
    std::atomic<bool> go{false};
    std::thread late([&] {
      while (!go.load()) continue;
      post(ring, 0, 1, data[1], 8);
    });
    go.store(true);
    for (int i = attempt % 64; i > 0; --i) spin_pause();
    const bool ended = ring.kill(0);
    if (ended && ring.first_missing(0) != 1) FAIL("nobody is missing in a number that was ended");
    late.join();
    if (ended == ring.done(0)) FAIL("a number is either ended or done");
  }
}

TEST_CASE("a member that leaves completes what all have started and ends the rest") {
  GroupRing ring{2, 2};
  auto full = ones(2, 100000), half = ones(2, 8);
  for (int q = 0; q < 2; ++q) post(ring, 0, q, full[static_cast<std::size_t>(q)], 100000);
  post(ring, 1, 0, half[0], 8);
  CHECK_FALSE(ring.kill(0));
  ring.kill_all(1);
  CHECK(ring.done(0));
  CHECK(full[0] == std::vector<float>(100000, 2.0F));
  CHECK_FALSE(ring.dead(1));  // position 1 has not started it
  ring.kill_all(0);
  CHECK(ring.dead(1));
}

TEST_CASE("slices are summed to their owners and gathered from them, shared or not") {
  for (const std::int64_t slice : {0, 5, 40000}) {
    GroupRing ring{3, 1};
    const auto elements = static_cast<std::size_t>(3 * slice);
    auto wholes = ones(3, elements), slices = ones(3, static_cast<std::size_t>(slice));
    for (int q = 0; q < 3; ++q) {
      const auto i = static_cast<std::size_t>(q);
      CHECK(ring.post(0, q, {Movement::reduce_scatter, 3 * slice}, wholes[i].data(), slices[i].data()) == (q == 2));
    }
    ring.work(0);
    CHECK(ring.done(0));
    CHECK(wholes == ones(3, elements));
    for (auto& one : slices) CHECK(one == std::vector<float>(static_cast<std::size_t>(slice), 3.0F));
    for (int q = 0; q < 3; ++q) {
      const auto i = static_cast<std::size_t>(q);
      ring.post(1, q, {Movement::all_gather, 3 * slice}, slices[i].data(), wholes[i].data());
    }
    ring.work(1);
    CHECK(ring.done(1));
    for (auto& one : wholes) CHECK(one == std::vector<float>(elements, 3.0F));
  }
}

TEST_CASE("kinds that differ complete without a movement and name the odd position") {
  GroupRing ring{2, 1};
  auto data = ones(2, 8);
  ring.post(0, 0, {Movement::all_gather, 8}, data[0].data(), data[0].data());
  ring.post(0, 1, {Movement::reduce_scatter, 8}, data[1].data(), data[1].data());
  CHECK(ring.done(0));
  CHECK(ring.odd_position(0) == 1);
  CHECK(data == ones(2, 8));
}
