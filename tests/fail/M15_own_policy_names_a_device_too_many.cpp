// SPDX-License-Identifier: MIT
// expect: \[heddle\.M15\] The answers of policies contradict each other\.
// expect-g++: chunk 1 of 2 is on device 2, but axis stage has 2 devices\. Fix: number devices from 0 to 1\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
constexpr int second = 1;
#else
constexpr int second = 2;
#endif

struct Halves {
  static constexpr void answer(const Graph&, Layout& layout) {
    layout.chunk_count = 2;
    layout.first_node[1] = 2;
    layout.first_node[2] = 3;
    layout.device_of_chunk[1] = second;
    layout.in_flight[1] = 1;
    layout.claim(axis::stage, 2);
  }
};

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Halves>;
static_assert(devices<Trained> == 2);
