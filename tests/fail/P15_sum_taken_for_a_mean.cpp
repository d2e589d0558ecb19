// SPDX-License-Identifier: MIT
// expect: \[heddle\.P15\] A sum is taken for a mean, or has the wrong divisor\.
// expect-g++: Sum<data> is given where Mean<data> is asked for
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

float stepped(Distributed<float, Mean<axis::data>> gradient) { return -0.1F * gradient.value(); }

// Megatron-LM PR #5956: gradients that are summed where a mean is meant.
#ifdef HEDDLE_REPAIRED
using Gradient = Distributed<float, Mean<axis::data>>;
#else
using Gradient = Distributed<float, Sum<axis::data>>;
#endif

float update(Gradient gradient) { return stepped(gradient); }
