// SPDX-License-Identifier: MIT
// expect: \[heddle\.D33\] The rows have inputs of another element type than the model takes\.
// expect-g++: Words takes token ids but the rows have float inputs\. Fix: give std::int32_t inputs, as datasets::next_token_rows and
// datasets::TokenDataset have them\.
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/heddle.hpp"
#include "heddle/io/token_dataset.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Data = datasets::TokenDataset;
#else
using Data = datasets::Dataset;
#endif

struct Words : Sequential<Input<3>, Embedding<8, 4>, Linear<4, 8>> {};
using Trained = Plan<Words, CrossEntropy, SGD, Batch<4>, Single>;

void train(Trainer<Trained, CpuThreads>& trainer, const Data& data) {
  for (const auto& batch : data.batches<Trained>()) trainer.step(batch);
  static_cast<void>(trainer.accuracy(data.all()));
}
int main() {}
