// SPDX-License-Identifier: MIT
#include "heddle/backend/ranks_here.hpp"

#include <doctest/doctest.h>

#include <exception>
#include <stdexcept>

using namespace heddle;

namespace {
struct Three : backend_room::RanksHere {
  Three() : RanksHere(3) {}
  void thrown(std::size_t rank, const char* words) { errors_[rank] = std::make_exception_ptr(std::runtime_error(words)); }
};
}  // namespace

TEST_CASE("what a rank has thrown is its own, and the lowest rank's is thrown first") {
  Three ranks;
  CHECK_FALSE(ranks.failed());
  ranks.rethrow_first();
  ranks.thrown(2, "third");
  CHECK((ranks.failed() && ranks.error(2) != nullptr && ranks.error(0) == nullptr));
  CHECK_THROWS_WITH(ranks.rethrow_first(), "third");
  ranks.thrown(1, "second");
  CHECK_THROWS_WITH(ranks.rethrow_first(), "second");
  CHECK((Three::local(Rank{2}) && Three::first_process()));
}
