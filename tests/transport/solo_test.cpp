// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "heddle/transport/solo.hpp"

using namespace heddle;

TEST_CASE("a sum over one position is what is there already") {
  Solo solo{2};
  float data[3] = {1, 2, 3};
  auto& endpoint = solo.endpoint(Rank{0});
  CHECK(endpoint.all_reduce_start(1, data, 3) == 0);
  CHECK(endpoint.all_reduce_start(1, data, 3) == 1);
  endpoint.all_reduce_wait(1, 1);
  endpoint.all_reduce_wait(1, 0);
  CHECK((data[0] == 1 && data[1] == 2 && data[2] == 3));
  CHECK(solo.sent(Rank{0}, Movement::all_reduce) == Sent{});
  solo.reset();
  CHECK(endpoint.all_reduce_start(1, data, 3) == 0);
}

TEST_CASE("there is nobody to exchange with") {
  Solo solo;
  float data = 0;
  auto& endpoint = solo.endpoint();
  CHECK_THROWS_WITH_AS(endpoint.send_start(0, &data, 1), doctest::Contains("[heddle.T04] rank 0 cannot exchange with rank 0"), Error);
  CHECK_THROWS_AS(endpoint.receive_start(0, &data, 1), Error);
  CHECK_THROWS_AS(endpoint.send_start(1, &data, 1), Error);
  CHECK_THROWS_AS(endpoint.send_wait(1, 0), Error);
  CHECK_THROWS_AS(endpoint.receive_wait(1, 0), Error);
}

TEST_CASE("the only slice is the whole, in place or elsewhere") {
  Solo solo{1};
  float whole[3] = {1, 2, 3}, slice[3] = {}, back[3] = {};
  auto& endpoint = solo.endpoint();
  endpoint.reduce_scatter_wait(0, endpoint.reduce_scatter_start(0, whole, whole, 3));
  endpoint.reduce_scatter_wait(0, endpoint.reduce_scatter_start(0, whole, slice, 3));
  endpoint.all_gather_wait(0, endpoint.all_gather_start(0, slice, back, 3));
  CHECK((whole[0] == 1 && slice[1] == 2 && back[2] == 3));
  CHECK(solo.sent(Rank{0}, Movement::reduce_scatter) == Sent{});
  CHECK(solo.sent(Rank{0}, Movement::all_gather) == Sent{});
}
