// SPDX-License-Identifier: MIT
// expect: \[heddle\.D30\] an accuracy is that of one loss\. Fix: of several losses name one, as accuracy<"digit">\(rows\) of LossOf<"digit", \.\.\.>;
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Branches<Concat, Linear<50, 10>, Linear<50, 4>>> {};
using Loss = Losses<LossOf<"digit", Outputs<10>, CrossEntropy>, LossOf<"kind", Outputs<4>, CrossEntropy>>;
using Trained = Plan<Mlp, Loss, SGD, Batch<64>, Single>;

double share(Trainer<Trained, CpuThreads>& trainer, const Examples<Loss::Target>& batch) {
#ifdef HEDDLE_REPAIRED
  return trainer.accuracy<"kind">(batch);
#else
  return trainer.accuracy(batch);
#endif
}
