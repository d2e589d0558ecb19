// SPDX-License-Identifier: MIT
// expect: \[heddle\.G05\] A type is no layer\.
// expect-g++: Mlp is no layer: it places other layers\. Fix: check each of these, as in gradcheck<Linear<4, 4>>\(\)\.
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;
using namespace heddle::extending;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Tried = ReLU;
#else
using Tried = Mlp;
#endif

int main() { return gradcheck<Tried>().ok() ? 0 : 1; }
