// SPDX-License-Identifier: MIT
#include "heddle/plan/checked.hpp"

#include <doctest/doctest.h>

#include "heddle/plan/inference.hpp"
#include "plan/plans.hpp"
#include "says.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

template <class... Options> using Alone = Plan<Mnist, CrossEntropy, Adam, Batch<64, KeepLast>, Single, Options...>;

}  // namespace

TEST_CASE("a plan over its budget names the stage, its bytes and the largest contributors") {
  constexpr Bytes needed = peak_memory<Alone<>>();
  static_assert(check<Alone<Memory<needed>>>().ok());
  constexpr Diagnosis found = check<Alone<Memory<needed - 1_B>>>();
  static_assert(found.code == Code{'C', 1});
  static_assert(found.numbers[0] == 0 && found.numbers[1] == needed.value && found.numbers[2] == needed.value - 1);
  CHECK(says(found, "optimizer states with 327,680 bytes"));
}

TEST_CASE("a budget of nothing is refused and not taken for none, of a plan and of an Inference") {
  static_assert(check<Alone<Memory<0_MiB>>>().code == Code{'C', 2});
  static_assert(check<Inference<Mnist, Batch<64>, Single, Memory<0_MiB>>>().code == Code{'C', 2});
  static_assert(check<Alone<Bucket<0_MiB>>>().code == Code{'C', 3} && check<Alone<Bucket<Bytes{-1}>>>().code == Code{'C', 3});
  CHECK(says(check<Alone<Memory<Bytes{-1}>>>(), "a Memory of -1 bytes allows no plan"));
}
