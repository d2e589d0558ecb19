// SPDX-License-Identifier: MIT
#include "conformance/transport.hpp"

#include <chrono>

#include "heddle/transport/threads.hpp"
#include "heddle/transport/workers.hpp"

namespace {

class ThreadsWorld {
 public:
  static constexpr int most_ranks = 7;
  ThreadsWorld(int ranks, std::vector<std::vector<int>> groups)
      : transport_(ranks, std::move(groups), {.transfers = 4, .reductions = 4}, std::chrono::minutes{2}), workers_(ranks) {}

  template <class Body> std::string run(Body body) {
    std::vector<std::string> faults(static_cast<std::size_t>(transport_.ranks()));
    workers_.run([&](int rank) { faults[static_cast<std::size_t>(rank)] = body(transport_.endpoint(heddle::Rank{rank}), rank); });
    workers_.rethrow_first();
    for (const std::string& fault : faults)
      if (!fault.empty()) return fault;
    return "";
  }
  [[nodiscard]] heddle::Sent sent(int rank, heddle::Movement kind) const { return transport_.sent(heddle::Rank{rank}, kind); }

 private:
  heddle::Threads transport_;
  heddle::Workers workers_;
};

}  // namespace

TEST_CASE("threads keep the contract of every transport") { conformance::every_transport<ThreadsWorld>(); }
