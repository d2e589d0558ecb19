// SPDX-License-Identifier: MIT
// mistake: a `Trainer` without a backend
// expect: \[heddle\.L09\] What runs a plan has no backend\.
// expect-g++: a Trainer names no backend\. Fix: write Trainer<MyPlan, CpuThreads>, and include heddle/backend/cpu_threads\.hpp\.
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Clip<GlobalNorm>, LossScaling, Single>;

#ifdef HEDDLE_REPAIRED
using Trains = Trainer<Trained, CpuThreads>;
#else
using Trains = Trainer<Trained>;
#endif

int main() {
  Trains trainer{{.learning_rate = 1e-3F}, Seed{1}};
  trainer.on_step([](const StepResult& result) { static_cast<void>(result.loss); }, Every{10});
  trainer.step(Examples<std::int32_t>{});
  trainer.clip().max_norm = 0.5;
  trainer.loss_scale().init_scale = 1024;
  trainer.save("weights.safetensors");
  if (trainer.parameter_shape("0.weight") != extending::Shape{50, 784} || !trainer.local(Rank{0}) || !trainer.failures().empty()) return 2;
  static_cast<void>(trainer.executor(Rank{0}));
  static_cast<void>(trainer.session());
  Trains::Options options = trainer.optimizer();
  if (options.learning_rate > 1 || Trains::training_program().roles != 1) return 3;
  return trainer.parameter_names().empty() ? 1 : 0;
}
