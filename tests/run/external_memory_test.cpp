// SPDX-License-Identifier: MIT
#include "heddle/run/external_memory.hpp"

#include <doctest/doctest.h>

#include "heddle/backend/cpu_threads.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

using Alone = Trained<Mnist, Single>;
using Split = Trained<Mnist, Hybrid<TensorParallel<2>, DataParallel<4>>>;

struct Kernels {
  using Compute = EigenCompute;
};
/// A transport that takes a float for every element of the largest sum over axis tensor.
struct Hungry {
  struct Session {
    static constexpr Bytes memory(const RankNeeds& needs) { return 4 * Bytes{needs.elements[1]}; }
  };
};

}  // namespace

TEST_CASE("what a backend adds is asked of its kernels, its transport and the trainer, by plan") {
  static_assert(external_memory<Alone, Kernels>() == EigenCompute::workspace);
  struct Convnet : Sequential<Input<2, 9, 9>, Conv2d<2, 3, KernelSize<3>>, Flatten, Linear<147, 10>> {};
  static_assert(external_memory<Plan<Convnet, CrossEntropy, SGD, Batch<8>, Single>, Kernels>() == EigenCompute::workspace + 512_KiB);
  constexpr Bytes lists = trainer_memory(Alone::training, Alone::evaluation);
  static_assert(lists > Bytes{4 * initial_piece} && lists < 256_KiB);
  static_assert(external_memory<Alone, Hungry>() == lists);  // one device sums nothing over ranks
  static_assert(external_memory<Split, Hungry>() - trainer_memory(Split::training, Split::evaluation) ==
                4 * Bytes{rank_needs(Split::training, Split::evaluation).elements[1]});
  CHECK(external_memory<Alone, CpuThreads>() == EigenCompute::workspace + lists + Threads::memory(rank_needs(Alone::training, Alone::evaluation)));
}

TEST_CASE("threads share what they post starts in, so their number counts and the size of a sum does not") {
  constexpr RankNeeds few{.ranks = 2, .all_groups = 1, .members = {2}, .transfers = 1, .reductions = 4, .elements = {16}};
  RankNeeds many = few;
  many.elements[0] = 1 << 20;
  CHECK(Threads::memory(many) == Threads::memory(few));
  many.ranks = many.members[0] = 64;
  CHECK(Threads::memory(many) > Threads::memory(few));
}
