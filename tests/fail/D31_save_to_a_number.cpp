// SPDX-License-Identifier: MIT
// expect: \[heddle\.D31\] save\(\) takes the path of a file\. Fix: give a string, a string_view
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<8, 4>> {};
using Trained = Plan<Mlp, CrossEntropy, SGD, Batch<64>, Single>;

#ifdef HEDDLE_REPAIRED
void parameters(Trainer<Trained, CpuThreads>& trainer, std::string_view path) { trainer.save(path); }
#else
void parameters(Trainer<Trained, CpuThreads>& trainer, std::string_view) { trainer.save(42); }
#endif
