// SPDX-License-Identifier: MIT
// compilers: g++ clang++ clang++-14
// slow: clang++-14
// expect: \[heddle\.D12\] The batch has targets of another type than the loss takes\.
// expect-g++: but the rows have float targets\. Fix: give a datasets::Dataset or Examples<std::int32_t>, or name another loss\.
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/io/dataset.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Data = datasets::Dataset;
#else
using Data = datasets::RegressionDataset;
#endif

struct Mlp : Sequential<Linear<8, 4>> {};
using Trained = Plan<Mlp, CrossEntropy, SGD, Batch<64>, Single>;

double share(Trainer<Trained, CpuThreads>& trainer, const Data& data) {
  for (const auto& batch : data.batches<Trained>()) trainer.step(batch);
  return trainer.evaluate(data.all()).loss + trainer.accuracy(data.batches<5>()) + trainer.accuracy(data.all());
}
