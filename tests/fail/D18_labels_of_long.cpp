// SPDX-License-Identifier: MIT
// mistake: labels as `std::vector<std::int64_t>`
// expect: \[heddle\.D18\] a batch takes float inputs, std::int32_t token ids or std::uint8_t bytes, std::int32_t labels or float targets, and the
// features of a row\. Fix:
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;

#ifdef HEDDLE_REPAIRED
std::vector<std::int32_t> labels(64);
#else
std::vector<long> labels(64);
#endif
std::vector<float> inputs(64 * 784);

int main() {
  Trainer<Trained, CpuThreads> trainer{{.learning_rate = 1e-3F}, Seed{1}};
  trainer.step(examples(inputs, labels, 784));
}
