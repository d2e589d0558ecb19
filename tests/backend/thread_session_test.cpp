// SPDX-License-Identifier: MIT
#include "heddle/backend/thread_session.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <stdexcept>

using namespace heddle;

TEST_CASE("a job runs once for every rank, and what a rank throws is told by rank") {
  TransportNeeds needs;
  needs.ranks = 3;
  ThreadSession session{needs, std::chrono::seconds{5}};
  std::atomic<int> sum = 0;
  session.run([&](int rank) { sum += 1 << rank; });
  CHECK(sum == 7);
  CHECK_FALSE(session.failed());
  session.run([&](int rank) {
    if (rank == 1) throw std::runtime_error("one");
  });
  CHECK(session.failed());
  CHECK((session.error(1) != nullptr && session.error(0) == nullptr));
  CHECK_THROWS_WITH(session.rethrow_first(), "one");
  CHECK(session.reset());
}

TEST_CASE("sums of collectives add as the pairing says") {
  TransportNeeds needs;
  needs.ranks = 2;
  needs.groups = {{0, 1}};
  needs.add = [](float* target, const float* a, const float* b, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) target[i] = a[i] * b[i];
  };
  ThreadSession session{needs, std::chrono::seconds{5}};
  float data[] = {3, 5};
  session.run([&](int rank) {
    auto& endpoint = session.endpoint(Rank{rank});
    endpoint.all_reduce_wait(0, endpoint.all_reduce_start(0, data + rank, 1));
  });
  CHECK((data[0] == 15 && data[1] == 15));
}
