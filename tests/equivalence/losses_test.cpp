// SPDX-License-Identifier: MIT
// Losses of single elements, and labels that are smoothed: the bits of one device, one hash, and parts of the vocabulary as the whole.
#include <doctest/doctest.h>

#include "equivalence/equal.hpp"
#include "heddle/backend/field_threads.hpp"
#include "heddle/proof/prove.hpp"

using namespace equivalence;

namespace {

struct Model : Sequential<Linear<24, 16>, Tanh, Linear<16, 16>, ReLU, Linear<16, 24>> {};
template <class Loss, class... Parts> using Of = Plan<Model, Loss, Adam, Batch<16, KeepLast>, Grain<2>, Parts...>;
template <class Loss, class... Parts> using Small = Plan<Model, Loss, AdamW, Batch<8>, Parts...>;
using Smoothed = CrossEntropyWith<LabelSmoothing<1, 10>>;

template <class Loss> void check_loss() {
  using Alone = Of<Loss, Single>;
  check_same_bits_as_data<Of<Loss, DataParallel<4>>, Alone>();
  check_same_bits_as_data<Of<Loss, Sharded<2>, Accumulate<2>>, Alone>();
  check_same_bits_as_data<Of<Loss, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>, Alone>();
  CHECK(prove<Small<Loss, Single>>().hash == prove<Small<Loss, Hybrid<TensorParallel<2>, DataParallel<2>>>>().hash);
}
/// The loss takes the parts that ranks of axis tensor have of its output.
template <class Loss> void check_split_classes() {
  using Split = Small<Loss, TensorParallel<2>>;
  static_assert(traffic<Split>().value_collectives(0, BodyOp::gather_value) == 1);  // of terms, not of logits
  const auto data = rows_of<Split>(8);
  const Verification found = verify<Split, CpuThreads>(data.batch(0, 8), Seed{3}, 2e-5);
  CHECK(found.text == "");
}

}  // namespace

TEST_CASE("losses of single elements have the bits of one device and one hash") {
  check_loss<MeanAbsoluteError>();
  check_loss<Huber<1, 2>>();
  check_loss<BinaryCrossEntropy>();
}

TEST_CASE("smoothed labels do, and of a split vocabulary only terms are gathered, one float more of each position") {
  check_loss<Smoothed>();
  check_split_classes<Smoothed>();
  check_split_classes<CrossEntropy>();
  constexpr auto sent = []<class Loss>(Loss) { return traffic<Plan<Model, Loss, AdamW, Batch<16>, TensorParallel<2>>>().total(); };
  constexpr Bytes more = sent(Smoothed{}) - sent(CrossEntropy{});
  CHECK(more == 2 * 16 * Bytes{4});  // each of 2 ranks tells the other one float of each of 16 rows
}
