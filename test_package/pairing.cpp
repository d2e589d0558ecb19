// SPDX-License-Identifier: MIT
// The pairing of threads and Eigen, and the reader of .gz files: a plan is set up, and a missing folder is named.
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <heddle/io/gzip.hpp>

#include <cstdio>

using namespace heddle;

struct Model : Sequential<Named<"linear1", Linear<784, 50>>, ReLU, Named<"linear2", Linear<50, 10>>> {};
using Spread = Plan<Model, CrossEntropy, Adam, Batch<64, KeepLast>, DataParallel<2>>;

int main() {
  Trainer<Spread, CpuThreads> trainer{{.learning_rate = 1e-3f}, Seed{1}};
  try {
    [[maybe_unused]] const auto data = datasets::load_idx("no-such-folder");
  } catch (const HeddleError& error) {
    std::puts(error.what());
    return 0;
  }
  return 1;
}
