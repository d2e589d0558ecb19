// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "heddle/transport/window.hpp"

using namespace heddle;

namespace {
std::string here() { return "send to rank 1"; }
Code code_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(std::string{error.what()}.find("send to rank 1") != std::string::npos);
    return error.code();
  }
  return {};
}
}  // namespace

TEST_CASE("starts are numbered from 0 and closed in any order") {
  Window window{3};
  CHECK(window.open(here) == 0);
  CHECK(window.open(here) == 1);
  CHECK(window.open(here) == 2);
  window.close(1, here);
  window.close(0, here);
  CHECK(window.open(here) == 3);
  CHECK(window.open(here) == 4);
  window.close(4, here);
  window.close(2, here);
  window.close(3, here);
  CHECK(window.next() == 5);
}

TEST_CASE("more starts than the limit are refused and take no number") {
  Window window{2};
  window.open(here);
  window.open(here);
  CHECK(code_of([&] { window.open(here); }) == Code{'T', 2});
  window.close(1, here);
  CHECK(code_of([&] { window.open(here); }) == Code{'T', 2});  // the oldest is still pending
  window.close(0, here);
  CHECK(window.open(here) == 2);
}

TEST_CASE("each start is waited for once") {
  Window window{2};
  CHECK(code_of([&] { window.close(0, here); }) == Code{'T', 3});
  window.open(here);
  window.open(here);
  window.close(1, here);
  CHECK(code_of([&] { window.close(1, here); }) == Code{'T', 3});
  CHECK(code_of([&] { window.close(-1, here); }) == Code{'T', 3});
  window.reset();
  CHECK(window.open(here) == 0);
}

TEST_CASE("a number is pending from its start to its wait") {
  Window window{3};
  CHECK_FALSE(window.pending(0));
  for (int k = 0; k < 3; ++k) window.open(here);
  window.close(1, here);
  CHECK(window.pending(0));
  CHECK_FALSE(window.pending(1));
  CHECK(window.pending(2));
  CHECK_FALSE(window.pending(3));
  CHECK_FALSE(window.pending(-1));
  window.close(0, here);
  CHECK_FALSE(window.pending(0));
  CHECK(window.pending(2));
}
