// SPDX-License-Identifier: MIT
// Several inputs on processes: every process gives the whole batch, and each loads the rows of the inputs that its chunks read.
#include "equivalence/processes.hpp"

using namespace equivalence;

namespace {

struct Late : Sequential<Inputs<Input<5>, Input<5>, Input<6>>, Branches<Add, Embedding<8, 4>, Sequential<FromInput<1>, Embedding<7, 4>>>, Flatten,
                         Linear<20, 16>, GELU, Linear<16, 16>, Branches<Concat, Sequential<>, Sequential<FromInput<2>, Rescaling<>, Linear<6, 5>>>,
                         Linear<21, 10>> {};
template <class... Parts> using Of = Plan<Late, CrossEntropy, Adam, Batch<48, KeepLast>, Bucket<1_KiB>, Parts...>;

}  // namespace

TEST_CASE("models of several inputs have on processes the bits, the bytes and the memory of threads") {
  hold_as_threads<Of<DataParallel<4>>>();
  hold_as_threads<Of<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>>();
  hold_as_threads<Of<Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, Sharded<2>>>>();
}

TEST_CASE("processes predict of one array for each input") {
  const FirstRanks two{2};
  if (!two.taking_part()) return;
  const auto rows = rows_of<Of<DataParallel<2>>>(7);
  Trainer<Of<DataParallel<2>>, CpuMpi> trainer{{}, Seed{5}};
  CHECK(equal_bits(trainer.predict(rows.inputs, rows.more[0].ids, rows.more[1].bytes), trainer.evaluate(rows.batch(0, 7)).outputs));
}
