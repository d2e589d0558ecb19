// SPDX-License-Identifier: MIT
// needs: cuda_runtime_api.h
// expect: \[heddle\.L09\]
// expect-g++: \[heddle\.L09\] the header of CudaOneCard is not included\. Fix: add #include <heddle/backend/cuda_one_card\.hpp>\.
#include "heddle/heddle.hpp"
#ifdef HEDDLE_REPAIRED
#include "heddle/backend/cuda_one_card.hpp"
#else

#endif

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;

int main() {
  Trainer<Mine, CudaOneCard> trainer{{.learning_rate = 1e-3}, Seed{1}};
  for (const auto& name : trainer.parameter_names()) trainer.set_parameter(name, trainer.parameter(name));
  return trainer.steps() == 0 ? 0 : 1;
}
