// SPDX-License-Identifier: MIT
// Plans whose tables hold addresses are constants under sanitizers too: -fsanitize=address,undefined, as it is compiled here.
#include <heddle/heddle.hpp>

using namespace heddle;

struct Shared : Sequential<Input<2, 8>, Named<"a", Linear<8, 8>>, Tanh, Tied<"b", Linear<8, 8>, To<"a">>, Linear<8, 4>> {};
using Sliced = Plan<Shared, MeanSquaredError, Adam, Batch<16>, Grain<2>,
                    Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, Sharded<2, OptimizerState>>, Clip<GlobalNorm>>;
static_assert(devices<Sliced> == 4);

struct Images : Sequential<Input<2, 2, 2>, Linear<2, 4>, BatchNorm2d<2, Synchronised>, ReLU, Flatten, Linear<16, 4>> {};
static_assert(devices<Plan<Images, CrossEntropy, Adam, Batch<16>, NoDecay<>, DataParallel<2>>> == 2);
