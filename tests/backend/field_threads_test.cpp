// SPDX-License-Identifier: MIT
#include "heddle/backend/field_threads.hpp"

#include <doctest/doctest.h>

using namespace heddle;

namespace {

struct Net : Sequential<Linear<3, 4>, ReLU, Linear<4, 2>> {};
using Spread = Plan<Net, CrossEntropy, SGD, Batch<4>, DataParallel<2>>;

}  // namespace

TEST_CASE("prove without a backend runs on threads") {
  const Proof proof = prove<Spread>();
  CHECK(proof.ok());
  CHECK(proof.first_process);
  CHECK(proof.line() == prove<Spread, FieldThreads>().line());
}

TEST_CASE("the pairing computes in the field, and its sums do") {
  static_assert(ProvesPlans<FieldThreads> && !RunsPlans<FieldThreads>);  // it trains nothing
  TransportNeeds needs;
  needs.ranks = 2;
  needs.groups = {{0, 1}};
  FieldThreads::Session session{needs, std::chrono::seconds{5}};
  float data[] = {Field::write(Field::modulus - 1), Field::write(3)};
  session.run([&](int rank) {
    auto& endpoint = session.endpoint(Rank{rank});
    endpoint.all_reduce_wait(0, endpoint.all_reduce_start(0, data + rank, 1));
  });
  CHECK(Field::read(data[0]) == 2);
  CHECK(Field::read(data[1]) == 2);
}
