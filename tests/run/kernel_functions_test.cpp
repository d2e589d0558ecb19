// SPDX-License-Identifier: MIT
#include "heddle/run/kernel_functions.hpp"

#include <doctest/doctest.h>

#include <type_traits>

using namespace heddle;

namespace {

struct Elsewhere {};

}  // namespace

TEST_CASE("a table of the host is its own reference, and that of another memory has one beside it") {
  KernelTable here;
  here.states = 2;
  CHECK(&here.on_host() == &here);
  run_room::KernelTableIn<Elsewhere> there;
  CHECK(there.on_host().leaves == nullptr);  // nothing can be looked for on the host
  there.reference = here;
  CHECK(there.on_host().states == 2);
}

TEST_CASE("a loss gives its sum on the host, and writes it where the host does not read") {
  static_assert(std::is_same_v<decltype(KernelTable{}.loss), float (*)(const LossCall&)>);
  static_assert(std::is_same_v<decltype(run_room::KernelTableIn<Elsewhere>{}.loss), void (*)(const LossCallIn<Elsewhere>&)>);
}
