// SPDX-License-Identifier: MIT
#include "equivalence/equal.hpp"

using namespace equivalence;

namespace {

template <class Policy, class... Options> using Of = Plan<Mlp, CrossEntropy, Adam, Policy, Options...>;
using Alone = Of<Single, Batch<64>, Grain<4>>;
using Twelve = Of<Single, Batch<96>, Grain<8>>;

}  // namespace

TEST_CASE("two replicas train to the bits of one device") { check_same_bits<Of<DataParallel<2>, Batch<64>, Grain<4>>, Alone>(); }

TEST_CASE("four replicas train to the bits of one device") { check_same_bits<Of<DataParallel<4>, Batch<64>, Grain<4>>, Alone>(); }

TEST_CASE("sixteen replicas with one grain each train to the bits of one device") {
  check_same_bits<Of<DataParallel<16>, Batch<64>, Grain<4>>, Alone>();
}

TEST_CASE("replicas need be no power of two: three with four grains each train to the bits of one device with twelve") {
  check_same_bits<Of<DataParallel<3>, Batch<96>, Grain<8>>, Twelve>();
}

TEST_CASE("without a named grain the grain is what a replica takes: the bits are those of one device with that grain") {
  check_same_bits<Of<DataParallel<4>, Batch<64>>, Of<Single, Batch<64>, Grain<16>>>();
}

TEST_CASE("the size of buckets changes no bit") {
  using Small = Of<DataParallel<4>, Batch<64>, Grain<4>, Bucket<1_KiB>>;
  static_assert(Small::training.bucket_count == 2);
  check_same_bits<Small, Alone>();
  check_same_bits_as_data<Of<DataParallel<3>, Batch<96>, Grain<8>, Bucket<1_B>>, Twelve>();
}
