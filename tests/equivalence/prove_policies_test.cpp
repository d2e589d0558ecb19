// SPDX-License-Identifier: MIT
// Every policy, order and option in exact arithmetic, where tensor splits, weighted shares and accumulation promise no bits of floats: one hash a
// model.
#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string_view>

#include "equivalence/own_channels.hpp"
#include "equivalence/own_join.hpp"
#include "equivalence/plan_as_data.hpp"
#include "heddle/backend/field_threads.hpp"

using namespace heddle;
using equivalence::PlanAsData, equivalence::as_data;

namespace {

struct Block : Residual<Linear<4, 6>, GELU, Linear<6, 4>> {};
struct Net : Sequential<Linear<3, 4>, Repeat<3, Block>, Named<"head", Linear<4, 6>>> {};
template <class... Parts> using OfNet = Plan<Net, CrossEntropy, AdamW, Batch<12, KeepLast>, Parts...>;
struct Words : Sequential<Input<4>, Named<"in", Embedding<12, 4, PaddingIndex<1>>>, Repeat<2, Block>, Tied<"out", Linear<4, 12, NoBias>, To<"in">>> {
};
template <class... Parts> using OfWords = Plan<Words, CrossEntropy, MomentumSGD, Batch<4>, Clip<GlobalNorm>, Parts...>;

/// One device with the rows of a plan, as prove<ThePlan>() takes it.
template <class ThePlan> using AloneOf = typename plan_room::OneDeviceOf<plan_room::RequestOf<ThePlan>>::Unscaled;
template <class OfPlan> Proof proof_of_data(const PlanAsData& plan, const PlanAsData& one) {
  CHECK(plan.training().batch.remedy != Remedy::drop);  // prove<ThePlan>() then compares with the rows that are left
  const FieldWork work = field_work<typename OfPlan::Model, typename OfPlan::Loss, typename OfPlan::Optimizer>();
  OneDevice<FieldThreads::SessionOfOne> alone{work, {&one.training(), &one.evaluation()}, steps_of(plan.training().batch)};
  return prove_programs<FieldThreads::Session>({&plan.training(), &plan.evaluation()}, alone, "a plan that is data");
}

/// All proofs hold, none is without a bound, and all have one hash.
class OneHash {
 public:
  template <class ThePlan> OneHash& plan() { return take(prove<ThePlan>()); }
  /// The same of a plan that the test lowers while it runs.
  template <class ThePlan> OneHash& data() {
    return take(proof_of_data<equivalence::TypesOf<ThePlan>>(as_data<ThePlan>(), as_data<AloneOf<ThePlan>>()));
  }

 private:
  OneHash& take(const Proof& proof) {
    CAPTURE(proof.line());
    CHECK(proof.ok());
    CHECK(proof.log2_of_bound <= -40);
    hashes_.insert(proof.hash);
    hashes_.insert(proof.hash_alone);
    CHECK(hashes_.size() == 1);
    return *this;
  }
  std::set<std::uint64_t> hashes_;
};
/// Frozen layers in front, inside a block, around a block and behind.
struct Adapted : Sequential<Frozen<Linear<3, 4>>, GELU, Linear<4, 4>, Repeat<3, Residual<Frozen<Linear<4, 6>>, GELU, Linear<6, 4>>>,
                            Frozen<Sequential<Repeat<2, Block>, Linear<4, 6>>>> {};
template <class... Parts> using OfAdapted = Plan<Adapted, CrossEntropy, AdamW, Batch<12, KeepLast>, Parts...>;
/// Norms of sequences: vectors may be split over ranks, features not.
/// Masks of dropout are those of the whole.
struct NormedBlock : Residual<RMSNorm<4, Epsilon<6>>, Linear<4, 6>, GELU, Dropout<1, 4>, Linear<6, 4>, Dropout<1, 3>> {};
struct Normed : Sequential<Input<4, 4>, LayerNorm<4>, Repeat<2, NormedBlock>, LayerNorm<4, NoBias>, Linear<4, 6>> {};
template <class... Parts> using OfNormed = Plan<Normed, CrossEntropy, AdamW, Batch<8>, Parts...>;
/// Images whose channels are normalised over a grain, once as they are.
struct ImagedBlock : Residual<BatchNorm2d<6, Momentum<1, 3>>, Tanh> {};
struct Imaged
    : Sequential<Linear<3, 12>, Unflatten<6, 1, 2>, BatchNorm2d<6>, Repeat<2, ImagedBlock>, Frozen<BatchNorm2d<6>>, GELU, Flatten, Linear<12, 6>> {};
template <class... Parts> using OfImaged = Plan<Imaged, CrossEntropy, AdamW, Batch<8, KeepLast>, Grain<2>, Parts...>;
/// Shares of vectors, of which ranks may have some.
struct Shared : Sequential<Input<4, 4>, LayerNorm<4>, Residual<Linear<4, 6>, Softmax, Linear<6, 4>>, Softmax, Linear<4, 6>, LogSoftmax> {};
template <class... Parts> using OfShared = Plan<Shared, MeanSquaredError, AdamW, Batch<8>, Parts...>;
/// Windows that overlap and windows that leave pixels out, of channels that ranks split.
struct Pooled : Sequential<Linear<3, 60>, Unflatten<2, 5, 6>, MaxPool2d<KernelSize<3>, Stride<2>, Padding<1>>, SiLU, AdaptiveAvgPool2d<2>,
                           LeakyReLU<>, AvgPool2d<KernelSize<2>>, Flatten, Linear<2, 6>> {};
template <class... Parts> using OfPooled = Plan<Pooled, CrossEntropy, AdamW, Batch<8, KeepLast>, Parts...>;
/// Convolutions whose channels ranks split, first those of the output, then those of the input, and by groups.
struct Convolved
    : Sequential<Linear<3, 40>, Unflatten<2, 4, 5>, Conv2d<2, 4, KernelSize<3>, Padding<1>>, ReLU, Conv2d<4, 4, KernelSize<2>, Groups<2>>,
                 MaxPool2d<KernelSize<2>, Stride<1>>, Conv2d<4, 6, KernelSize<2>, Dilation<1, 2>, NoBias>, Flatten, Linear<6, 6>> {};
template <class... Parts> using OfConvolved = Plan<Convolved, CrossEntropy, AdamW, Batch<8, KeepLast>, Parts...>;
/// Norms over a micro-batch of all ranks, beside one over a grain.
struct JointBlock : Residual<BatchNorm2d<6, Synchronised, Momentum<1, 3>>, Tanh> {};
template <class First>
struct JointOf : Sequential<Linear<3, 12>, Unflatten<6, 1, 2>, First, Repeat<2, JointBlock>, Frozen<BatchNorm2d<6, Synchronised>>, GELU, Flatten,
                            Linear<12, 6>> {};
using Together = JointOf<BatchNorm2d<6, Synchronised>>;
template <class... Parts> using OfTogether = Plan<Together, CrossEntropy, AdamW, Batch<8, KeepLast>, Parts...>;
struct JointMaps : Sequential<Input<6, 1, 2>, Linear<2, 4>, own::ByChannels, BatchNorm2d<6, Synchronised>, GELU, Linear<4, 3>> {};
template <class... Parts> using OfJointMaps = Plan<JointMaps, CrossEntropy, AdamW, Batch<8>, Parts...>;
struct Maps : Sequential<Input<6, 1, 2>, Linear<2, 4>, own::ByChannels, BatchNorm2d<6>, GELU, BatchNorm2d<6, Epsilon<3>>, Linear<4, 3>> {};
template <class... Parts> using OfMaps = Plan<Maps, MeanSquaredError, AdamW, Batch<4>, Grain<2>, Parts...>;
/// Attention, causal and with shared keys and values, between norms.
struct Attending : Sequential<Input<4, 4>, LayerNorm<4>, Linear<4, 12>, SelfAttention<Heads<4>, Causal>, Linear<4, 8>,
                              Residual<RMSNorm<8>, Linear<8, 16>, SelfAttention<Heads<4>, KeyValueHeads<2>>, Linear<8, 8>>, Linear<8, 6>> {};
template <class... Parts> using OfAttending = Plan<Attending, CrossEntropy, AdamW, Batch<8>, Parts...>;
/// A gate and a value in two sections.
struct Swish : Sequential<Input<4, 4>, RMSNorm<4>, Residual<Linear<4, 12>, SwiGLU, Linear<6, 4>>, Linear<4, 6>> {};
template <class... Parts> using OfSwish = Plan<Swish, CrossEntropy, AdamW, Batch<8>, Parts...>;
/// Queries, keys and values of three products, gate and value of two: split alike, joined in sections, the gradient of what they read summed once.
struct ApartBlock : Residual<RMSNorm<4>, Branches<Concat, Linear<4, 8>, Linear<4, 4, NoBias>, Linear<4, 4>>,
                             SelfAttention<Heads<4>, KeyValueHeads<2>, Causal>, Linear<8, 4>> {};
struct Apart
    : Sequential<Input<4, 4>, RMSNorm<4>, Repeat<2, ApartBlock>, Residual<Branches<Concat, Linear<4, 6>, Frozen<Linear<4, 6>>>, SwiGLU, Linear<6, 4>>,
                 Branches<Add, Linear<4, 6>, Sequential<Linear<4, 6>, GELU>>, Linear<6, 6>> {};
template <class... Parts> using OfApart = Plan<Apart, CrossEntropy, AdamW, Batch<8>, Parts...>;
struct Tokens : Sequential<Input<4>, Frozen<Embedding<12, 4>>, Repeat<2, Block>, Linear<4, 4>, Frozen<Block>, Linear<4, 12, NoBias>> {};
template <class... Parts> using OfTokens = Plan<Tokens, CrossEntropy, MomentumSGD, Batch<4>, Clip<GlobalNorm>, Parts...>;
struct Later : Sequential<Input<2, 3>, ReLU, Flatten, Tanh, Linear<6, 6>, GELU, Linear<6, 6>> {};
template <class... Parts> using OfLater = Plan<Later, MeanSquaredError, SGD, Batch<8>, Parts...>;
/// Losses of a user: a row has as many targets as they say, of whatever width the output is.
template <class Element, int count> struct OwnLoss {
  using Target = Element;
  static constexpr std::string_view name() { return "OwnLoss"; }
  static constexpr Diagnosis accepts(const Spec&) { return {}; }
  static constexpr std::int64_t target_features(const Spec&) { return count; }
  static constexpr std::int64_t flops(const Spec&) { return 10; }
};
template <class Loss, class... Parts> using OfLoss = Plan<Later, Loss, SGD, Batch<8>, Parts...>;
/// Layers side by side: on the input, in a block, on sequences; a frozen branch and the value itself.
struct Side : Branches<Add, Linear<4, 6>, Sequential<Linear<4, 4>, GELU, Linear<4, 6>>> {};
struct Beside
    : Branches<Add, Sequential<Linear<6, 4>, GELU, Linear<4, 6>>, Sequential<>, Frozen<Sequential<Linear<6, 6>, Tanh, Linear<6, 6>>>, LayerNorm<6>> {
};
struct Forked : Sequential<Input<4, 4>, Side, Repeat<2, Beside>, Linear<6, 4>> {};
template <class... Parts> using OfForked = Plan<Forked, CrossEntropy, AdamW, Batch<8, KeepLast>, Parts...>;
/// A join of a user, which has no field kernel of its own: any function of both values.
struct Gate : Residual<Branches<own::Multiply, Sequential<Linear<4, 4>, Sigmoid>, Linear<4, 4>>> {};
struct Gated : Sequential<Linear<3, 4>, Repeat<2, Gate>, Branches<own::Multiply, Frozen<Linear<4, 4>>, Sequential<>>, Linear<4, 6>> {};
template <class... Parts> using OfGated = Plan<Gated, CrossEntropy, AdamW, Batch<8, KeepLast>, Parts...>;
/// Values one behind the other: features, sequences, a value and itself.
struct Pair : Branches<Concat, Linear<4, 6>, Sequential<>, Sequential<Linear<4, 4>, GELU, Linear<4, 2>>> {};
struct Longer : Branches<ConcatAlong<0>, Linear<4, 4>, Frozen<Sequential<Linear<4, 4>, Tanh>>> {};
struct Chained : Sequential<Input<4, 4>, Pair, Linear<12, 4>, Repeat<2, Sequential<Branches<Concat, Tanh, Linear<4, 4>>, Linear<8, 4>>>, Longer, Tanh,
                            Longer, Linear<4, 6>, Branches<Concat, Sequential<>, Sequential<>>> {};
template <class... Parts> using OfChained = Plan<Chained, CrossEntropy, AdamW, Batch<8, KeepLast>, Parts...>;
template <class... Parts> using Staged = Pipeline<Balanced<2>, Parts...>;
template <class Loss> void end_alike() {
  OneHash all;
  all.data<OfLoss<Loss, Single>>();
  all.data<OfLoss<Loss, DataParallel<2>, Accumulate<2>>>();
  all.data<OfLoss<Loss, Sharded<4>>>();
  all.plan<OfLoss<Loss, Hybrid<DataParallel<2>, Staged<OneFOneB, Microbatches<2>>>>>();
}

}  // namespace

TEST_CASE("replicas, even and weighted, slices of all kinds and rounds end with the hash of one device") {
  OneHash{}
      .plan<OfNet<Single>>()
      .data<OfNet<Single, Accumulate<3>>>()
      .plan<OfNet<DataParallel<3>>>()
      .data<OfNet<DataParallel<2>, Accumulate<2>, Bucket<64_B>>>()
      .plan<OfNet<WeightedDataParallel<2, 1>>>()
      .plan<OfNet<Sharded<4>>>()
      .plan<OfNet<Sharded<2, Keep::Step>, Accumulate<2>>>()
      .data<OfNet<Sharded<4, Gradients>>>()
      .data<OfNet<Sharded<2, OptimizerState>>>()
      .data<OfNet<Sharded<2, OptimizerState>, Bucket<64_B>>>()
      .data<OfNet<Sharded<2, Gradients>, Accumulate<2>, Bucket<64_B>>>()
      .data<OfNet<Hybrid<Sharded<2>, DataParallel<2>>>>();
}

TEST_CASE("stages in every order, split layers, products of them, recomputation and a scaled loss do") {
  OneHash{}
      .data<OfNet<Staged<>>>()
      .data<OfNet<Staged<GPipe, Microbatches<3>>>>()
      .plan<OfNet<Staged<OneFOneB, Microbatches<4>>, Recompute<EveryBlock>>>()
      .data<OfNet<Staged<Interleaved<2>, Microbatches<2>>>>()
      .plan<OfNet<Staged<ZeroBubbleH1, Microbatches<4>>, LossScaling>>()
      .plan<OfNet<TensorParallel<2>>>()
      .data<OfNet<TensorParallel<3>, Recompute<GELU>>>()
      .data<OfNet<Hybrid<TensorParallel<2>, DataParallel<3>>, Grain<2>>>()
      .data<OfNet<Hybrid<TensorParallel<2>, Staged<OneFOneB, Microbatches<2>>, Sharded<2>>>>();
}

TEST_CASE("a split vocabulary, tied weights, split sequences and clipping do") {
  OneHash{}
      .data<OfWords<Single>>()
      .data<OfWords<TensorParallel<2>>>()
      .plan<OfWords<TensorParallel<2, SequenceParallel>>>()
      .data<OfWords<TensorParallel<4>>>()
      .data<OfWords<Staged<Microbatches<2>>>>()
      .data<OfWords<Hybrid<TensorParallel<2>, Sharded<2>>>>()
      .plan<OfWords<Hybrid<Staged<ZeroBubbleH1, Microbatches<2>>, TensorParallel<2>>, LossScaling>>();
}

TEST_CASE("norms and dropout do, with vectors whole or in parts on ranks that split layers and sequences, and where they run again") {
  OneHash{}
      .data<OfNormed<Single>>()
      .data<OfNormed<DataParallel<2>, Accumulate<2>>>()
      .data<OfNormed<WeightedDataParallel<3, 1>>>()
      .data<OfNormed<Sharded<4>>>()
      .data<OfNormed<TensorParallel<2, SequenceParallel>>>()
      .data<OfNormed<TensorParallel<2>>>()
      .data<OfNormed<Hybrid<TensorParallel<2, SequenceParallel>, Staged<OneFOneB, Microbatches<2>>, DataParallel<2>>>>()
      .data<OfNormed<TensorParallel<2, SequenceParallel>, Recompute<EveryBlock>>>()
      .data<OfNormed<Hybrid<Staged<ZeroBubbleH1, Microbatches<2>>, TensorParallel<2, SequenceParallel>>, Recompute<RMSNorm<4, Epsilon<6>>>>>();
}

TEST_CASE("norms over grains do, where these have the same rows, and what they track does") {
  OneHash{}
      .data<OfImaged<Single>>()
      .plan<OfImaged<DataParallel<2>>>()
      .data<OfImaged<DataParallel<2>, Accumulate<2>>>()
      .data<OfImaged<Sharded<4>>>()
      .data<OfImaged<TensorParallel<2>>>()
      .data<OfImaged<TensorParallel<3>, Recompute<EveryBlock>, LossScaling>>()
      .data<OfImaged<Hybrid<Staged<ZeroBubbleH1, Microbatches<2>>, TensorParallel<2>, Sharded<2>>>>()
      .data<OfImaged<Staged<OneFOneB, Microbatches<4>>>>();
  using Split = OfMaps<TensorParallel<2>>;
  static_assert(Split::training.parameters[2].split == laid::shard(0));
  OneHash{}
      .plan<Split>()
      .data<OfMaps<TensorParallel<3, SequenceParallel>>>()
      .data<OfMaps<Hybrid<TensorParallel<2, SequenceParallel>, Sharded<2>>, Recompute<BatchNorm2d<6>>>>();
  CHECK(prove<OfImaged<Hybrid<TensorParallel<2>, DataParallel<2>>, Clip<GlobalNorm>>>().ok());
  CHECK(prove<Plan<Imaged, CrossEntropy, SGD, Batch<11, PadLast>, DataParallel<3>>>().ok());  // grains of 4 rows, the last of 3
  CHECK(prove<Plan<Imaged, CrossEntropy, SGD, Batch<11, DropLast>, DataParallel<3>>>().ok());
}

TEST_CASE("norms over all ranks do, whatever the grains and shares, where micro-batches have the same rows") {
  OneHash{}
      .data<OfTogether<Single>>()
      .data<OfTogether<Single, Grain<2>>>()
      .plan<OfTogether<DataParallel<4>>>()
      .data<OfTogether<WeightedDataParallel<3, 1>>>()
      .data<OfTogether<Sharded<4>>>()
      .data<OfTogether<Hybrid<Sharded<2>, DataParallel<2>>, Grain<1>>>()
      .data<OfTogether<TensorParallel<3>, Recompute<EveryBlock>, LossScaling>>()
      .data<OfTogether<Hybrid<TensorParallel<2>, DataParallel<2>>, Recompute<EveryBlock>>>();
  OneHash{}
      .data<OfTogether<Single, Accumulate<2>>>()
      .data<OfTogether<Staged<OneFOneB, Microbatches<2>>>>()
      .data<OfTogether<Hybrid<Staged<ZeroBubbleH1, Microbatches<2>>, TensorParallel<2>>, Recompute<EveryBlock>>>();
  OneHash{}
      .data<OfJointMaps<TensorParallel<2>>>()
      .data<OfJointMaps<Hybrid<TensorParallel<3>, Sharded<2>>, Recompute<BatchNorm2d<6, Synchronised>>>>();
  CHECK(prove<OfTogether<DataParallel<2>, Clip<GlobalNorm>>>().ok());
  CHECK(prove<Plan<Together, CrossEntropy, SGD, Batch<11, PadLast>, DataParallel<3>>>().ok());
  CHECK(prove<Plan<Together, CrossEntropy, SGD, Batch<11, DropLast>, DataParallel<3>>>().ok());
  CHECK(prove<Plan<JointOf<BatchNorm2d<6>>, CrossEntropy, SGD, Batch<8, KeepLast>, DataParallel<2>>>().ok());  // grains, and all ranks
}

TEST_CASE("shares of vectors, whole and of split sequences, do") {
  OneHash{}
      .data<OfShared<Single>>()
      .data<OfShared<DataParallel<4>>>()
      .data<OfShared<Sharded<2>, Recompute<Softmax>>>()
      .data<OfShared<TensorParallel<2, SequenceParallel>>>()
      .data<OfShared<Staged<ZeroBubbleH1, Microbatches<2>>>>();
}

TEST_CASE("windows of images, of whole and of split channels, do") {
  OneHash{}
      .data<OfPooled<Single>>()
      .data<OfPooled<Sharded<4>>>()
      .data<OfPooled<TensorParallel<2>>>()
      .data<OfPooled<Hybrid<TensorParallel<2>, DataParallel<2>>, Recompute<AvgPool2d<KernelSize<2>>>>>()
      .data<OfPooled<Staged<ZeroBubbleH1, Microbatches<2>>>>();
}

TEST_CASE("convolutions, whole, split by channels and by groups, and with the two parts of their backward, do") {
  OneHash{}
      .data<OfConvolved<Single>>()
      .data<OfConvolved<Sharded<4>>>()
      .data<OfConvolved<TensorParallel<2>>>()
      .data<OfConvolved<Hybrid<TensorParallel<2>, DataParallel<2>>, Recompute<ReLU>>>()
      .data<OfConvolved<Staged<ZeroBubbleH1, Microbatches<2>>>>();
}

TEST_CASE("gates and their values, whole and in sections, do") {
  OneHash{}
      .data<OfSwish<Single>>()
      .data<OfSwish<Sharded<4>>>()
      .data<OfSwish<TensorParallel<2>>>()
      .data<OfSwish<TensorParallel<3>, Recompute<SwiGLU>>>()
      .data<OfSwish<Hybrid<Staged<ZeroBubbleH1, Microbatches<2>>, TensorParallel<2, SequenceParallel>>>>();
}

TEST_CASE("attention, of replicas, slices, stages and split layers, does") {
  OneHash{}
      .data<OfAttending<Single>>()
      .data<OfAttending<WeightedDataParallel<3, 1>>>()
      .data<OfAttending<Sharded<4>>>()
      .data<OfAttending<TensorParallel<2>>>()
      .data<OfAttending<TensorParallel<2, SequenceParallel>>>()
      .data<OfAttending<Hybrid<TensorParallel<2>, Staged<OneFOneB, Microbatches<2>>, DataParallel<2>>>>()
      .data<OfAttending<Hybrid<Staged<ZeroBubbleH1, Microbatches<2>>, TensorParallel<2, SequenceParallel>>,
                        Recompute<SelfAttention<Heads<4>, Causal>>>>();
}

TEST_CASE("projections apart, of replicas, slices, stages and split layers, do") {
  OneHash{}
      .data<OfApart<Single>>()
      .data<OfApart<WeightedDataParallel<3, 1>>>()
      .data<OfApart<Sharded<4>>>()
      .plan<OfApart<TensorParallel<2>>>()
      .data<OfApart<TensorParallel<2, SequenceParallel>>>()
      .data<OfApart<TensorParallel<2>, Accumulate<2>>>()
      .data<OfApart<Hybrid<TensorParallel<2>, Staged<OneFOneB, Microbatches<2>>, DataParallel<2>>>>()
      .data<OfApart<Hybrid<TensorParallel<2, SequenceParallel>, Sharded<2>>, LossScaling>>()
      .data<OfApart<Hybrid<Pipeline<Balanced<3>, ZeroBubbleH1, Microbatches<4>>, TensorParallel<2>>>>()
      .data<OfApart<Hybrid<Staged<ZeroBubbleH1, Microbatches<2>>, TensorParallel<2, SequenceParallel>>, Recompute<RMSNorm<4>, Concat>>>()
      .data<OfApart<TensorParallel<2, SequenceParallel>, Recompute<EveryBlock>>>();
  static_assert(OfApart<TensorParallel<2>>::training.parameters[2].split == laid::shard(0));
}

TEST_CASE("a loss of a user with more, fewer or other targets than outputs is that of one device") {
  end_alike<OwnLoss<float, 1>>();
  end_alike<OwnLoss<float, 9>>();
  end_alike<OwnLoss<std::int32_t, 3>>();
}

TEST_CASE("a batch that is padded or shortened is that of one device with the rows that count") {
  CHECK(prove<Plan<Net, MeanSquaredError, SGD, Batch<11, PadLast>, DataParallel<4>>>());
  CHECK(prove<Plan<Net, MeanSquaredError, SGD, Batch<11, DropLast>, DataParallel<4>>>());
  CHECK(prove<Plan<Net, MeanSquaredError, SGD, Batch<11, KeepLast>, Hybrid<DataParallel<4>, TensorParallel<2>>>>());
}

TEST_CASE("stages before the first parameters run no backward, and nobody sends them a gradient") {
  OneHash{}
      .data<OfLater<Single>>()
      .data<OfLater<Staged<OneFOneB, Microbatches<2>>>>()
      .plan<OfLater<Pipeline<Balanced<4>, ZeroBubbleH1, Microbatches<4>>>>()
      .data<OfLater<Pipeline<Balanced<1>, Interleaved<3>, Microbatches<2>>>>()
      .data<OfLater<Hybrid<TensorParallel<2>, Pipeline<Balanced<3>, GPipe, Microbatches<4>>>>>();
  static_assert(OfLater<Pipeline<Balanced<4>, ZeroBubbleH1, Microbatches<4>>>::training.transfer_count < 6);  // 3 values, fewer gradients
}

TEST_CASE("models with frozen layers end with one hash, whatever slices, splits, stages, orders and rounds") {
  OneHash{}
      .plan<OfAdapted<Single>>()
      .data<OfAdapted<Single, Accumulate<3>>>()
      .data<OfAdapted<DataParallel<3>>>()
      .data<OfAdapted<WeightedDataParallel<2, 1>>>()
      .data<OfAdapted<Sharded<4>>>()
      .data<OfAdapted<Sharded<2, Keep::Step>, Accumulate<2>>>()
      .data<OfAdapted<Sharded<4, Gradients>>>()
      .data<OfAdapted<Sharded<2, OptimizerState>>>()
      .data<OfAdapted<TensorParallel<2>>>()
      .data<OfAdapted<TensorParallel<2>, LossScaling>>()
      .data<OfAdapted<Pipeline<Balanced<2>, GPipe, Microbatches<2>>>>()
      .data<OfAdapted<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>>()
      .data<OfAdapted<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<3>>>>()
      .data<OfAdapted<Pipeline<Balanced<2>, Interleaved<2>, Microbatches<2>>>>()
      .data<OfAdapted<Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>, TensorParallel<2>>>>()
      .data<OfAdapted<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>>>>();
  OneHash{}
      .data<OfTokens<Single>>()
      .data<OfTokens<DataParallel<2>>>()
      .data<OfTokens<Sharded<2>>>()
      .data<OfTokens<TensorParallel<2, SequenceParallel>>>()
      .data<OfTokens<Hybrid<TensorParallel<2, SequenceParallel>, Sharded<2, Gradients>>>>()
      .data<OfTokens<Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>, TensorParallel<2>>>>()
      .data<OfTokens<Single, Recompute<EveryBlock>>>();
}

TEST_CASE("branches side by side do, whatever slices, splits, stages, orders and rounds") {
  OneHash{}
      .data<OfForked<Single>>()
      .data<OfForked<DataParallel<2>, Accumulate<2>>>()
      .data<OfForked<WeightedDataParallel<3, 1>>>()
      .data<OfForked<Sharded<4>>>()
      .data<OfForked<Sharded<2, Gradients>, Accumulate<2>>>()
      .data<OfForked<TensorParallel<2>>>()
      .data<OfForked<TensorParallel<2, SequenceParallel>>>()
      .data<OfForked<TensorParallel<4, SequenceParallel>>>()
      .data<OfForked<Staged<GPipe, Microbatches<2>>>>()
      .data<OfForked<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>>()
      .data<OfForked<Staged<Interleaved<2>, Microbatches<2>>>>()
      .data<OfForked<Staged<ZeroBubbleH1, Microbatches<2>>, Recompute<EveryBlock>>>()
      .data<OfForked<Hybrid<Staged<ZeroBubbleH1, Microbatches<2>>, TensorParallel<2, SequenceParallel>>, Recompute<GELU, Add>>>()
      .data<OfForked<Hybrid<TensorParallel<2>, Staged<OneFOneB, Microbatches<2>>, Sharded<2>>>>();
}

TEST_CASE("branches that are joined one behind the other do, whatever slices, splits, stages, orders and rounds") {
  OneHash{}
      .data<OfChained<Single>>()
      .data<OfChained<DataParallel<2>, Accumulate<2>>>()
      .data<OfChained<WeightedDataParallel<3, 1>>>()
      .data<OfChained<Sharded<4>>>()
      .data<OfChained<Sharded<2, Gradients>, Accumulate<2>>>()
      .data<OfChained<TensorParallel<2>>>()
      .data<OfChained<TensorParallel<2, SequenceParallel>>>()
      .data<OfChained<TensorParallel<4, SequenceParallel>>>()
      .data<OfChained<Staged<GPipe, Microbatches<2>>>>()
      .data<OfChained<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>>()
      .data<OfChained<Staged<Interleaved<2>, Microbatches<2>>>>()
      .data<OfChained<Staged<ZeroBubbleH1, Microbatches<2>>, Recompute<EveryBlock>>>()
      .data<OfChained<Hybrid<Staged<ZeroBubbleH1, Microbatches<2>>, TensorParallel<2, SequenceParallel>>, Recompute<GELU, Concat>>>()
      .data<OfChained<Hybrid<TensorParallel<2>, Staged<OneFOneB, Microbatches<2>>, Sharded<2>>>>();
}

TEST_CASE("a join of a user does") {
  OneHash{}
      .data<OfGated<Single>>()
      .data<OfGated<DataParallel<2>, Accumulate<2>>>()
      .data<OfGated<Sharded<4>>>()
      .data<OfGated<Staged<ZeroBubbleH1, Microbatches<2>>>>()
      .data<OfGated<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>>()
      .data<OfGated<Single, Recompute<Sigmoid, own::Multiply>>>()
      .data<OfGated<Staged<ZeroBubbleH1, Microbatches<2>>, Recompute<EveryBlock>>>();
}
