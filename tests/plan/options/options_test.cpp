// SPDX-License-Identifier: MIT
#include "heddle/plan/options/options.hpp"

#include <doctest/doctest.h>

#include <string>
#include <type_traits>

using namespace heddle;

TEST_CASE("options keep their quantity in bytes, decimal or binary as written") {
  static_assert(Memory<80_GB>::memory_budget == Bytes{80'000'000'000});
  static_assert(Memory<2_MiB>::memory_budget == Bytes{2'097'152});
  static_assert(Bucket<1_KiB>::bucket_bytes == Bytes{1024});
  CHECK(Memory<80_GB>::memory_budget != Memory<80_GiB>::memory_budget);
}

TEST_CASE("a number without a unit is told what it lacks") {
  static_assert(Memory<10_MiB>::named.ok() && Bucket<1_KiB>::named.ok());
  CHECK(Memory<10>::named.sentence().view() == "[heddle.C04] Memory<10> names no unit. Fix: write Memory<10_MiB>, or _KiB or _GB.");
  CHECK(Bucket<25>::named.sentence().view() == "[heddle.C04] Bucket<25> names no unit. Fix: write Bucket<25_MiB>, or _KiB or _GB.");
}

TEST_CASE("the same quantity in another unit is the same option") {
  static_assert(std::is_same_v<Memory<1024_KiB>, Memory<1_MiB>>);
  static_assert(!std::is_same_v<Bucket<1_KiB>, Bucket<1_KB>>);
  CHECK(default_bucket == 25_MiB);  // PyTorch's bucket_cap_mb
}

TEST_CASE("Mixed takes bfloat16, and tells of another type; of several options the first refusal is told") {
  static_assert(Mixed<BFloat16>::values == ElementType::bfloat16 && Mixed<BFloat16>::named.ok());
  CHECK(std::string{Mixed<float>::named.sentence().view()} ==
        "[heddle.L23] Mixed<float> names no type that values are kept in. Fix: write Mixed<BFloat16>, or leave Mixed out for float32.");
  CHECK(plan_room::first_of({}, Memory<10>::named, Mixed<float>::named).code == Code{'C', 4});
  CHECK(plan_room::first_of({}, {}, Mixed<float>::named).code == Code{'L', 23});
  CHECK(plan_room::first_of({}, {}, {}).ok());
}
