// SPDX-License-Identifier: MIT
// expect: \[heddle\.D31\] load\(\) takes a path, a TensorFile, a Runner or a Trainer, of which
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<8, 4>> {};
using Trained = Plan<Mlp, CrossEntropy, SGD, Batch<64>, Single>;

#ifdef HEDDLE_REPAIRED
void parameters(Trainer<Trained, CpuThreads>& trainer, std::string_view path) { trainer.load(path); }
#else
void parameters(Trainer<Trained, CpuThreads>& trainer, std::string_view) { trainer.load(42); }
#endif
