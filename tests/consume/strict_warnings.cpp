// SPDX-License-Identifier: MIT
// A program whose warnings are stricter than ours, and which includes Heddle as its own headers, not as those of a system: nothing is said.
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/backend/spmd_threads.hpp>
#include <heddle/cost/predict.hpp>
#include <heddle/cost/presets.hpp>
#include <heddle/cost/simulate.hpp>
#include <heddle/heddle.hpp>
#include <heddle/io/gzip.hpp>
#include <heddle/io/idx.hpp>
#include <heddle/io/safetensors.hpp>
#include <heddle/io/sequences.hpp>
#include <heddle/io/synthetic.hpp>
#include <heddle/report/checkup.hpp>
#include <heddle/report/table.hpp>
#include <heddle/run/doctor.hpp>
#include <heddle/run/gradcheck.hpp>
#include <heddle/run/profile.hpp>
#include <heddle/run/runner.hpp>
#include <heddle/run/verify.hpp>
#include <heddle/run/with_plan.hpp>
#if __has_include(<mpi.h>)
#include <heddle/backend/cpu_mpi.hpp>
#include <heddle/backend/spmd_mpi.hpp>
#endif

using namespace heddle;
using namespace heddle::extending;

struct Net : Sequential<Named<"linear1", Linear<28 * 28, 64>>, ReLU, Named<"linear2", Linear<64, 10>>> {};
using Spread = Plan<Net, CrossEntropy, Adam, Batch<64, KeepLast>,
                    Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, TensorParallel<2>, Sharded<2>, DataParallel<2>>, Clip<GlobalNorm>,
                    LossScaling, Recompute<ReLU>>;

using Fitted = Plan<Net, MeanSquaredError, SGD, Batch<64>, Single>;

// Names that users give to what is theirs: a template of ours with a parameter of the same name would say that it hides them.
constexpr int rows = 64, classes = 10, features = 784;

int main() {
  return run_main([] {
    Trainer<Spread, CpuThreads> trainer{{.learning_rate = 1e-3}, Seed{1}};
    const auto data = datasets::synthetic(Seed{1}, rows, features, classes);
    for (auto batch : data.shuffled(Seed{1}, 0).batches<Spread>()) {
      trainer.step(batch);
      (void)trainer.evaluate(batch);
    }
    Runner<Inference<Net, Batch<64>, Sharded<2>>, CpuThreads> runner;
    trainer.save("x");
    runner.load("x");
    auto moved = std::move(trainer);
    moved.load(runner);
    (void)moved.accuracy(data.all());
    (void)datasets::synthetic_regression(Seed{1}, rows, features, classes).batches<Fitted>();
    (void)datasets::next_token_rows(datasets::synthetic_tokens(Seed{1}, rows, classes), classes, {.length = 8}).batches<8>();
  });
}
