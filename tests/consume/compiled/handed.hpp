// SPDX-License-Identifier: MIT
// Structs with a trainer in them: their names are one in files of both kinds.
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>

#include <vector>

struct Net : heddle::Sequential<heddle::Linear<20, 16>, heddle::GELU, heddle::Linear<16, 4>> {};
using HandedPlan = heddle::Plan<Net, heddle::CrossEntropy, heddle::Adam, heddle::Batch<8>, heddle::DataParallel<2>>;

struct Handed {
  heddle::Trainer<HandedPlan, heddle::CpuThreads> trainer{{.learning_rate = 0.01}, heddle::Seed{1}};
};
/// The caller looks for the trainer where none lies: its vector is larger.
struct Behind {
  std::vector<int> before;
  heddle::Trainer<HandedPlan, heddle::CpuThreads> trainer{{.learning_rate = 0.01}, heddle::Seed{1}};
};
float first_weight(Handed& handed);
float first_weight(Behind& handed);
