// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/06_sharded.cpp -pthread
// Sharded data parallelism (ZeRO, FSDP). New: memory by level. Four replicas need not hold everything four times: each keeps a quarter of the
// optimizer's states, also of the gradients, or also of the parameters. These are gathered block by block, the next while one computes; so the last
// two levels save memory where a model has many blocks, and this example has one of sixteen.
#include "network.hpp"

struct Deep : Sequential<Linear<20, 128>, Repeat<16, Residual<Linear<128, 128>, ReLU>>, Linear<128, 10>> {};
template <class... What> using Slices = Training<Sharded<4, What...>, Deep>;
using Mine = Slices<>;

static_assert(peak_memory<Mine>() < peak_memory<Slices<Gradients>>() && peak_memory<Slices<Gradients>>() < peak_memory<Slices<OptimizerState>>());

// Refused: using Bad = Training<Sharded<3>>;
// Says: [heddle.M05] axis shard has size 3, but units are cut into 64 even parts. Fix: use 2 or 4, with DataParallel for the other ranks.

int main() {
  return run_main([] {
    print_costs();
    print_costs<Training<DataParallel<4>, Deep>>("DataParallel<4>");
    print_costs<Slices<OptimizerState>>("Sharded<4, OptimizerState>: ZeRO-1");
    print_costs<Slices<Gradients>>("Sharded<4, Gradients>: ZeRO-2");
    print_costs<Mine>("Sharded<4>: ZeRO-3");
    return train_beside_one_device<Mine, Training<Single, Deep>>("Sharded<4>") ? 0 : 1;
  });
}
