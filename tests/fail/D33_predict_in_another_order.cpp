// SPDX-License-Identifier: MIT
// expect: \[heddle\.D33\]
// expect-g++: Net takes token ids but the rows have float inputs
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;

struct Net : Sequential<Inputs<Input<4>, Input<3>>, Embedding<5, 2>, Flatten, Branches<Concat, Sequential<>, FromInput<1>>, Linear<11, 2>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;

std::vector<float> asked(Trainer<Trained, CpuThreads>& trainer, const std::vector<std::int32_t>& ids, const std::vector<float>& numbers) {
#ifdef HEDDLE_REPAIRED
  return trainer.predict(ids, numbers);
#else
  return trainer.predict(numbers, ids);
#endif
}
