// SPDX-License-Identifier: MIT
// Every order of a pipeline whose stages are processes: the bits of one device, the bytes of every rank along every axis, the memory.
#include "equivalence/processes.hpp"

using namespace equivalence;

namespace {

template <class... Parts> using Of = Plan<Blocks, CrossEntropy, Adam, Batch<32, KeepLast>, Grain<2>, Bucket<1_KiB>, Parts...>;
using Alone = Of<Single>;
using Back = Pipeline<Stage<Sequential<Linear<23, 16>>, On<0>>, Stage<Named<"blocks", Repeat<4, Block>>, On<1>>,
                      Stage<Sequential<Sigmoid, Linear<16, 10>>, On<0>>, OneFOneB, Microbatches<4>>;

}  // namespace

TEST_CASE("stages that are processes hold in every order") {
  hold_as_one_device<Alone, Of<Pipeline<Balanced<4>, GPipe, Microbatches<4>>>, Of<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>,
                     Of<Pipeline<Balanced<2>, Interleaved<3>, Microbatches<4>>>, Of<Pipeline<Balanced<4>, ZeroBubbleH1, Microbatches<8>>>,
                     Of<Back>>();
}

TEST_CASE("interleaved stages and split backwards hold beside replicas and with rounds") {
  hold_as_one_device<Alone, Of<Hybrid<Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>, DataParallel<2>>>,
                     Of<Hybrid<DataParallel<2>, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>>, Accumulate<2>>>();
}
