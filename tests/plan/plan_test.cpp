// SPDX-License-Identifier: MIT
#include "heddle/plan/plan.hpp"

#include <doctest/doctest.h>

#include <array>
#include <type_traits>

#include "heddle/policy/sharded.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "heddle/policy/weighted_data_parallel.hpp"
#include "plan/plans.hpp"
#include "says.hpp"

using namespace heddle;
using namespace heddle::tests;

using Alone = Plan<Mnist, CrossEntropy, Adam, Batch<64, KeepLast>, Single>;
using Spread = Plan<Mnist, CrossEntropy, Adam, Batch<64, KeepLast>, DataParallel<4>>;
struct Crowded : Sequential<Linear<20, 10>> {
  static constexpr int batch_rows = 32, micro_batches = 3;
  static constexpr bool clips = true;
};
static_assert(devices<Plan<Crowded, CrossEntropy, Adam, Batch<Crowded::batch_rows>, DataParallel<2>>> == 2);
static_assert(!Plan<Crowded, CrossEntropy, Adam, Batch<32>, Single>::Request::clips);
using Two = Hybrid<Pipeline<Balanced<2>>, DataParallel<4>>;

static_assert(parameters<Mnist> == 39'760);
static_assert(devices<Alone> == 1);
static_assert(devices<Spread> == 4);
static_assert(peak_memory<Spread>(device<0>) < 2_MiB);
static_assert(devices<Plan<Mnist, CrossEntropy, Adam, Batch<64>, Two>> == 8);
static_assert(devices<Plan<Chain, CrossEntropy, Adam, Batch<64>, Back>> == 2);

namespace {

/// The code of a plan that is never instantiated as such.
template <class... Parts> constexpr Code code_of() { return check<Plan<Parts...>>().code; }
template <class Model, class Rows, class P, class... Options> constexpr Code broken() {
  return code_of<Model, CrossEntropy, Adam, Rows, P, Options...>();
}

struct NoParameters : Sequential<Input<10>, ReLU> {};
struct Unchained : Sequential<Linear<8, 6>, Linear<5, 3>> {};

}  // namespace

TEST_CASE("a plan that is sound says so") {
  static_assert(check<Alone>().ok() && check<Spread>().ok());
  CHECK(check<Plan<Two, Adam, Batch<64>, CrossEntropy, Mnist>>().ok());
}

TEST_CASE("each room refuses with its code, as a value") {
  static_assert(code_of<Mnist, Adam, Batch<64>, Single>() == Code{'L', 1});
  static_assert(broken<Unchained, Batch<64>, Single>() == Code{'G', 1});
  static_assert(broken<Linear<8, 1>, Batch<64>, Single>() == Code{'G', 3});
  static_assert(broken<NoParameters, Batch<64>, Single>() == Code{'G', 9});
  static_assert(broken<Mnist, Batch<64>, Hybrid<DataParallel<2>, DataParallel<2>>>() == Code{'M', 1});
  static_assert(broken<Mnist, Batch<64>, DataParallel<0>>() == Code{'M', 2});
  static_assert(broken<Mnist, Batch<64>, Pipeline<Balanced<4>>>() == Code{'M', 3});
  static_assert(broken<Chain, Batch<64>, Pipeline<Stage<Part1>, Stage<Part3>>>() == Code{'S', 1});
  static_assert(broken<Chain, Batch<64>, Pipeline<Balanced<4>, OneFOneB, Microbatches<2>>>() == Code{'S', 2});
  static_assert(broken<Chain, Batch<4096>, Pipeline<Balanced<4>, GPipe, Microbatches<1024>>>() == Code{'S', 7});
  static_assert(broken<Mnist, Batch<63>, DataParallel<4>>() == Code{'B', 1});
  static_assert(broken<Mnist, Batch<3>, DataParallel<4>>() == Code{'B', 2});
  static_assert(broken<Mnist, Batch<64>, DataParallel<4>, Grain<6>>() == Code{'B', 3});
  static_assert(broken<Mnist, Batch<6>, DataParallel<2>, Grain<1>>() == Code{'B', 4});
  CHECK(broken<Mnist, Batch<64>, DataParallel<4>>() == Code{});
}

TEST_CASE("of several faults the one of the first room is told") {
  static_assert(broken<Unchained, Batch<63>, DataParallel<0>>() == Code{'G', 1});
  CHECK(broken<Mnist, Batch<63>, DataParallel<0>>() == Code{'M', 2});
}

TEST_CASE("a question about a good plan answers a plain number, which is an array's size and a template's argument") {
  static_assert(std::is_same_v<decltype(devices<Spread>), const int> && std::is_same_v<decltype(peak_memory<Spread>()), Bytes>);
  static_assert(std::is_same_v<decltype(traffic<Spread>()), Traffic> && std::is_same_v<decltype(is_reproducible<Spread>), const bool>);
  [[maybe_unused]] const std::array<int, static_cast<std::size_t>(devices<Spread>)> by_device{};
  const char rows[devices<Spread>]{};
  CHECK((sizeof(rows) == 4 && std::is_same_v<std::integral_constant<int, devices<Spread>>, std::integral_constant<int, 4>>));
}

TEST_CASE("a plan is asked under a name of its own: a struct that derives from it") {
  struct Mine : Spread {};
  static_assert(check<Mine>().ok() && devices<Mine> == 4 && peak_memory<Mine>(device<3>) == peak_memory<Spread>(device<3>));
  CHECK(&lower<Mine>() == &lower<Spread>());
}

TEST_CASE("parts that do not belong in a plan by themselves are told where they belong") {
  CHECK(says(check<Plan<Mnist, CrossEntropy, Adam, Batch<64>, Single, Microbatches<4>>>(), "write it inside Pipeline<...>"));
  CHECK(says(check<Plan<Mnist, CrossEntropy, Adam, Batch<64>, Single, On<1>>>(), "write it inside Stage<Part, On<D>> of a Pipeline<...>"));
  CHECK(says(check<Plan<Mnist, CrossEntropy, Adam, Batch<64>, Single, KeepLast>>(), "write it inside Batch<B, Remedy>"));
  CHECK(says(check<Plan<Mnist, CrossEntropy, Adam, Batch<64>, Single, Keep::Step>>(), "write it inside Sharded<N, ...>"));
  CHECK(says(check<Plan<Mnist, CrossEntropy, Adam, Batch<64>, Single, DataParallel<2>>>(), "drop Single"));
}

TEST_CASE("counts beyond an int are refused, and nothing overflows on the way") {
  static_assert(broken<Mnist, Batch<2'147'483'647, KeepLast>, DataParallel<4>>() == Code{'B', 11});
  static_assert(broken<Mnist, Batch<64>, Pipeline<Balanced<2>, OneFOneB, Microbatches<65'536>>, Accumulate<65'536>>() == Code{'B', 11});
  static_assert(broken<Mnist, Batch<64>, WeightedDataParallel<2'147'483'647, 2'147'483'646>>() == Code{'B', 11});
  static_assert(broken<Mnist, Batch<64>, Hybrid<TensorParallel<2>, DataParallel<2'000'000'000>>>() == Code{'M', 14});
  static_assert(broken<Mnist, Batch<64>, Pipeline<Balanced<2>, Interleaved<2'147'483'647>, Microbatches<4>>>() == Code{'M', 3});
  static_assert(broken<Mnist, Batch<64>, Pipeline<Stage<Mnist, On<2'147'483'647>>>>() == Code{'M', 3});
  static_assert(broken<Mnist, Batch<2'147'483'647>, Single, Accumulate<2'147'483'647>>() == Code{'S', 7});
  CHECK(broken<Mnist, Batch<64>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2'147'483'647>>>() == Code{'B', 2});
}

TEST_CASE("a schedule that is too long quotes the limit that it breaks") {
  CHECK(says(check<Plan<Mnist, CrossEntropy, Adam, Batch<8000>, Single, Accumulate<8000>>>(),
             "1 chunk x 8000 micro-batches make 16,000 passes, at most 10,000 are checked at build. Fix: use at most 5000 micro-batches"));
  CHECK(says(check<Plan<Mnist, CrossEntropy, Adam, Batch<2000>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2000>>>>(),
             "make 24,000 instructions, at most 21,000 are checked at build. Fix: use at most 1750 micro-batches"));
}

TEST_CASE("memory is asked for by device: replicas of one stage need the same, stages differ") {
  using P = Plan<Mnist, CrossEntropy, Adam, Batch<64>, Two>;
  static_assert(peak_memory<P>(device<0>) == peak_memory<P>(device<2>));
  static_assert(peak_memory<P>(device<1>) == peak_memory<P>(device<7>));
  static_assert(peak_memory<P>(device<1>) < peak_memory<P>(device<0>));
  CHECK(peak_memory<P>() == peak_memory<P>(device<0>));
}

TEST_CASE("a plan knows whether its sums are reproducible") {
  static_assert(is_reproducible<Spread>);
  static_assert(!is_reproducible<Plan<Mnist, CrossEntropy, Adam, Batch<64>, Single, Accumulate<2>>>);
  static_assert(is_reproducible<Plan<Mnist, CrossEntropy, Adam, Batch<64>, Single, Accumulate<2>, Reproducible>>);
  CHECK(is_reproducible<Plan<Mnist, CrossEntropy, Adam, Batch<64>, Single, Accumulate<2>, Grain<8>>>);
}

TEST_CASE("batch 4 on eight ranks that do not split it is a plan") {
  struct Long : Sequential<Linear<4, 4>, Repeat<7, Linear<4, 4>>> {};
  using P = Plan<Long, CrossEntropy, Adam, Batch<4>, Pipeline<Balanced<8>>>;
  static_assert(devices<P> == 8);
  CHECK(check<P>().ok());
}
