// SPDX-License-Identifier: MIT
// expect: \[heddle\.P15\] A sum is taken for a mean, or has the wrong divisor\.
// expect-g++: Mean<shard> is given where Mean<data>, Mean<shard> is asked for
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

float stepped(Distributed<float, Mean<axis::data, axis::shard>> gradient) { return -0.1F * gradient.value(); }

// pytorch #155903: FSDP divides by the shard ranks, HSDP must divide by the replicas as well.
#ifdef HEDDLE_REPAIRED
using Gradient = Distributed<float, Mean<axis::data, axis::shard>>;
#else
using Gradient = Distributed<float, Mean<axis::shard>>;
#endif

float update(Gradient gradient) { return stepped(gradient); }
