// SPDX-License-Identifier: MIT
#include "equivalence/equal.hpp"

using namespace equivalence;

namespace {

template <class... Parts> using Of = Plan<Image, MeanSquaredError, Adam, Batch<32>, Grain<2>, Parts...>;
using Alone = Of<Single>;

struct Top : Sequential<Input<4, 6>, Flatten, Linear<24, 15>, Unflatten<3, 5>> {};
struct Bottom : Sequential<Tanh, Linear<5, 4>, Flatten, Linear<12, 7>> {};
// The same layers, cut beside a reshape: the value that crosses has no arithmetic behind it.
struct Cut : Sequential<Top, Bottom> {};
template <class... Parts> using CutOf = Plan<Cut, MeanSquaredError, Adam, Batch<32>, Grain<2>, Parts...>;

}  // namespace

TEST_CASE("Input, Flatten and Unflatten train to the same bits on replicas") {
  check_same_bits<Of<DataParallel<2>>, Alone>();
  check_same_bits_as_data<Of<DataParallel<4>, Accumulate<2>>, Alone>();
}

TEST_CASE("Input, Flatten and Unflatten train to the same bits on stages") {
  check_same_bits<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>, Alone>();
  check_same_bits_as_data<Of<Pipeline<Balanced<4>, GPipe, Microbatches<4>>>, Alone>();
  check_same_bits_as_data<Of<Hybrid<DataParallel<2>, Pipeline<Balanced<3>>>>, Alone>();
}

TEST_CASE("a cut beside a reshape changes no bit, on two devices or on one") {
  check_same_bits<CutOf<Pipeline<Stage<Top>, Stage<Bottom>, OneFOneB, Microbatches<4>>>, CutOf<Single>>();
  check_same_bits_as_data<CutOf<Pipeline<Stage<Top, On<0>>, Stage<Bottom, On<0>>, GPipe, Microbatches<4>>>, CutOf<Single>>();
}
