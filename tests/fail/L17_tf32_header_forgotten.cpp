// SPDX-License-Identifier: MIT
// needs: cuda_runtime_api.h
// expect: \[heddle\.L17\] AllowTF32 stands in a header that is not included\. Fix: add #include <heddle/backend/cuda_tf32\.hpp>\.
#include "heddle/heddle.hpp"

#include "heddle/backend/cuda_one_card.hpp"
#ifdef HEDDLE_REPAIRED
#include "heddle/backend/cuda_tf32.hpp"
#else

#endif

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;

int main() {
  Trainer<Mine, AllowTF32<CudaOneCard>> trainer{{.learning_rate = 1e-3}, Seed{1}};
  return trainer.parameter_names().size() == 4 ? 0 : 1;
}
