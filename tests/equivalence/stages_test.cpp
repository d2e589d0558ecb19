// SPDX-License-Identifier: MIT
#include "equivalence/equal.hpp"

using namespace equivalence;

namespace {

struct First : Sequential<Linear<23, 18>, Tanh> {};
struct Second : Sequential<Linear<18, 13>, GELU> {};
struct Third : Sequential<Linear<13, 10>> {};
struct Three : Sequential<First, Second, Third> {};

template <class... Parts> using Of = Plan<Three, CrossEntropy, MomentumSGD, Batch<32>, Grain<4>, Pipeline<Parts...>>;
using Alone = Plan<Three, CrossEntropy, MomentumSGD, Batch<32>, Grain<4>, Single>;

// The sum of a skip connection lies on another device than its first operand: the value goes there on its own.
struct Begin : Sequential<Linear<23, 16>> {};
struct Inner1 : Sequential<Linear<16, 16>, Tanh> {};
struct Inner2 : Sequential<Linear<16, 16>> {};
struct Skipping : Sequential<Begin, Residual<Inner1, Inner2>, Linear<16, 10>> {};
struct Join : Sequential<Residual<Inner2>, Linear<16, 10>> {};
template <class... Parts> using Skip = Plan<Skipping, CrossEntropy, MomentumSGD, Batch<32>, Grain<4>, Pipeline<Parts...>>;
using SkipAlone = Plan<Skipping, CrossEntropy, MomentumSGD, Batch<32>, Grain<4>, Single>;

}  // namespace

TEST_CASE("three parts on two devices, the third back on device 0, train to the bits of one device") {
  using Back = Of<Stage<First, On<0>>, Stage<Second, On<1>>, Stage<Third, On<0>>>;
  static_assert(devices<Back> == 2);
  static_assert(Back::training.chunks == 3);
  check_same_bits<Back, Alone>();
}

TEST_CASE("they do so under every order and with several micro-batches") {
  check_same_bits<Of<Stage<First, On<0>>, Stage<Second, On<1>>, Stage<Third, On<0>>, Microbatches<4>>, Alone>();
  check_same_bits_as_data<Of<Stage<First, On<0>>, Stage<Second, On<1>>, Stage<Third, On<0>>, GPipe, Microbatches<4>>, Alone>();
  check_same_bits_as_data<Of<Stage<First, On<0>>, Stage<Second, On<1>>, Stage<Third, On<0>>, OneFOneB, Microbatches<8>>, Alone>();
}

TEST_CASE("parts may lie on one device, in any order of devices, or each on its own") {
  check_same_bits<Of<Stage<First, On<0>>, Stage<Second, On<0>>, Stage<Third, On<0>>, OneFOneB, Microbatches<4>>, Alone>();
  check_same_bits_as_data<Of<Stage<First, On<1>>, Stage<Second, On<0>>, Stage<Third, On<0>>, GPipe, Microbatches<4>>, Alone>();
  check_same_bits_as_data<Of<Stage<First, On<2>>, Stage<Second, On<0>>, Stage<Third, On<1>>, OneFOneB, Microbatches<4>>, Alone>();
}

TEST_CASE("a skip connection across stages trains to the bits of one device") {
  using Two = Skip<Stage<Sequential<Begin, Inner1>>, Stage<Join>, OneFOneB, Microbatches<4>>;
  static_assert(Two::training.transfer_count == 4);  // two values there, two gradients back
  check_same_bits<Two, SkipAlone>();
  check_same_bits_as_data<Skip<Stage<Begin>, Stage<Inner1>, Stage<Join>, OneFOneB, Microbatches<4>>, SkipAlone>();
  check_same_bits_as_data<Skip<Stage<Begin, On<0>>, Stage<Inner1, On<1>>, Stage<Join, On<0>>, GPipe, Microbatches<4>>, SkipAlone>();
}
