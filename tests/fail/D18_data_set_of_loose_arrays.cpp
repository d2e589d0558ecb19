// SPDX-License-Identifier: MIT
// expect: \[heddle\.D18\] a data set takes its rows as one object, by name\. Fix: write datasets::Dataset
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/io/dataset.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;

datasets::Dataset made(const std::vector<float>& x, const std::vector<std::int32_t>& y) {
#ifdef HEDDLE_REPAIRED
  return datasets::Dataset{datasets::LabelledRows{.images = x, .labels = y, .features = 784, .classes = 10}};
#else
  return datasets::Dataset{x, y, 784, 10};
#endif
}
