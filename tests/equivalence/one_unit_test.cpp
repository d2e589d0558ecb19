// SPDX-License-Identifier: MIT
// Layers of one unit are gathered and run again together, and train to the bits of one device. What a unit is: graph/one_unit_test.
#include <doctest/doctest.h>

#include "equivalence/equal.hpp"

using namespace heddle;

namespace {

struct Wrapped : Sequential<OneUnit<Linear<20, 16>, ReLU, Linear<16, 16>>, Linear<16, 4>> {};
struct Around : Sequential<OneUnit<Linear<20, 16>, Repeat<2, Linear<16, 16>>>, Repeat<2, Linear<16, 16>>, Linear<16, 4>> {};

template <class Model, class Policy, class... Options>
using Trained = Plan<Model, CrossEntropy, Adam, Batch<32, KeepLast>, Grain<8>, Policy, Options...>;

}  // namespace

TEST_CASE("units of several layers have the bits of one device") {
  equivalence::check_same_bits<Trained<Wrapped, Sharded<2>>, Trained<Wrapped, Single>>();
  equivalence::check_same_bits_as_data<Trained<Around, Hybrid<Sharded<2, Gradients>, DataParallel<2>>, Clip<GlobalNorm>>,
                                       Trained<Around, Single, Clip<GlobalNorm>>>();
}

TEST_CASE("a unit of several layers that runs again has them too") {
  equivalence::check_same_bits<Trained<Around, Single, Recompute<EveryBlock>>, Trained<Around, Single>>();
}
