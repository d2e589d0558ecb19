// SPDX-License-Identifier: MIT
// expect: \[heddle\.G28\] The inputs of a model are not what its layers take\.
// expect-g++: FromInput<2> in `1\.1` names input 2, but the model has 2 inputs, from 0 to 1\. Fix: name one that is there, or state it in
// Inputs<\.\.\.>\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Second = FromInput<1>;
#else
using Second = FromInput<2>;
#endif

struct Model : Sequential<Inputs<Input<6>, Input<4>>, Branches<Concat, Linear<6, 5>, Second>, Linear<9, 5>> {};
using Trained = Plan<Model, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
