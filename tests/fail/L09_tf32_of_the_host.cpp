// SPDX-License-Identifier: MIT
// expect: \[heddle\.L09\] What runs a plan has no backend\.
// expect-g++: AllowTF32 names CpuThreads, which computes on cores and rounds no factors\. Fix: name CudaOneCard, CudaThreads, CudaMpi or
// CudaFiles in it, or leave it out\.
#include "heddle/core/fire.hpp"

#include "heddle/backend/cpu_threads.hpp"
#include "heddle/backend/cuda_tf32.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<7, 5>, ReLU, Linear<5, 3>> {};
using Alone = Plan<Mlp, CrossEntropy, Adam, Batch<8>, Single>;

#ifdef HEDDLE_REPAIRED
using Trains = Trainer<Alone, CpuThreads>;
#else
using Trains = Trainer<Alone, AllowTF32<CpuThreads>>;
#endif

int main() {
  Trains trainer{{.learning_rate = 1e-3F}, Seed{1}};
  return trainer.parameter_names().size() == 4 ? 0 : 1;
}
