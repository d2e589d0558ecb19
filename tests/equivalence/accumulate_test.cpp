// SPDX-License-Identifier: MIT
#include "equivalence/equal.hpp"

using namespace equivalence;

namespace {

template <class... Parts> using Of = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Grain<4>, Parts...>;
using Alone = Of<Single>;

}  // namespace

TEST_CASE("several rounds before a step train to the bits of one") {
  check_same_bits<Of<Single, Accumulate<2>>, Alone>();
  check_same_bits_as_data<Of<Single, Accumulate<4>>, Alone>();
}

TEST_CASE("rounds of replicas train to the bits of one device") {
  check_same_bits<Of<DataParallel<2>, Accumulate<2>>, Alone>();
  check_same_bits_as_data<Of<DataParallel<4>, Accumulate<4>>, Alone>();
}

TEST_CASE("rounds of a pipeline train to the bits of one device") {
  check_same_bits<Of<Pipeline<Balanced<2>>, Accumulate<4>>, Alone>();
  check_same_bits_as_data<Of<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>, Accumulate<2>>, Alone>();
  check_same_bits_as_data<Of<Pipeline<Balanced<2>, GPipe, Microbatches<4>>, Accumulate<4>>, Alone>();
}

TEST_CASE("rounds of a hybrid train to the bits of one device") {
  check_same_bits<Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>, Accumulate<2>>, Alone>();
}
