// SPDX-License-Identifier: MIT
// expect: \[heddle\.G25\] A layer has an argument of another kind\.
// expect-g++: Branches in `1` begins with Linear<16, 16>, which does not say how branches are joined\. Fix: write Branches<Add, \.\.\.> or
// Branches<Concat, \.\.\.>\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Mix = Branches<Add, Linear<16, 16>, ReLU>;
#else
using Mix = Branches<Linear<16, 16>, ReLU>;
#endif
struct Net : Sequential<Linear<784, 16>, Mix, Linear<16, 10>> {};
using Trained = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
