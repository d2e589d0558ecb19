// SPDX-License-Identifier: MIT
#include "equivalence/equal.hpp"

using namespace equivalence;

namespace {

template <class... Parts> using Of = Plan<Blocks, CrossEntropy, AdamW, Batch<32>, Grain<4>, Parts...>;
using Alone = Of<Single>;

}  // namespace

TEST_CASE("repeated residual blocks with GELU, Tanh and Sigmoid train to the same bits on replicas") {
  check_same_bits<Of<DataParallel<2>, Bucket<1_KiB>>, Alone>();
  check_same_bits_as_data<Of<DataParallel<4>, Bucket<3_KiB>>, Alone>();
  check_same_bits_as_data<Of<Single, Accumulate<4>>, Alone>();
}

TEST_CASE("repeated residual blocks train to the same bits on stages") {
  check_same_bits<Of<Pipeline<Balanced<2>, GPipe, Microbatches<4>>>, Alone>();
  check_same_bits_as_data<Of<Pipeline<Balanced<3>, OneFOneB, Microbatches<8>>>, Alone>();
  check_same_bits_as_data<Of<Pipeline<Balanced<4>, OneFOneB, Microbatches<4>>, Accumulate<2>>, Alone>();
}

TEST_CASE("repeated residual blocks train to the same bits on stages times replicas") {
  check_same_bits<Of<Hybrid<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>, DataParallel<2>>, Bucket<1_KiB>>, Alone>();
}
