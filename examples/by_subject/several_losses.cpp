// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/by_subject/several_losses.cpp -pthread -o several_losses && ./several_losses
// One model with three losses: it tells the class of a row, estimates two numbers of it, and an auxiliary classifier of the first layers learns the
// same labels, as in GoogLeNet. In PyTorch: loss = ce(digit, y) + 0.5 * huber(size, v) + 0.3 * ce(early, y). Every loss lies where the outputs meet,
// so a pipeline sends the auxiliary outputs along, and its gradient enters the first layers by the branch that they come from.
#include <cstdint>
#include <cstdio>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <heddle/io/several_targets.hpp>
#include <heddle/io/synthetic.hpp>
#include <utility>
#include <vector>

using namespace heddle;

constexpr int features = 32, classes = 10;

struct Late
    : Sequential<Linear<64, 64>, Tanh, Linear<64, 64>, Tanh, Branches<Concat, Named<"digit", Linear<64, classes>>, Named<"size", Linear<64, 2>>>> {};
struct Model : Sequential<Linear<features, 64>, GELU, Branches<Concat, Late, Named<"early", Linear<64, classes>>>> {};
using Wanted = Losses<LossOf<"digit", Outputs<classes>, CrossEntropy>,        // outputs 0 to 9
                      LossOf<"size", Outputs<2>, Huber<>, LossWeight<1, 2>>,  // outputs 10 and 11
                      LossOf<"early", Outputs<classes>, CrossEntropy, TargetsOf<"digit">, LossWeight<3, 10>>>;

template <class Policy> using Training = Plan<Model, Wanted, Adam, Batch<64>, Policy, Grain<8>>;
using Alone = Training<Single>;
using Staged = Training<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;
using Hybridised = Training<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, DataParallel<2>>>;
static_assert(same_bits<Staged, Alone>() && same_bits<Hybridised, Alone>());

/// Rows with a label, and beside it their mean and their largest element.
auto rows() {
  const datasets::Dataset labelled = datasets::synthetic(Seed{3}, 2048, features, classes);
  std::vector<float> sizes;
  for (std::int64_t row = 0; row < labelled.size(); ++row) {
    const float* const x = labelled.images().data() + row * features;
    float sum = 0, most = x[0];
    for (int j = 0; j < features; ++j) {
      sum += x[j];
      most = x[j] > most ? x[j] : most;
    }
    sizes.insert(sizes.end(), {sum / features, most});
  }
  return datasets::with_targets(labelled, std::move(sizes), 2).split(0.75, Seed{1});
}

template <class ThePlan, class Data> std::uint64_t train(const Data& data, const char* name) {
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 2e-3}, Seed{1}};
  std::printf("%s, %d device(s)\n", name, devices<ThePlan>);
  for (int epoch = 0; epoch < 6; ++epoch) {
    for (const auto& batch : data.training.shuffled(Seed{2}, epoch).template batches<ThePlan>()) trainer.step(batch);
    if (devices < ThePlan >> 1 && epoch < 5) continue;
    const std::vector<double> each = trainer.evaluate(data.test.all()).losses;
    std::printf("  epoch %d  digit %.2f  size %.3f  early %.2f   right: %.2f and early %.2f\n", epoch + 1, each[0], each[1], each[2],
                trainer.template accuracy<"digit">(data.test.all()), trainer.template accuracy<"early">(data.test.all()));
  }
  return trainer.parameter_hash();
}

int main() {
  return run_main([] {
    const auto data = rows();
    const std::uint64_t alone = train<Alone>(data, "Single");
    const bool same = train<Staged>(data, "2 stages") == alone && train<Hybridised>(data, "2 stages, 2 replicas") == alone;
    std::printf("the same bits: %s\n", same ? "yes" : "no");
    return same ? 0 : 1;
  });
}
