// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/06_sharded.cpp -pthread -o 06_sharded && ./06_sharded
// Sharded data parallelism (ZeRO, FSDP). New: memory by level. Four replicas need not hold everything four times: each keeps a quarter of the
// optimizer's states, also of the gradients, or also of the parameters. These are gathered block by block, the next while one computes; so the last
// two levels save memory where a model has many blocks, and this example has one of sixteen.
#include "network.hpp"

constexpr int replicas = 4;  // 2 works as well
// One grain for each replica: with several, gradients stay whole until all grains are summed, and ZeRO-2 saves nothing.
template <class Policy> using OneGrain = Plan<Deep, CrossEntropy, Adam, Batch<128>, Grain<128 / replicas>, Policy>;
template <class... What> using Slices = OneGrain<Sharded<replicas, What...>>;
using Mine = Slices<>;

static_assert(peak_memory<Mine>() < peak_memory<Slices<Gradients>>() && peak_memory<Slices<Gradients>>() < peak_memory<Slices<OptimizerState>>());

// Refused: using Bad = Training<Sharded<3>>;
// Says: [heddle.M05] axis shard has size 3, but units are cut into 64 even parts. Fix: use 2 or 4, with DataParallel for the other ranks.

int main() {
  return run_main([] {
    print_costs();
    print_costs<OneGrain<DataParallel<replicas>>>("DataParallel");
    print_costs<Slices<OptimizerState>>("Sharded, OptimizerState: ZeRO-1");
    print_costs<Slices<Gradients>>("Sharded, Gradients: ZeRO-2");
    print_costs<Mine>("Sharded: ZeRO-3");
    return train_beside_one_device<Mine, OneGrain<Single>>("Sharded") ? 0 : 1;
  });
}
