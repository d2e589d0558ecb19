// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/by_subject/same_dropout.cpp -pthread -o same_dropout && ./same_dropout
// Dropout that does not depend on the number of devices: which elements are 0 follows from the seed, the step, the layer and the place of an element
// in the batch. So a network with dropout and norms ends with the same parameters, to the last bit, under every plan that fixes the order of sums.
#include <cstdio>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <heddle/io/synthetic.hpp>
#include <string>
#include <vector>
using namespace heddle;

struct Block : Residual<LayerNorm<32>, Linear<32, 64>, GELU, Dropout<1, 10>, Linear<64, 32>, Dropout<1, 10>> {};
struct Network : Sequential<Linear<20, 32>, Repeat<3, Block>, RMSNorm<32>, Dropout<1, 2>, Linear<32, 4>> {};
template <class... Parts> using Of = Plan<Network, CrossEntropy, AdamW, Batch<64>, Grain<16>, Parts...>;

using Values = std::vector<std::vector<float>>;

/// All parameters after three epochs of ten steps; masks are drawn with `seed`, the first parameters are those of Seed{1}.
template <class ThePlan> Values trained(Seed seed) {
  const auto data = datasets::synthetic(Seed{1}, 640, 20, 4);
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 0.01}, seed};
  Trainer<Of<Single>, CpuThreads> first{{}, Seed{1}};
  for (const std::string& name : first.parameter_names()) trainer.set_parameter(name, first.parameter(name));
  for (int epoch = 1; epoch <= 3; ++epoch)
    for (const auto& batch : data.shuffled(Seed{1}, epoch).template batches<ThePlan>()) trainer.step(batch);
  Values all;
  for (const std::string& name : trainer.parameter_names()) all.push_back(trainer.parameter(name));
  return all;
}

template <class ThePlan> void row(const char* name, const Values& alone, Seed seed = Seed{7}) {
  std::printf("%-52s %7d   %s\n", name, devices<ThePlan>, trained<ThePlan>(seed) == alone ? "those of one device, to the last bit" : "others");
}

int main() {
  return run_main([] {
    const Values alone = trained<Of<Single>>(Seed{7});
    std::printf("%-52s %7s   %s\n", "plan", "devices", "parameters after 30 steps");
    row<Of<Single>>("Single", alone);
    row<Of<DataParallel<4>>>("DataParallel<4>", alone);
    row<Of<Sharded<2>>>("Sharded<2>", alone);
    row<Of<Single, Accumulate<2>>>("Single, Accumulate<2>", alone);
    row<Of<Single, Recompute<EveryBlock>>>("Single, Recompute<EveryBlock>", alone);
    row<Of<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>>("Pipeline, 3 stages", alone);
    row<Of<Single>>("Single, with another seed", alone, Seed{8});
  });
}
