// SPDX-License-Identifier: MIT
#include "heddle/plan/inference.hpp"

#include <doctest/doctest.h>

#include <string_view>
#include <type_traits>

#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/layers/tanh.hpp"
#include "heddle/graph/layers/unflatten.hpp"
#include "heddle/graph/losses/mean_squared_error.hpp"
#include "heddle/plan/read/work.hpp"
#include "heddle/policy/sharded.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

template <class Model, class Policy, class... Options> using Applied = Inference<Model, Batch<16, KeepLast>, Policy, Options...>;

/// Flat parameters of a role, the slots of the forward and its scratch: nothing else. That all of it is used is a case of run/runner_test.
template <class I> void arena_is_what_the_forward_needs() {
  const Program& p = I::evaluation;
  for (int r = 0; r < p.roles; ++r) {
    std::int64_t bytes = 4 * p.arenas[r].flat_elements();  // of plans that slice nothing
    for (int k = 0; k < p.chunks * pool_kinds; ++k)
      if (p.pools[k].role == r) bytes += p.pools[k].slots * p.pools[k].slot_bytes;
    CHECK(p.arenas[r][RegionKind::scratch].begin == bytes);
  }
}
template <class Model, class Policy> void is_smaller_than_its_plan() {
  using I = Applied<Model, Policy>;
  static_assert(devices<I> == devices<Trained<Model, Policy>>);
  for (int r = 0; r < I::evaluation.roles; ++r) {
    const std::int64_t flat = 4 * I::evaluation.arenas[r].flat_elements();
    CHECK(I::evaluation.arenas[r].total <= Trained<Model, Policy>::training.arenas[r].total - 3 * flat);  // a gradient, two states of Adam
  }
  arena_is_what_the_forward_needs<I>();
}

}  // namespace

TEST_CASE("an Inference has the arena of its forward: no gradients, no optimizer states, under every policy") {
  is_smaller_than_its_plan<Mnist, Single>();
  is_smaller_than_its_plan<Mnist, DataParallel<4>>();
  is_smaller_than_its_plan<Chain, Back>();
  is_smaller_than_its_plan<Chain, BackIn<GPipe, 4>>();
  is_smaller_than_its_plan<Skips, Hybrid<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>, DataParallel<2>>>();
}

TEST_CASE("its bytes are constants: parameters, the input, and the values of one row after the other in scratch") {
  using I = Applied<Mnist, Single>;
  // Flat parameters as plan/read/ledger_test counts them. Input 16 x 784 floats is kept in the frame; 16 x 50, in place for ReLU, then 16 x 10 beside
  // it.
  static_assert(peak_memory<I>(device<0>) == Bytes{159'744 + 4'096 + 4 * 16 * 784 + 4 * 16 * 50 + 4 * 16 * 10});
  static_assert(peak_memory<I>() == peak_memory<I>(device<0>));
}

TEST_CASE("it moves values forward and nothing back") {
  using I = Applied<Chain, Pipeline<Stage<Part1>, Stage<Part2>, Stage<Part3>, OneFOneB, Microbatches<4>>>;
  constexpr Volume moved = traffic<I>().activations();
  static_assert(moved.messages == 2 * 4);  // boundaries x micro-batches
  static_assert(moved.total_payload == Bytes{2 * 16 * 6 * 4});
  static_assert(traffic<Applied<Mnist, DataParallel<4>>>().total() == Bytes{0});
  CHECK(moved.padding() == Bytes{2 * 4 * (32 - 24) * 4});  // 4 rows of 6 floats fill two lines of 16
}

TEST_CASE("its program has forwards, sends and receives only") {
  using I = Applied<Skips, Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>;
  const Program& p = I::evaluation;
  for (int i = 0; i < p.lists[p.roles - 1].end; ++i) {
    const ListOp op = p.instructions[i].op;
    const bool known =
        op == ListOp::forward || op == ListOp::send_start || op == ListOp::send_wait || op == ListOp::receive_start || op == ListOp::receive_wait;
    CHECK((known || p.instructions[i].when == When::reporting));
  }
}

TEST_CASE("sliced parameters are gathered for the forward alone, once for each micro-batch") {
  using I = Applied<Chain, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<4>>>;
  using P = Trained<Chain, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<4>>>;
  static_assert(2 * traffic<I>().parameters().on(axis::shard).total_payload == traffic<P>().parameters().on(axis::shard).total_payload);
  static_assert(traffic<I>().gradients().on(axis::shard).total_payload == Bytes{0} && traffic<I>().loss().total_payload == Bytes{0});
  for (int r = 0; r < devices<I>; ++r) {
    CHECK(traffic<I>().sent_in_collectives(Rank{r}) == traffic<I>().sent_in_gathers(Rank{r}));
    CHECK(2 * traffic<I>().sent_in_gathers(Rank{r}) == traffic<P>().sent_in_gathers(Rank{r}));
  }
  static_assert(traffic<Applied<Chain, Sharded<4, OptimizerState>>>().total() == Bytes{0});
  // A quarter of the units, two of the largest to gather into, and the forward.
  const ArenaMap& map = I::evaluation.arenas[0];
  CHECK(map[RegionKind::pools].begin == map.flat_elements() + map[RegionKind::gathered].bytes());
}

TEST_CASE("sliced parameters that are kept are gathered once a batch") {
  using I = Applied<Chain, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<4, Keep::Step>>>;
  using P = Trained<Chain, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<4, Keep::Step>>>;
  static_assert(traffic<I>().parameters().on(axis::shard).total_payload == traffic<P>().parameters().on(axis::shard).total_payload);
  const ArenaMap& map = I::evaluation.arenas[0];
  CHECK(map[RegionKind::pools].begin == map.flat_elements() + 4 * map.flat_elements());
}

TEST_CASE("a budget is of the arena without training") {
  constexpr Bytes enough = peak_memory<Applied<Mnist, Single>>();
  static_assert(peak_memory<Applied<Mnist, Single, Memory<enough>>>() == enough);
  constexpr Diagnosis over = check<Applied<Mnist, Single, Memory<enough - 1_B>>>();
  static_assert(over.code == Code{'C', 1});
  CHECK(over.numbers[1] == enough.value);
}

TEST_CASE("a cut that balances counts forwards alone, a plan that trains counts what its backward runs") {
  // Forwards of 500, 200 and 400 products; with training 1000, 600 and 1200, since the first layer makes no gradient of its input.
  struct Three : Sequential<Linear<50, 10, NoBias>, Linear<10, 20, NoBias>, Linear<20, 20, NoBias>> {};
  using Two = Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>;
  static_assert(Applied<Three, Two>::evaluation.first_node[1] == 1);
  static_assert(Plan<Three, MeanSquaredError, SGD, Batch<16>, Two>::evaluation.first_node[1] == 2);
  using Named = Applied<Three, Pipeline<Stage<Sequential<Linear<50, 10, NoBias>, Linear<10, 20, NoBias>>>, Stage<Linear<20, 20, NoBias>>>>;
  static_assert(slowest_of_balanced_cut(Named::evaluation, false) == 2 * 600);
  CHECK(stage_flops(Named::evaluation, 0) == 2 * 700);
}

TEST_CASE("a cut that balances stays as it is if the forward fits, also where training would not") {
  // Two layers of many parameters, then many of few: half of the operations each.
  struct Uneven : Sequential<Input<512>, Linear<512, 256>, ReLU, Linear<256, 512>, Unflatten<16, 32>, Repeat<16, Sequential<Linear<32, 32>, Tanh>>,
                             Flatten, Linear<512, 10>> {};
  using Cut = Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>;
  constexpr Bytes enough = peak_memory<Applied<Uneven, Cut>>();
  constexpr int wanted = Applied<Uneven, Cut>::evaluation.first_node[1];
  using Kept = Applied<Uneven, Cut, Memory<enough>>;
  static_assert(RequestOf<Plan<Uneven, Batch<16, KeepLast>, Cut, Memory<enough>, NoLoss, SGD>>::layout.first_node[1] != wanted);
  static_assert(Kept::evaluation.first_node[1] == wanted);
  static_assert(peak_memory<Kept>() == enough);
}

TEST_CASE("what is wrong with the plan that would train it is wrong with it") {
  using Uneven = Inference<Mnist, Batch<63>, DataParallel<4>>;
  static_assert(check<Uneven>().code == Code{'B', 1});
  using Parts = Inference<Mnist, DataParallel<4>>;
  static_assert(check<Parts>().code == Code{'L', 1});
}

TEST_CASE("what only training has is refused by its name") {
  const auto refused = []<class... Options>(std::type_identity<Inference<Options...>>, std::string_view name) {
    constexpr Diagnosis found = check<Inference<Options...>>();
    CHECK(found.code == Code{'L', 10});
    CHECK(found.sentence().view().find(name) == 13);
  };
  refused(std::type_identity<Inference<Mnist, Batch<64>, Single, CrossEntropy>>{}, "CrossEntropy is for training, but");
  refused(std::type_identity<Inference<SGD, Mnist, Batch<64>, Single>>{}, "SGD is for training, but");
  refused(std::type_identity<Inference<Mnist, Batch<64>, Single, Bucket<1_MiB>>>{}, "Bucket<");
  refused(std::type_identity<Inference<Mnist, Batch<64>, Single, LossScaling>>{}, "LossScaling is");
  refused(std::type_identity<Inference<Mnist, Batch<64>, Single, Clip<GlobalNorm>>>{}, "Clip<GlobalNorm> is");
  refused(std::type_identity<Inference<Mnist, Batch<64>, Single, Recompute<ReLU>>>{}, "Recompute<ReLU> is");
}

TEST_CASE("rounds are taken: rows of a batch then pass one part at a time, in less memory") {
  static_assert(peak_memory<Inference<Mnist, Batch<64>, Single, Accumulate<4>>>() < peak_memory<Inference<Mnist, Batch<64>, Single>>());
}
