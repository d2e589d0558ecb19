// SPDX-License-Identifier: MIT
// Leaves that use the parameters of another: bits after every step, bytes and memory as stated, wherever the uses live.
#include "equivalence/tied.hpp"

using namespace equivalence;

namespace {

using Wte = Linear<16, 19, NoBias>;
using First = Sequential<Linear<23, 16>, Named<"wte", Wte>, Tanh>;
using Middle = Sequential<Linear<19, 16>, GELU>;
using Last = Sequential<Tied<"head", Wte, To<"0.wte">>>;
/// As a language model: the last layer is the second.
struct Language : Sequential<First, Middle, Last> {};

template <class Order, int M> using Three = Pipeline<Stage<First, On<0>>, Stage<Middle, On<1>>, Stage<Last, On<2>>, Order, Microbatches<M>>;
template <class... Parts> using Returning = Pipeline<Stage<First, On<0>>, Stage<Middle, On<1>>, Stage<Last, On<0>>, Parts...>;

}  // namespace

TEST_CASE("uses on two stages train to the bits of one device, in every order") {
  static_assert(TiedPlan<Language, Three<OneFOneB, 4>>::training.transfer_count == 2 * 2 + 2);  // the gradients of both uses cross
  holds_tied<Language, Three<GPipe, 4>>();
  holds_tied_as_data<Language, Three<OneFOneB, 8>>();
  holds_tied_as_data<Language, Three<ZeroBubbleH1, 4>>();
  holds_tied_as_data<Language, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>();
  holds_tied_as_data<Language, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>>();
}

TEST_CASE("uses on one device that a pipeline comes back to share one copy and add up where they are") {
  static_assert(TiedPlan<Language, Returning<>>::training.transfer_count == 2 * 2);
  static_assert(TiedPlan<Language, Returning<>>::training.arenas[0][RegionKind::states].slot_bytes ==
                TiedPlan<Language, Three<OneFOneB, 4>>::training.arenas[0][RegionKind::states].slot_bytes);
  holds_tied<Language, Returning<>>();
  holds_tied_as_data<Language, Hybrid<Returning<>, Sharded<2>, DataParallel<2>>>();
}
