// SPDX-License-Identifier: MIT
#include "heddle/plan/check/budget.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/losses/mean_squared_error.hpp"
#include "plan/plans.hpp"
#include "says.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

template <class... Options> using Alone = Plan<Mnist, CrossEntropy, Adam, Batch<64, KeepLast>, Single, Options...>;

}  // namespace

TEST_CASE("a Program fits the bytes of its largest arena and no byte less; without a budget everything fits") {
  using InTwo = Trained<Skips, Pipeline<Balanced<2>, GPipe, Microbatches<4>>>;
  constexpr const Program& p = InTwo::training;
  const int largest = p.arenas[1].total > p.arenas[0].total ? 1 : 0;
  const Bytes needed{p.arenas[largest].total};
  CHECK(check_memory(p, Bytes{0}).ok());
  CHECK(check_memory(p, needed).ok());
  const Diagnosis found = check_memory(p, needed - 1_B);
  CHECK(found.code == Code{'C', 1});
  CHECK(found.numbers[0] == largest);
  CHECK(found.numbers[1] == needed.value);
  CHECK_FALSE(says(found, "in the best cut found"));
  CHECK(says(check_memory(p, needed - 1_B, true), " bytes in the best cut found, the plan allows "));
}

TEST_CASE("the remedy of a plan over its budget is one for the largest part") {
  struct Wide : Sequential<Linear<64, 128>, ReLU, Linear<128, 64>> {};
  using Grained = Plan<Wide, MeanSquaredError, SGD, Batch<128>, Single, Memory<10_KiB>, Grain<8>>;
  using Ungrained = Plan<Wide, MeanSquaredError, SGD, Batch<128>, Single, Memory<10_KiB>>;
  CHECK(says(check<Grained>(), "Largest: gradients with 368,640 bytes"));
  CHECK(says(check<Grained>(), " Fix: drop Grain<8>, whose sums keep copies of gradients, or name a larger Memory."));
  CHECK(says(check<Ungrained>(), " Fix: use more stages, Sharded or TensorParallel, or a larger Memory."));  // no batch makes parameters smaller
  using Roomy = Plan<Wide, MeanSquaredError, SGD, Batch<128>, Single, Memory<200_KiB>>;
  CHECK(says(check<Roomy>(), " Fix: use Recompute, a smaller batch, more stages or a larger Memory."));
  CHECK(says(check<Alone<Memory<10_KiB>>>(), " Fix: use more stages, Sharded or TensorParallel, or a larger Memory."));
  constexpr std::int64_t kept = Alone<>::training.arenas[0].bytes(RegionKind::parameters, RegionKind::losses);
  static_assert(Alone<>::training.arenas[0].total > kept);
  CHECK(says(check_memory(Alone<>::training, Bytes{kept}), " Fix: use more stages, a smaller batch or a larger Memory."));
  static_assert(!check<Grained>().words.cut && !check<Ungrained>().words.cut);
}
