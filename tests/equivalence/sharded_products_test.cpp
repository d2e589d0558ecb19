// SPDX-License-Identifier: MIT
#include "equivalence/equal.hpp"

using namespace equivalence;

namespace {

template <class... Options> using Of = Plan<Blocks, CrossEntropy, Adam, Batch<64>, Grain<8>, Options...>;
using Alone = Of<Single>;

}  // namespace

TEST_CASE("HSDP trains to the bits of one device, in both nestings, whatever is sliced") {
  check_same_bits<Of<Hybrid<Sharded<2>, DataParallel<2>>>, Alone>();
  check_same_bits_as_data<Of<Hybrid<DataParallel<2>, Sharded<4>>>, Alone>();
  check_same_bits_as_data<Of<Hybrid<Sharded<4, Gradients>, DataParallel<2>>>, Alone>();
  check_same_bits_as_data<Of<Hybrid<Sharded<2, OptimizerState>, DataParallel<4>>>, Alone>();
}

TEST_CASE("stages whose ranks slice train to the bits of one device, in both nestings") {
  check_same_bits<Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, Sharded<2>>>, Alone>();
  check_same_bits_as_data<Of<Hybrid<Sharded<2, Gradients>, Pipeline<Balanced<2>, GPipe, Microbatches<2>>>>, Alone>();
}
