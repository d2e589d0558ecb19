// SPDX-License-Identifier: MIT
// Two processes train two replicas. builds_check.py starts them from two programs that are compiled with other flags.
#pragma once

#include <cstdint>
#include <cstdio>
#include <vector>

#include "heddle/backend/cpu_mpi.hpp"
#include "heddle/run/run_main.hpp"

namespace processes::builds {

using namespace heddle;

inline int main_of_process() {
  return run_main([] {
    struct Net : Sequential<Linear<3, 4>, Tanh, Linear<4, 2>> {};
    const std::vector<float> rows{0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F};
    const std::vector<std::int32_t> classes{0, 1};
    Trainer<Plan<Net, CrossEntropy, SGD, Batch<2>, DataParallel<2>>, CpuMpi> trainer{{.learning_rate = 0.1}, Seed{1}};
    trainer.step(examples(rows, classes, 3));
    const bool same = trainer.parameter_hash(0) == trainer.parameter_hash(1);
    if (trainer.first_process()) std::puts(same ? "replicas are the same" : "replicas differ");
  });
}

}  // namespace processes::builds
