// SPDX-License-Identifier: MIT
// expect: \[heddle\.G28\] The inputs of a model are not what its layers take\.
// expect-g++: no layer of Model takes input 1\. Fix: begin a path with FromInput<1>, or leave the input out of Inputs\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
struct Model : Sequential<Inputs<Input<6>, Input<4>>, Branches<Add, Linear<6, 5>, Sequential<FromInput<1>, Linear<4, 5>>>> {};
#else
struct Model : Sequential<Inputs<Input<6>, Input<4>>, Branches<Add, Linear<6, 5>, Sequential<FromInput<0>, Linear<6, 5>>>> {};
#endif

using Trained = Plan<Model, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
