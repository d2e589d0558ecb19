// SPDX-License-Identifier: MIT
#include "conformance/transport.hpp"

#include "heddle/transport/solo.hpp"

namespace {

class SoloWorld {
 public:
  static constexpr int most_ranks = 1;
  SoloWorld(int, const std::vector<std::vector<int>>& groups) : transport_(static_cast<int>(groups.size()), {.transfers = 4, .reductions = 4}) {}

  template <class Body> std::string run(Body body) { return body(transport_.endpoint(), 0); }
  [[nodiscard]] heddle::Sent sent(int rank, heddle::Movement kind) const { return transport_.sent(heddle::Rank{rank}, kind); }

 private:
  heddle::Solo transport_;
};

}  // namespace

TEST_CASE("one rank alone keeps the contract of every transport") { conformance::every_transport<SoloWorld>(); }
