// SPDX-License-Identifier: MIT
// expect: \[heddle\.P01\] A layer cannot be split evenly over axis tensor\.
// expect-g++: TensorParallel<2> cannot split the 63 features of layer 0 `0` Linear<784, 63> evenly\. Fix: use as many ranks as divide 63: 1, 3, 7, 9,
// 21, 63\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
inline constexpr int hidden = 64;
#else
inline constexpr int hidden = 63;
#endif
struct Mlp : Sequential<Column<Linear<784, hidden>>, ReLU, Row<Linear<hidden, 32>>, ReLU, Linear<32, 64>, ReLU, Linear<64, 10>> {};

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, TensorParallel<2>>;
static_assert(sizeof(Trained) > 0);
