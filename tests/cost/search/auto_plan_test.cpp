// SPDX-License-Identifier: MIT
#include "heddle/cost/search/auto_plan.hpp"

#include <doctest/doctest.h>

#include <type_traits>

#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

namespace {

struct Block : Residual<Linear<64, 256>, GELU, Linear<256, 64>> {};
struct Net : Sequential<Linear<16, 64>, Repeat<4, Block>, Linear<64, 8>> {};
template <class... Parts> using Of = Plan<Net, CrossEntropy, Adam, Batch<64>, Parts...>;

/// Nothing but work takes time.
struct Free {
  static constexpr Machine machine{.per_flop = 1e-9};
};
/// A byte takes as long as 100,000 operations: what moves least is fastest.
struct Slow {
  static constexpr Machine machine{.beta = 1e-4, .per_flop = 1e-9};
};

/// Its devices hold a megabyte.
struct Small {
  static constexpr Machine machine{.per_flop = 1e-9, .memory = 1_MB};
};

}  // namespace

TEST_CASE("the fastest of plans is chosen at compile time, and depends on the machine") {
  using Staged = Of<Pipeline<Balanced<4>, OneFOneB, Microbatches<8>>>;
  static_assert(std::is_same_v<Fastest<Free, Of<DataParallel<4>>, Staged>, Of<DataParallel<4>>>);
  static_assert(std::is_same_v<Fastest<Slow, Of<DataParallel<4>>, Staged>, Staged>);
  static_assert(std::is_same_v<Fastest<Free, Of<DataParallel<4>>, Of<DataParallel<4>, Grain<16>>>, Of<DataParallel<4>>>);  // the first of equals
  CHECK(step_seconds<Staged>(Slow::machine) < step_seconds<Of<DataParallel<4>>>(Slow::machine));
}

TEST_CASE("plans that a rule refuses are passed over") {
  using Tight = Of<DataParallel<4>, Memory<100_KB>>;
  CHECK(check<Tight>().code == Code{'C', 1});
  static_assert(std::is_same_v<Fastest<Free, Tight, Of<Single>>, Of<Single>>);
  static_assert(std::is_same_v<Fastest<Free, Tight, Of<Sharded<3>>>, Tight>);  // none can be
  static_assert(std::is_same_v<Fastest<Small, Of<DataParallel<4>>, Of<TensorParallel<4>>>, Of<TensorParallel<4>>>);
}

TEST_CASE("Auto is a Plan of so many devices, none of the usual ones faster") {
  using Found = Auto<ForDevices<4>, Slow, Net, CrossEntropy, Adam, Batch<64>>;
  static_assert(devices<Found> == 4);
  const double best = step_seconds<Found>(Slow::machine);
  CHECK(best <= step_seconds<Of<DataParallel<4>>>(Slow::machine));
  CHECK(best <= step_seconds<Of<Sharded<4>>>(Slow::machine));
  CHECK(best <= step_seconds<Of<TensorParallel<4>>>(Slow::machine));
  CHECK(best <= step_seconds<Of<Pipeline<Balanced<4>, OneFOneB, Microbatches<8>>>>(Slow::machine));
  static_assert(std::is_same_v<Auto<ForDevices<1>, Slow, Net, CrossEntropy, Adam, Batch<64>>, Of<Single>>);
}

TEST_CASE("Auto has exactly the devices that are asked for, also where no product of two axes has them") {
  const auto found_on = []<int N>(ForDevices<N>) { return devices<Auto<ForDevices<N>, Slow, Net, CrossEntropy, Adam, Batch<240>>>; };
  CHECK(found_on(ForDevices<1>{}) == 1);
  CHECK(found_on(ForDevices<3>{}) == 3);
  CHECK(found_on(ForDevices<5>{}) == 5);
  CHECK(found_on(ForDevices<6>{}) == 6);
  CHECK(found_on(ForDevices<8>{}) == 8);
}

TEST_CASE("a budget of memory is one of the parts of Auto") {
  constexpr Bytes budget{700'000};
  CHECK(peak_memory<Of<DataParallel<4>>>() > budget);
  using Found = Auto<ForDevices<4>, Free, Net, CrossEntropy, Adam, Batch<64>, Memory<budget>>;
  CHECK(peak_memory<Found>() <= budget);
}
