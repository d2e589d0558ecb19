// SPDX-License-Identifier: MIT
// Arrays of a constant and tables of any length begin alike, and the scheduler, the emitter and the walk over slots write them alike.
#include "heddle/plan/lower/phase_tables.hpp"

#include <doctest/doctest.h>

#include <iterator>

#include "heddle/heddle.hpp"
#include "heddle/plan/lowered.hpp"
#include "plan/lowered_again.hpp"

using namespace heddle;
using namespace heddle::plan_room;
using namespace heddle::tests;

namespace {

struct Net : Sequential<Linear<8, 6>, ReLU, Linear<6, 6>, ReLU, Linear<6, 4>, Tanh, Linear<4, 2>> {};
template <class Order>
using InTwoStages = Plan<Net, MeanSquaredError, SGD, Batch<16>, Hybrid<Pipeline<Balanced<2>, Order, Microbatches<4>>, DataParallel<2>>>;

/// Every field of both Programs is compared (plan/difference.hpp). The schedule has a compute of each chunk, micro-batch and pass.
template <class ThePlan> void is_lowered_alike() {
  const NoticedPlan& noticed = *Noticing<ThePlan>::noticed;
  REQUIRE((noticed.request != nullptr));
  REQUIRE((noticed.training != nullptr));
  CHECK(lowered_otherwise(noticed) == "");
  using Training = Lowered<RequestOf<ThePlan>, true>;
  using Evaluation = Lowered<RequestOf<ThePlan>, false>;
  const int each = ThePlan::training.chunks * ThePlan::training.batch.total_micro_batches();
  CHECK(Training::schedule.count == each * Training::passes);
  CHECK(Evaluation::schedule.count == each * Evaluation::passes);
  CHECK(Training::passes > Evaluation::passes);
}

TEST_CASE("arrays of a constant and allotted tables are written alike") {
  is_lowered_alike<InTwoStages<OneFOneB>>();
  is_lowered_alike<InTwoStages<Interleaved<2>>>();
  is_lowered_alike<InTwoStages<ZeroBubbleH1>>();
  is_lowered_alike<InTwoStages<GPipe>>();
}

template <class Ends> constexpr bool begins_with_zeros() {
  Ends ends{8};  // 2 chunks, 4 micro-batches
  int sum = 0;
  for (int i = 0; i < 8; ++i) sum += ends.forward_end[i] + ends.backward_end[i];
  for (int i = 0; i < 8; ++i) ends.forward_end[i] = 1;
  for (int i = 0; i < 8; ++i) sum += ends.backward_end[i];  // another array
  return sum == 0;
}

TEST_CASE("ends of computes are zero before the first is known, and those of forwards and of backwards are two arrays") {
  static_assert(begins_with_zeros<EndTables<8>>() && begins_with_zeros<AllottedEnds>());
}

TEST_CASE("arrays of a constant have the sizes of their numbers, and one element where a number is 0") {
  using Work = ListWork<2, 20, 2, 4, 16, 30>;
  static_assert(Work::most_instructions == 20);
  static_assert(std::size(Work{}.instructions) == 20 && std::size(Work{}.lists) == 2 && std::size(Work{}.ties) == 2);
  static_assert(std::size(Work{}.received) > 2 * 4 && std::size(Work{}.next_out) > 2 && std::size(Work{}.next_in) > 2);
  static_assert(std::size(Work{}.ending) == 30 + 1 && std::size(Work{}.ending_too) > 16);  // also what ends last
  static_assert(std::size(ListTables<1, 0>{}.instructions) == 1);
  using Slots = SlotWork<2, 4>;
  static_assert(std::size(Slots{}.pools) == 8 && std::size(Slots{}.slots) == 32);
  static_assert(std::size(Slots{}.state) == 32 && std::size(Slots{}.occupied) == 32);
}

}  // namespace
