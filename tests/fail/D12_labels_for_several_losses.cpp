// SPDX-License-Identifier: MIT
// expect: \[heddle\.D12\] The batch has targets of another type than the loss takes\.
// expect-g++: Losses takes class numbers and floats but the rows have class number targets\. Fix: give the others as well, as in
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Branches<Concat, Linear<50, 10>, Linear<50, 1>>> {};
using Loss = Losses<LossOf<"digit", Outputs<10>, CrossEntropy>, LossOf<"angle", Outputs<1>, MeanSquaredError>>;
using Trained = Plan<Mlp, Loss, Adam, Batch<64>, Single>;

float inputs[64 * 784];
std::int32_t labels[64];
float angles[64];

int main() {
  Trainer<Trained, CpuThreads> trainer{{.learning_rate = 1e-3F}, Seed{1}};
#ifdef HEDDLE_REPAIRED
  trainer.step(examples(inputs, labels, 784).with_targets(angles, 1));
#else
  trainer.step(examples(inputs, labels, 784));
#endif
}
