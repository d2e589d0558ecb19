// SPDX-License-Identifier: MIT
#include "heddle/cost/simulate.hpp"

#include <doctest/doctest.h>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

// Four equal blocks; without bias the backward has exactly twice the flops of the forward.
struct Equal : Sequential<Repeat<4, Linear<64, 64, NoBias>>> {};
template <class Order, int M> using Staged = Plan<Equal, MeanSquaredError, SGD, Batch<64>, Pipeline<Balanced<4>, Order, Microbatches<M>>>;
constexpr double block_flops = 6.0 * 64 * 64;

}  // namespace

TEST_CASE("equal stages stand idle (p-1)/(m+p-1) of the time under GPipe and 1F1B") {
  CHECK(simulate(lower<Staged<GPipe, 4>>(), Machine{}).bubble() == doctest::Approx(3.0 / 7).epsilon(1e-12));
  CHECK(simulate(lower<Staged<OneFOneB, 8>>(), Machine{}).bubble() == doctest::Approx(3.0 / 11).epsilon(1e-12));
  CHECK(simulate(lower<Staged<OneFOneB, 16>>(), Machine{}).bubble() != doctest::Approx(3.0 / 16).epsilon(1e-3));  // (p-1)/m is another ratio
}

TEST_CASE("one device is never idle and takes its flops") {
  using Alone = Plan<Equal, MeanSquaredError, SGD, Batch<64>, Single>;
  const Estimate estimate = simulate(lower<Alone>(), Machine{0, 0, 1e-9});
  CHECK(estimate.bubble() == 0);
  CHECK(estimate.step.value == doctest::Approx(64 * 4 * block_flops * 1e-9));
}

TEST_CASE("latency is paid once per boundary, micro-batch and direction where nothing hides it") {
  using Two = Plan<Equal, MeanSquaredError, SGD, Batch<64>, Pipeline<Balanced<2>>>;  // sequential: one value there, one back
  const double free = simulate(lower<Two>(), Machine{0, 0, 1e-9}).step.value;
  CHECK(simulate(lower<Two>(), Machine{0.5, 0, 1e-9}).step.value == doctest::Approx(free + 2 * 0.5));
  CHECK(simulate(lower<Two>(), Machine{0, 1e-3, 1e-9}).step.value == doctest::Approx(free + 2 * 64 * 64 * 4 * 1e-3));
}

TEST_CASE("an all-reduce costs a ring and starts after the backward that completes its bucket") {
  using Spread = Plan<Equal, MeanSquaredError, SGD, Batch<64>, DataParallel<4>>;
  const double work = 16 * 4 * block_flops * 1e-9;
  const double bytes = 4.0 * 4 * 64 * 64;
  CHECK(simulate(lower<Spread>(), Machine{0.25, 1e-6, 1e-9}).step.value == doctest::Approx(work + 2 * 3 * 0.25 + 2 * bytes * 3 / 4 * 1e-6));
}
