// SPDX-License-Identifier: MIT
#include "equivalence/equal.hpp"

using namespace equivalence;

namespace {

template <class... Policies> using Of = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Grain<4>, Bucket<1_KiB>, Hybrid<Policies...>>;
using Alone = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Grain<4>, Single>;

}  // namespace

TEST_CASE("two stages times two replicas train to the bits of one device, in both nestings") {
  using Inside = Of<Pipeline<Balanced<2>>, DataParallel<2>>;
  using Outside = Of<DataParallel<2>, Pipeline<Balanced<2>>>;
  static_assert(devices<Inside> == 4 && devices<Outside> == 4);
  static_assert(Inside::training.mesh.coordinate(Rank{1}, Axis::stage) == 1);
  static_assert(Outside::training.mesh.coordinate(Rank{1}, Axis::stage) == 0);
  check_same_bits<Inside, Alone>();
  check_same_bits<Outside, Alone>();
}

TEST_CASE("stages under GPipe times replicas train to the bits of one device, in both nestings") {
  check_same_bits<Of<Pipeline<Balanced<2>, GPipe, Microbatches<4>>, DataParallel<2>>, Alone>();
  check_same_bits_as_data<Of<DataParallel<2>, Pipeline<Balanced<2>, GPipe, Microbatches<4>>>, Alone>();
}

TEST_CASE("stages under 1F1B times replicas train to the bits of one device, in both nestings") {
  check_same_bits<Of<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>, DataParallel<2>>, Alone>();
  check_same_bits_as_data<Of<DataParallel<4>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>, Alone>();
}

TEST_CASE("a product with an axis of size 1 is the other policy") {
  check_same_bits<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<1>>, Alone>();
  check_same_bits_as_data<Of<DataParallel<2>, Pipeline<Balanced<1>>>, Alone>();
}
