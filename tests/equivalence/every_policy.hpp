// SPDX-License-Identifier: MIT
// Every policy of a model against one device: equal bits.
#pragma once

#include "equivalence/equal.hpp"

namespace equivalence {

/// Two stages under an order of four micro-batches.
template <class Order> using TwoStages = Pipeline<Balanced<2>, Order, Microbatches<4>>;

/// `Of<Model, Parts...>` is a plan of a batch of 32 whose grains are of 2 rows.
template <template <class, class...> class Of, class Model> void check_every_policy() {
  using Alone = Of<Model, Single>;
  check_same_bits<Of<Model, DataParallel<2>>, Alone>();
  check_same_bits_as_data<Of<Model, DataParallel<4>, Bucket<64_B>>, Alone>();
  check_same_bits_as_data<Of<Model, Single, Accumulate<4>>, Alone>();
  check_same_bits_as_data<Of<Model, Sharded<4, OptimizerState>>, Alone>();
  check_same_bits_as_data<Of<Model, Sharded<2, heddle::Gradients>, Accumulate<2>>, Alone>();
  check_same_bits_as_data<Of<Model, Sharded<4>>, Alone>();
  check_same_bits_as_data<Of<Model, Sharded<2, Keep::Step>>, Alone>();
  check_same_bits_as_data<Of<Model, TwoStages<GPipe>>, Alone>();
  check_same_bits_as_data<Of<Model, Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>, Alone>();
  check_same_bits_as_data<Of<Model, TwoStages<Interleaved<2>>>, Alone>();
  check_same_bits_as_data<Of<Model, TwoStages<ZeroBubbleH1>>, Alone>();
  check_same_bits_as_data<Of<Model, Hybrid<TwoStages<OneFOneB>, DataParallel<2>>>, Alone>();
  check_same_bits_as_data<Of<Model, Hybrid<TwoStages<ZeroBubbleH1>, Sharded<2>>>, Alone>();
  check_same_bits_as_data<Of<Model, Hybrid<Sharded<2, heddle::Gradients>, DataParallel<2>>>, Alone>();
}

}  // namespace equivalence
