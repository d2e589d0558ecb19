// SPDX-License-Identifier: MIT
// expect: \[heddle\.D33\] The rows have inputs of another element type than the model takes\.
// expect-g++: Words takes token ids but the rows have float inputs\. Fix: give std::int32_t inputs, as datasets::next_token_rows and
// datasets::TokenDataset have them\.
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/heddle.hpp"
#include "heddle/run/runner.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Number = std::int32_t;
#else
using Number = float;
#endif

struct Words : Sequential<Input<3>, Embedding<8, 4>, Linear<4, 8>> {};
using Applied = Inference<Words, Batch<4>, Single>;

std::vector<float> apply(Runner<Applied, CpuThreads>& runner, const std::vector<Number>& inputs) { return runner.predict(inputs); }
int main() {}
