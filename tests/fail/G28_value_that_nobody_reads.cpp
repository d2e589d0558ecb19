// SPDX-License-Identifier: MIT
// expect: \[heddle\.G28\] The inputs of a model are not what its layers take\.
// expect-g++: what layer 1 `2` ReLU gives is read by no layer, since FromInput begins anew behind it\. Fix: join both with Branches<Add, \.\.\.> or
// Branches<Concat, \.\.\.>, or leave the layer out\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
struct Model : Sequential<Inputs<Input<6>, Input<4>>, Linear<6, 5>, ReLU, Branches<Concat, Sequential<>, FromInput<1>>, Linear<9, 5>> {};
#else
struct Model : Sequential<Inputs<Input<6>, Input<4>>, Linear<6, 5>, ReLU, FromInput<1>, Linear<4, 5>> {};
#endif

using Trained = Plan<Model, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
