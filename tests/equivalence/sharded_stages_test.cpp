// SPDX-License-Identifier: MIT
#include "equivalence/equal.hpp"

using namespace equivalence;

namespace {

template <class... Options> using Of = Plan<Blocks, CrossEntropy, SGD, Batch<64, KeepLast>, Grain<16>, Options...>;
using Alone = Of<Single>;

constexpr std::int64_t some_rows(int step) { return step % 3 == 2 ? 64 : 17 + 5 * (step % 7); }

}  // namespace

TEST_CASE("three parallelisms at once train to the bits of one device, with batches that do not divide") {
  check_same_bits<Of<Hybrid<Pipeline<Balanced<2>>, Sharded<2>, DataParallel<2>>>, Alone>(&some_rows);
  check_same_bits_as_data<Of<Hybrid<Sharded<2, Gradients>, DataParallel<2>, Pipeline<Balanced<2>>>>, Alone>(&some_rows);
  check_same_bits_as_data<Of<Hybrid<DataParallel<2>, Pipeline<Balanced<2>>, Sharded<2, OptimizerState>>>, Alone>(&some_rows);
}

TEST_CASE("a device that serves two chunks slices the units of both") {
  using Back = Pipeline<Stage<Sequential<Linear<23, 16>>, On<0>>, Stage<Named<"blocks", Repeat<4, Block>>, On<1>>,
                        Stage<Sequential<Sigmoid, Linear<16, 10>>, On<0>>>;
  check_same_bits<Of<Hybrid<Back, Sharded<2>>>, Alone>(&some_rows);
  check_same_bits_as_data<Of<Hybrid<Sharded<4, Gradients>, Back>>, Alone>(&some_rows);
}
