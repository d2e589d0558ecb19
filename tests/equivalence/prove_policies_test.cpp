// SPDX-License-Identifier: MIT
// Every policy, order and option in exact arithmetic, where tensor splits, weighted shares and accumulation promise no bits of floats: one hash a
// model.
#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string_view>

#include "heddle/backend/field_threads.hpp"

using namespace heddle;

namespace {

struct Block : Residual<Linear<4, 6>, GELU, Linear<6, 4>> {};
struct Net : Sequential<Linear<3, 4>, Repeat<3, Block>, Named<"head", Linear<4, 6>>> {};
template <class... Parts> using OfNet = Plan<Net, CrossEntropy, AdamW, Batch<12, KeepLast>, Parts...>;
struct Words : Sequential<Input<4>, Named<"in", Embedding<12, 4>>, Repeat<2, Block>, Tied<"out", Linear<4, 12, NoBias>, To<"in">>> {};
template <class... Parts> using OfWords = Plan<Words, CrossEntropy, MomentumSGD, Batch<4>, Clip<GlobalNorm>, Parts...>;

/// All proofs hold, none is without a bound, and all have one hash.
class OneHash {
 public:
  template <class ThePlan> OneHash& plan() {
    const Proof proof = prove<ThePlan>();
    CAPTURE(proof.line());
    CHECK(proof.ok());
    CHECK(proof.log2_of_bound <= -40);
    hashes_.insert(proof.hash);
    hashes_.insert(proof.hash_alone);
    CHECK(hashes_.size() == 1);
    return *this;
  }

 private:
  std::set<std::uint64_t> hashes_;
};
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
template <class... Parts> using Staged = Pipeline<Balanced<2>, Parts...>;
template <class Loss> void end_alike() {
  OneHash all;
  all.plan<OfLoss<Loss, Single>>();
  all.plan<OfLoss<Loss, DataParallel<2>, Accumulate<2>>>();
  all.plan<OfLoss<Loss, Sharded<4>>>();
  all.plan<OfLoss<Loss, Hybrid<DataParallel<2>, Staged<OneFOneB, Microbatches<2>>>>>();
}

}  // namespace

TEST_CASE("replicas, even and weighted, slices of all kinds and rounds end with the hash of one device") {
  OneHash{}
      .plan<OfNet<Single>>()
      .plan<OfNet<Single, Accumulate<3>>>()
      .plan<OfNet<DataParallel<3>>>()
      .plan<OfNet<DataParallel<2>, Accumulate<2>, Bucket<64_B>>>()
      .plan<OfNet<WeightedDataParallel<2, 1>>>()
      .plan<OfNet<Sharded<4>>>()
      .plan<OfNet<Sharded<2, Keep::Step>, Accumulate<2>>>()
      .plan<OfNet<Sharded<4, Gradients>>>()
      .plan<OfNet<Sharded<2, OptimizerState>>>()
      .plan<OfNet<Hybrid<Sharded<2>, DataParallel<2>>>>();
}

TEST_CASE("stages in every order, split layers, products of them, recomputation and a scaled loss do") {
  OneHash{}
      .plan<OfNet<Staged<>>>()
      .plan<OfNet<Staged<GPipe, Microbatches<3>>>>()
      .plan<OfNet<Staged<OneFOneB, Microbatches<4>>, Recompute<EveryBlock>>>()
      .plan<OfNet<Staged<Interleaved<2>, Microbatches<2>>>>()
      .plan<OfNet<Staged<ZeroBubbleH1, Microbatches<4>>, LossScaling>>()
      .plan<OfNet<TensorParallel<2>>>()
      .plan<OfNet<TensorParallel<3>, Recompute<GELU>>>()
      .plan<OfNet<Hybrid<TensorParallel<2>, DataParallel<3>>, Grain<2>>>()
      .plan<OfNet<Hybrid<TensorParallel<2>, Staged<OneFOneB, Microbatches<2>>, Sharded<2>>>>();
}

TEST_CASE("a split vocabulary, tied weights, split sequences and clipping do") {
  OneHash{}
      .plan<OfWords<Single>>()
      .plan<OfWords<TensorParallel<2>>>()
      .plan<OfWords<TensorParallel<2, SequenceParallel>>>()
      .plan<OfWords<TensorParallel<4>>>()
      .plan<OfWords<Staged<Microbatches<2>>>>()
      .plan<OfWords<Hybrid<TensorParallel<2>, Sharded<2>>>>()
      .plan<OfWords<Hybrid<Staged<ZeroBubbleH1, Microbatches<2>>, TensorParallel<2>>, LossScaling>>();
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
      .plan<OfLater<Single>>()
      .plan<OfLater<Staged<OneFOneB, Microbatches<2>>>>()
      .plan<OfLater<Pipeline<Balanced<4>, ZeroBubbleH1, Microbatches<4>>>>()
      .plan<OfLater<Pipeline<Balanced<1>, Interleaved<3>, Microbatches<2>>>>()
      .plan<OfLater<Hybrid<TensorParallel<2>, Pipeline<Balanced<3>, GPipe, Microbatches<4>>>>>();
  static_assert(OfLater<Pipeline<Balanced<4>, ZeroBubbleH1, Microbatches<4>>>::training.transfer_count < 6);  // 3 values, fewer gradients
}
