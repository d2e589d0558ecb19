// SPDX-License-Identifier: MIT
// Models and plans in which a rank is lost, on threads and on processes.
#pragma once

#include "equivalence/equal.hpp"

namespace equivalence::lost {

struct Even : Sequential<Linear<24, 16>, ReLU, Linear<16, 12>> {};
struct Steps : Sequential<Input<4, 6>, Linear<6, 6>, Residual<Linear<6, 8>, GELU, Linear<8, 6>>, Flatten, Linear<24, 10>> {};
struct Wide : Sequential<Linear<24, 16>, ReLU, Linear<16, 60>> {};
struct Stack : Sequential<Linear<23, 16>, Repeat<2, Residual<Linear<16, 24>, GELU, Linear<24, 16>>>, Linear<16, 12>> {};
struct Looped : Sequential<Named<"first", Linear<16, 19, NoBias>>, Tanh, Linear<19, 16>, Tied<"last", Linear<16, 19, NoBias>, To<"first">>> {};
template <class... Parts> using Of = Plan<Mlp, CrossEntropy, Adam, Batch<16>, Grain<2>, Parts...>;
template <class Order> using Two = Pipeline<Balanced<2>, Order, Microbatches<2>>;

}  // namespace equivalence::lost
