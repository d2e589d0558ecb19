// SPDX-License-Identifier: MIT
// Sums that are not taken, taken twice, over other ranks, or divided by the wrong count: the largest class of silent failures.
#include "anchors/anchors.hpp"
#include "heddle/plan/check/check.hpp"

using namespace anchors;

namespace {

constexpr Leaf linear = Linear<12, 8>::describe(Spec{Shape{12}});
constexpr Signature columns = linear.signatures[0];
constexpr Signature by_rows = linear.signatures[1];

/// A layer with one gain for all features, of which each rank has some.
constexpr Leaf gain = [] {
  Leaf leaf = ReLU::describe(Spec{Shape{12}});
  leaf.with({Text<16>{"gain"}, Shape{1}, Initial::ones});
  return leaf;
}();

constexpr Placements whole{};
constexpr Placements term = placements_of<Partial<axis::tensor>>();

/// Reductions of gradients that a device starts in one step, by axis.
template <class ThePlan> int starts(Axis a) {
  const auto over = [&](const auto& x) { return x.bucket >= 0 && x.axis == a; };
  return lines_where(ThePlan::training, [&](const Instruction& line) { return line.op == ListOp::reduce_start && over(line); }) +
         entries_where(ThePlan::training, [&](const Entry& entry) { return entry.what == BodyOp::reduce_start && over(entry); });
}
template <class ThePlan> int norm_starts(Axis a) {
  const Program& p = ThePlan::training;
  return lines_where(p, [&](const Instruction& line) { return line.op == ListOp::reduce_start && p.moves(line, Purpose::norm) && line.axis == a; });
}
/// Two products that the ranks of axis tensor share.
struct Pair : Sequential<Linear<8, 16>, ReLU, Linear<16, 8>, Tanh, Linear<8, 4, NoBias>> {};
template <class Policy> using Wide = Plan<Pair, CrossEntropy, Adam, Batch<16>, Policy>;
using Staged = Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>;

}  // namespace

TEST_CASE("Megatron-LM #7452: gradients left unreduced in mixes of parallelisms: no mix without any one of its reductions passes") {
  using Mix = Wide<Hybrid<TensorParallel<2>, Sharded<2, OptimizerState>, DataParallel<2>>>;
  const auto gradients = [](const auto& x) { return reduces(x); };
  CHECK(refused_without(lower<Mix>(), gradients, gradients) >= 2 * 2 + 2);
  CHECK(refused_without(lower<Of<Hybrid<Staged, Sharded<2, OptimizerState>, DataParallel<2>>>>(), gradients, gradients) >= 2 * 2 * 2);
  const Diagnosis found = may_be_given(term, whole);  // what is reduced over data only still is a sum over tensor
  CHECK(code_of(found) == "P14");
  CHECK(says(found, "Partial<tensor> is given where Replicate is asked for"));
}

TEST_CASE("Megatron-LM #1446, #1528, TransformerEngine #435, gpt-neox #1257: whole parameters of split values have gradients that are terms") {
  const Signature left_out = gain.signatures[0];
  CHECK(code_of(check_signature(gain, left_out)) == "P03");
  CHECK(says(check_signature(gain, left_out), "each rank sees its own part of the values, so what it has is a term"));
  Signature stated = left_out;
  CHECK(check_signature(gain, stated.with(0, laid::replicate, laid::partial)).ok());
}

TEST_CASE("bigcode Megatron-LM #35, #11: what all ranks read has a gradient that is a sum over them; nobody may leave it as it is") {
  Signature shared = columns;
  shared.input_gradient = laid::replicate;
  CHECK(code_of(check_signature(linear, shared)) == "P03");
  CHECK(says(check_signature(linear, shared), "each rank has a term of it from its own part"));
  using Split = Wide<TensorParallel<2>>;
  const auto values = [](const Entry& entry) { return entry.what == BodyOp::reduce_value; };
  CHECK(entries_where(Split::training, values) == 2);  // the output of the second product, the gradient of the first one's input
  CHECK(refused_without(
            Split::training, [](const Instruction&) { return false; }, values) == 2);
}

TEST_CASE("pytorch #172932, torchtitan #2106: a bias is not added to a term, and what is whole is not reduced") {
  CHECK(code_of(may_add(term, whole)) == "P12");
  Signature everywhere = by_rows;
  everywhere.parameters[1] = laid::replicate;
  CHECK(says(check_signature(linear, everywhere), "so the sum would hold it once for each rank"));
  CHECK(code_of(may_reduce(CalledCollective::all_reduce, axis::tensor, whole)) == "P13");
}

TEST_CASE("pytorch #147180: -5 * dt == 2 * dt is no question for a sum that is not yet taken") {
  CHECK(code_of(may_compare(term, term)) == "P11");
  CHECK(says(may_compare(term, term), "a comparison is not linear, but its operand is a sum over tensor that is not yet taken"));
}

TEST_CASE("VeOmni #1059, verl #7493, pytorch #154888: a mesh of n x 1 reduces along n, and one of 1 x n as well") {
  using Narrow = Of<Hybrid<Sharded<2>, DataParallel<1>>>;
  using Long = Of<Hybrid<Sharded<1>, DataParallel<2>>>;
  CHECK(starts<Narrow>(Axis::shard) > 0);
  CHECK(starts<Long>(Axis::data) > 0);
  CHECK(traffic<Narrow>().gradients().on(axis::shard).total_payload == traffic<Of<Sharded<2>>>().gradients().on(axis::shard).total_payload);
  CHECK(traffic<Long>().gradients().on(axis::data).total_payload == traffic<Of<DataParallel<2>>>().gradients().on(axis::data).total_payload);
  trains_as_one_device<Narrow>();
  trains_as_one_device<Long>();
}

TEST_CASE(
    "pytorch #170862, torchtitan #596, VeOmni #184, PR #862, RLinf PR #1558, Megatron-LM PR #5916, #6489, torchtune #2420: the norm is summed over "
    "exactly the axes on which parameters are split") {
  using Mix = Of<Hybrid<Staged, Sharded<2, OptimizerState>, DataParallel<2>>, Clip<GlobalNorm>>;
  CHECK(norm_starts<Mix>(Axis::shard) == 2);  // of each of two devices
  CHECK(norm_starts<Mix>(Axis::stage) == 2);
  CHECK(norm_starts<Mix>(Axis::data) == 0);
  const auto of_norm = [](const Instruction& line) {
    return Mix::training.moves(line, Purpose::norm) || line.op == ListOp::norm || line.op == ListOp::clip;
  };
  CHECK(refused_without(lower<Mix>(), of_norm, [](const Entry&) { return false; }) == 2 * (2 * 2 + 2));
  trains_as_one_device<Mix>();  // norms, too
  CHECK(code_of(norm_is_reduced<Distributed<SquaredNorm, Partial<axis::stage>>>()) == "P17");
}

TEST_CASE("Megatron-LM #5656, PR #5956, #673, #906, pytorch #155903: the divisor is the number of rows, however many ranks add") {
  // A full batch, a part of one and a single row, which leaves three ranks without any: the bits are those of one device, whose gradients
  // tests/golden compares with PyTorch's.
  trains_as_one_device<Of<Sharded<4>>>();
  trains_as_one_device<Of<Hybrid<Sharded<2>, DataParallel<2>>>>();
  constexpr Placements sum = placements_of<Sum<axis::data>>();
  CHECK(code_of(may_divide(sum, placements_of<Sum<axis::data, axis::context>>())) == "P15");
  CHECK(code_of(may_divide(placements_of<Mean<axis::data>>(), sum)) == "P15");
  CHECK(code_of(may_be_given(placements_of<Mean<axis::shard>>(), placements_of<Mean<axis::data, axis::shard>>())) == "P15");
  CHECK(code_of(may_be_given(sum, placements_of<Mean<axis::data>>())) == "P15");
}

TEST_CASE("transformers #34191, #34373, torchtune PR #1917, open-instruct PR #1736: rounds of unequal rows give the mean over rows") {
  trains_as_one_device<Of<Single, Accumulate<4>>>();  // 21 rows in rounds of 8: 8, 8, 5 and none
  trains_as_one_device<Of<DataParallel<2>, Accumulate<4>>>();
  CHECK(code_of(Averaging<32, 16>::found) == "P16");
}

TEST_CASE(
    "FunASR PR #3472, build-nanogpt PR #30, picotron PR #5, Fast-LLM #550, Megatron-LM PR #7186, cosmos-framework #161: a gradient is summed over "
    "all "
    "micro-batches and reduced once, after the last") {
  using Once = Of<DataParallel<2>>;
  using Rounds = Of<Hybrid<Staged, DataParallel<2>>, Accumulate<2>>;
  CHECK(starts<Once>(Axis::data) == Once::training.bucket_count);
  CHECK(starts<Rounds>(Axis::data) == Rounds::training.bucket_count);
  CHECK(traffic<Of<DataParallel<2>, Accumulate<4>>>().gradients().on(axis::data).messages == traffic<Once>().gradients().on(axis::data).messages);
  const auto early = [](const Entry& entry) { return entry.what == BodyOp::reduce_start && entry.bucket >= 0 && entry.when == When::always; };
  CHECK(entries_where(Rounds::training, early) == 0);
  trains_as_one_device<Rounds>();
  tests::Copy copy{lower<Rounds>()};
  int moved = 0;
  for (Entry& entry : copy.entries) {
    if (entry.what != BodyOp::reduce_start || entry.when != When::last_micro_batch) continue;
    entry.when = When::always;  // the failure: in every micro-batch
    ++moved;
    CHECK(code_of(check(copy.view())) == "S06");
    entry.when = When::last_micro_batch;
  }
  CHECK(moved > 0);
}

TEST_CASE("Megatron-Bridge PR #5591, pytorch PR #115710: an overflow that one rank has seen is known to all before any of them steps or skips") {
  using Mix = Of<Hybrid<Staged, Sharded<2, OptimizerState>, DataParallel<2>>, LossScaling>;
  CHECK(norm_starts<Mix>(Axis::shard) == 2);  // the flag goes the way of a norm
  CHECK(norm_starts<Mix>(Axis::stage) == 2);
  CHECK(norm_starts<Mix>(Axis::data) == 0);
  const auto of_flag = [](const Instruction& line) {
    return Mix::training.moves(line, Purpose::norm) || line.op == ListOp::unscale || line.op == ListOp::skip;
  };
  CHECK(refused_without(lower<Mix>(), of_flag, [](const Entry&) { return false; }) == 2 * (2 * 2 + 2));
  CHECK(code_of(is_whole("value()", placements_of<Partial<axis::shard>>())) == "P14");  // in code of users
}

TEST_CASE("pytorch #109191, PR #144535: a weight part, and a layer that runs again, reduces what it makes") {
  using Split = Of<Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, DataParallel<2>>>;
  const auto reduced = [](const auto& x) { return reduces(x); };
  CHECK(starts<Split>(Axis::data) == Split::training.bucket_count);
  CHECK(refused_without(lower<Split>(), reduced, reduced) >= 2 * Split::training.bucket_count);
  trains_as_one_device<Split>();
  using Again = Of<DataParallel<2>, Recompute<GELU, Tanh>>;
  CHECK(starts<Again>(Axis::data) == Again::training.bucket_count);
  CHECK(refused_without(lower<Again>(), reduced, reduced) >= 2 * Again::training.bucket_count);
  trains_as_one_device<Again>();
}
