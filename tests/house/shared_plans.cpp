// SPDX-License-Identifier: MIT
// Plans whose checks are asked what they say where a function that lowering and checks both call has a fault: mutate_shared.py compiles this file.
#include "heddle/graph/branches.hpp"
#include "heddle/graph/frozen.hpp"
#include "heddle/graph/inputs.hpp"
#include "heddle/graph/layers/concat.hpp"
#include "heddle/graph/layers/embedding.hpp"
#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/gelu.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/norm.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/layers/tanh.hpp"
#include "heddle/graph/losses/cross_entropy.hpp"
#include "heddle/graph/named.hpp"
#include "heddle/graph/optimizers/adam.hpp"
#include "heddle/graph/optimizers/sgd.hpp"
#include "heddle/graph/residual.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/tied.hpp"
#include "heddle/plan/checked.hpp"
#include "heddle/plan/options/options.hpp"
#include "heddle/plan/plan.hpp"
#include "heddle/policy/data_parallel.hpp"
#include "heddle/policy/hybrid.hpp"
#include "heddle/policy/pipeline.hpp"
#include "heddle/policy/schedule/one_f_one_b.hpp"
#include "heddle/policy/schedule/zero_bubble_h1.hpp"
#include "heddle/policy/sharded.hpp"
#include "heddle/policy/single.hpp"
#include "heddle/policy/tensor_parallel.hpp"

using namespace heddle;

struct Chain : Sequential<Linear<8, 16>, ReLU, Linear<16, 8>, Tanh, Linear<8, 4>> {};
struct Steps : Sequential<Input<4, 8>, Linear<8, 8>, Residual<LayerNorm<8>, Linear<8, 16>, Tanh, Linear<16, 8>>, Linear<8, 2>> {};
struct Words : Sequential<Linear<8, 6>, Named<"wte", Linear<6, 6>>, Tanh, Linear<6, 6>, ReLU, Tied<"head", Linear<6, 6>, To<"wte">>, Linear<6, 4>> {};
struct Fine : Sequential<Frozen<Linear<8, 16>>, ReLU, Linear<16, 8>, Tanh, Frozen<Linear<8, 8>>, Linear<8, 4>> {};
struct Skips : Sequential<Linear<8, 6>, Residual<Linear<6, 12>, GELU, Linear<12, 6>>, Tanh, Linear<6, 4>> {};
struct Several : Sequential<Inputs<Input<2, 2>, Input<2, 2>, Input<3>>,
                            Branches<Add, Sequential<Flatten, Embedding<6, 2>>, Sequential<FromInput<1>, Flatten, Embedding<6, 2>>>, Flatten,
                            Linear<8, 8>, Tanh, Linear<8, 6>, Branches<Concat, Tanh, Sequential<FromInput<2>, Linear<3, 3>>>, Linear<9, 4>> {};

template <class Model, class Optimizer, class... Options> using Trained = Plan<Model, CrossEntropy, Optimizer, Batch<64>, Options...>;

using Grains = Trained<Chain, SGD, Single, Grain<8>>;
using States = Trained<Chain, Adam, Sharded<2, OptimizerState>>;
using Slices = Trained<Skips, Adam, Sharded<2>, Accumulate<2>, Clip<GlobalNorm>>;
using Parts = Trained<Steps, SGD, TensorParallel<2, SequenceParallel>>;
using Stages = Trained<Skips, Adam, Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>, DataParallel<2>>, LossScaling>;
using Ties = Trained<Words, Adam, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2, Gradients>>>;
using Tuned = Trained<Fine, Adam, Sharded<2, Keep::Step>, Accumulate<2>>;
using Loads = Trained<Several, SGD, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>;
using Halves = Trained<Steps, SGD, Hybrid<TensorParallel<2, SequenceParallel>, Sharded<2>>, Mixed<BFloat16>>;

#ifdef HEDDLE_PROGRAMS  // what the lowering makes, whatever the checks say of it
#include <cstdio>

#include "heddle/plan/read/program_hash.hpp"

template <class P> void tell() {
  for (const plan_room::Program* p : {&P::training, &P::evaluation}) {
    std::printf("%llu", static_cast<unsigned long long>(plan_room::program_hash(*p)));
    for (int r = 0; r < p->roles; ++r)
      for (const plan_room::Region& in : p->arenas[r].regions)
        std::printf(" %lld %lld %d", static_cast<long long>(in.begin), static_cast<long long>(in.slot_bytes), in.parts);
    std::printf("\n");
  }
}
int main() {
  tell<Grains>();
  tell<States>();
  tell<Slices>();
  tell<Parts>();
  tell<Stages>();
  tell<Ties>();
  tell<Tuned>();
  tell<Loads>();
  tell<Halves>();
}
#else
static_assert(check<Grains>().ok(), "plan grains");
static_assert(check<States>().ok(), "plan states");
static_assert(check<Slices>().ok(), "plan slices");
static_assert(check<Parts>().ok(), "plan parts");
static_assert(check<Stages>().ok(), "plan stages");
static_assert(check<Ties>().ok(), "plan ties");
static_assert(check<Tuned>().ok(), "plan tuned");
static_assert(check<Loads>().ok(), "plan loads");
static_assert(check<Halves>().ok(), "plan halves");
#endif
