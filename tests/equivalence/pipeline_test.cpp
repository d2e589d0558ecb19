// SPDX-License-Identifier: MIT
#include "equivalence/equal.hpp"

using namespace equivalence;

namespace {

template <class... Parts> using Of = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Grain<4>, Pipeline<Parts...>>;
using Alone = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Grain<4>, Single>;

}  // namespace

TEST_CASE("two stages without an order train to the bits of one device, whatever the number of micro-batches") {
  check_same_bits<Of<Balanced<2>>, Alone>();
  check_same_bits_as_data<Of<Balanced<2>, Microbatches<2>>, Alone>();
  check_same_bits_as_data<Of<Balanced<2>, Microbatches<8>>, Alone>();
}

TEST_CASE("two stages under GPipe train to the bits of one device") {
  check_same_bits<Of<Balanced<2>, GPipe, Microbatches<1>, FewMicrobatches>, Alone>();
  check_same_bits_as_data<Of<Balanced<2>, GPipe, Microbatches<2>>, Alone>();
  check_same_bits_as_data<Of<Balanced<2>, GPipe, Microbatches<4>>, Alone>();
}

TEST_CASE("two stages under 1F1B train to the bits of one device") {
  check_same_bits<Of<Balanced<2>, OneFOneB, Microbatches<1>, FewMicrobatches>, Alone>();
  check_same_bits_as_data<Of<Balanced<2>, OneFOneB, Microbatches<2>>, Alone>();
  check_same_bits_as_data<Of<Balanced<2>, OneFOneB, Microbatches<8>>, Alone>();
}

TEST_CASE("three stages, one of them without parameters, train to the bits of one device") {
  check_same_bits<Of<Balanced<3>>, Alone>();
  check_same_bits_as_data<Of<Balanced<3>, GPipe, Microbatches<4>>, Alone>();
  check_same_bits_as_data<Of<Balanced<3>, OneFOneB, Microbatches<4>>, Alone>();
  check_same_bits_as_data<Of<Balanced<3>, OneFOneB, Microbatches<16>>, Alone>();
}
