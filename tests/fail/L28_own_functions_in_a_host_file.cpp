// SPDX-License-Identifier: MIT
// A file that g++ or clang compiles for cards has the kernels of heddle::cuda_kernels, which knows no layer of the user.
// flags: -DHEDDLE_CUDA_KERNELS
// needs: cuda_runtime_api.h
// slow: clang++
// expect: \[heddle\.L28\] A file of the host's compiler needs a kernel that only nvcc can make
// expect-g++: Squared is no layer, loss, optimizer or kernel of Heddle, so heddle::cuda_kernels does not have it
// expect: Fix: put the plan into a \.cu file
#include "heddle/heddle.hpp"

#include "heddle/backend/cuda_one_card.hpp"
using namespace heddle;
struct Squared {
  static constexpr extending::Leaf describe(extending::Spec in) { return extending::elementwise("Squared", in, 2, extending::Saves::input); }
  HEDDLE_HOST_DEVICE static float forward(float x) { return x * x; }
  HEDDLE_HOST_DEVICE static float backward(float x, float gradient) { return 2 * x * gradient; }
};
#ifdef HEDDLE_REPAIRED
struct Net : Sequential<Linear<4, 8>, ReLU, Linear<8, 2>> {};
#else
struct Net : Sequential<Linear<4, 8>, Squared, Linear<8, 2>> {};
#endif

int main() {
  Trainer<Plan<Net, CrossEntropy, Adam, Batch<8>, Single>, CudaOneCard> trainer{{.learning_rate = 1e-3}, Seed{1}};
  return trainer.parameter_names().size() == 4 ? 0 : 1;
}
