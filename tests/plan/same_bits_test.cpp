// SPDX-License-Identifier: MIT
#include "heddle/plan/same_bits.hpp"

#include <doctest/doctest.h>

#include <string>
#include <type_traits>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

struct Mlp : Sequential<Named<"linear1", Linear<20, 16>>, ReLU, Named<"linear2", Linear<16, 10>>> {};
struct Renamed : Sequential<Named<"a", Linear<20, 16>>, ReLU, Named<"b", Linear<16, 10>>> {};
struct Wider : Sequential<Named<"linear1", Linear<20, 18>>, ReLU, Named<"linear2", Linear<18, 10>>> {};
using Step = Residual<Linear<16, 16>, GELU>;
struct Deep : Sequential<Linear<20, 16>, Repeat<4, Step>, Linear<16, 10>> {};
struct Flat : Sequential<Linear<20, 16>, Step, Step, Step, Step, Linear<16, 10>> {};

template <class... Parts> using Of = Plan<Mlp, CrossEntropy, Adam, Batch<64, KeepLast>, Parts...>;
template <class... Parts> using Deeply = Plan<Deep, CrossEntropy, Adam, Batch<64, KeepLast>, Grain<16>, Parts...>;
template <int N, int M> using Stages = Pipeline<Balanced<N>, OneFOneB, Microbatches<M>>;
struct Wide : Sequential<Input<4, 8>, Linear<8, 8>, Residual<Linear<8, 16>, GELU, Linear<16, 8>>> {};
template <class... Parts> using Thirds = Plan<Mlp, CrossEntropy, Adam, Batch<13, DropLast>, Accumulate<3>, Parts...>;
template <class... Parts> using Even = Plan<Mlp, CrossEntropy, Adam, Batch<24>, Parts...>;
using G = Grain<16>;
struct Pairs : Sequential<Linear<20, 16>, Repeat<2, Sequential<Linear<16, 16>, Linear<16, 16>>>> {};

/// What stands between the law and the remedy, and the remedy.
template <class A, class B> std::string reason() {
  constexpr SameBits forward = same_bits<A, B>();
  constexpr SameBits back = same_bits<B, A>();
  CHECK(forward.ok() == back.ok());
  CHECK((forward.ok() || forward.difference.code == Code{'B', 12}));
  const std::string words{forward.text.view()};
  return words.substr(words.find(": ") == std::string::npos ? 0 : words.find(": ") + 2);
}

struct Shared : Sequential<Input<2, 8>, Named<"a", Linear<8, 8>>, Tanh, Tied<"b", Linear<8, 8>, To<"a">>, Tanh, Linear<8, 4>> {};
template <class Policy, class... Options> using OfShared = Plan<Shared, MeanSquaredError, Adam, Batch<16>, Grain<4>, Policy, Options...>;

}  // namespace

TEST_CASE("plans of one model, batch and grain end with the same bits, however they are laid out") {
  static_assert(same_bits<Of<G, Single>, Of<G, DataParallel<4>>>());
  static_assert(same_bits<Of<G, Single>, Of<G, Stages<2, 4>>>() && same_bits<Of<G, Stages<2, 4>>, Of<G, Hybrid<Stages<2, 2>, DataParallel<2>>>>());
  static_assert(same_bits<Of<G, Sharded<4>>, Of<G, Hybrid<Sharded<2, Gradients>>, Accumulate<2>, Bucket<1_KiB>>>());
  static_assert(same_bits<Of<G, Single>, Of<G, DataParallel<2>, Recompute<ReLU>>>());
  static_assert(same_bits<Of<G, Single>, Of<DataParallel<4>>>());  // a micro-batch of a replica has 16 rows there
  CHECK(same_bits<Deeply<Single>, Deeply<Stages<4, 4>>>().text.empty());
}

/// Whether static_assert(check<ThePlan>) compiles: it would be true of every plan.
template <class ThePlan>
concept ChecksWithoutACall = requires {
  static_cast<bool>(check<ThePlan>);
};
TEST_CASE("a question whose parentheses are forgotten is not a constant true") {
  static_assert(!ChecksWithoutACall<Of<Single>>);
  static_assert(!std::is_function_v<std::remove_reference_t<decltype(same_bits<Of<Single>, Of<Single>>)>>);
}

TEST_CASE("a plan ends with the bits that it ended with before, reproducible across layouts or not") {
  using Odd = Of<WeightedDataParallel<3, 1>>;
  static_assert(!is_reproducible<Odd> && same_bits<Odd, Odd>());
  CHECK(same_bits<Of<Stages<2, 4>>, Of<Stages<2, 4>>>().ok());
}

TEST_CASE("is_reproducible is true of two plans that do not end with the same bits: their grains differ") {
  static_assert(is_reproducible<Of<Single>> && is_reproducible<Of<DataParallel<4>>> && !same_bits<Of<Single>, Of<DataParallel<4>>>());
  CHECK(reason<Of<Single>, Of<DataParallel<4>>>() == "grains of 64 and 16 rows. Fix: name Grain<16> in both.");
  CHECK(reason<Of<Grain<24>, Single>, Of<G, Single>>() == "grains of 24 and 16 rows. Fix: name Grain<8> in both.");
}

TEST_CASE("a grain is advised only if both plans take it, and then they end with the same bits") {
  CHECK(reason<Thirds<Sharded<2>>, Thirds<DataParallel<2>>>() ==
        "the first adds gradients one after another, not along the tree over grains, and Grain<2> cannot be named in both: the number of grains per "
        "rank is 3, which is no power of two, while 2 ranks split the batch. Fix: make that number a power of two.");
  CHECK(reason<Even<DataParallel<2>>, Even<Grain<8>, Single>>() ==  // of 4 rows there would be three grains a rank
        "grains of 12 and 8 rows. Fix: name Grain<12> in both.");
  static_assert(same_bits<Even<DataParallel<2>, Grain<12>>, Even<Grain<12>, Single>>());
}

TEST_CASE("gradients that are added one after another are told") {
  CHECK(reason<Of<G, Single>, Of<Stages<2, 4>>>() ==
        "the second adds gradients one after another, not along the tree over grains. Fix: name Grain<16> in both.");
  CHECK(reason<Of<Stages<2, 4>>, Of<Hybrid<Stages<2, 2>, DataParallel<2>>>>().find("the first adds gradients one after another") == 0);
}

TEST_CASE("shares that are not equal are told, and 2 and 2 are equal") {
  CHECK(reason<Of<DataParallel<2>>, Of<WeightedDataParallel<3, 1>>>() == "replicas take unequal shares of the batch. Fix: use DataParallel in both.");
  CHECK(reason<Of<DataParallel<2>>, Of<WeightedDataParallel<2, 2>>>().empty());
}

TEST_CASE("models are compared by what they compute, not by their names") {
  CHECK(reason<Of<Single>, Plan<Renamed, CrossEntropy, Adam, Batch<64, KeepLast>, Single>>().empty());
  CHECK(reason<Deeply<Single>, Plan<Flat, CrossEntropy, Adam, Batch<64, KeepLast>, G, Single>>().empty());
  CHECK(reason<Of<Single>, Plan<Wider, CrossEntropy, Adam, Batch<64, KeepLast>, Single>>() ==
        "their models Mlp and Wider differ from layer 0 on. Fix: give both the same model.");
}

TEST_CASE("loss, optimizer, batch and what a smaller batch means are compared") {
  using A = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;
  CHECK(reason<A, Plan<Mlp, MeanSquaredError, Adam, Batch<64>, Single>>() == "losses CrossEntropy and MeanSquaredError. Fix: name the same in both.");
  CHECK(reason<A, Plan<Mlp, CrossEntropy, AdamW, Batch<64>, Single>>() == "optimizers Adam and AdamW. Fix: name the same in both.");
  CHECK(reason<A, Plan<Mlp, CrossEntropy, Adam, Batch<32>, Single>>() == "batches of 64 and 32 rows. Fix: name the same Batch in both.");
  CHECK(reason<A, Of<Single>>() == "a smaller batch is taken in two ways. Fix: name the same remedy in both, or none: Batch<64, KeepLast>.");
  using Dropped = Batch<63, DropLast>;
  CHECK(reason<Plan<Mlp, CrossEntropy, Adam, Dropped, Single>, Plan<Mlp, CrossEntropy, Adam, Dropped, DataParallel<4>>>() ==
        "of a batch they count 63 and 60 rows. Fix: name the same Batch in both and KeepLast, or a batch that divides.");
}

TEST_CASE("clipping, the units of its norm, and the scale of the loss are compared") {
  using Clipped = Deeply<Single, Clip<GlobalNorm>>;
  static_assert(same_bits<Clipped, Deeply<DataParallel<4>, Clip<GlobalNorm>>>());
  CHECK(reason<Clipped, Deeply<Single>>() == "one of them clips its gradients. Fix: name Clip<GlobalNorm> in both or in neither.");
  CHECK(reason<Clipped, Plan<Flat, CrossEntropy, Adam, Batch<64, KeepLast>, G, Single, Clip<GlobalNorm>>>() ==
        "they clip by a norm that is summed over other units. Fix: write the same Repeat and OneUnit in both models.");
  CHECK(reason<Deeply<Single>, Deeply<Single, LossScaling>>() == "one of them scales its loss. Fix: name LossScaling in both or in neither.");
  using Whole = Plan<Pairs, CrossEntropy, Adam, Batch<64>, Single, Clip<GlobalNorm>>;
  using First = Sequential<Linear<20, 16>, Linear<16, 16>>;
  using Rest = Sequential<Linear<16, 16>, Linear<16, 16>, Linear<16, 16>>;
  using Cut = Plan<Pairs, CrossEntropy, Adam, Batch<64>, Pipeline<Stage<First>, Stage<Rest>>, Clip<GlobalNorm>>;
  static_assert(check<Cut>().ok());
  CHECK(reason<Whole, Cut>() == "they clip, and a cut goes through a block whose squares the other adds as one unit. Fix: cut between blocks.");
}

TEST_CASE("groups of parameters are compared by what they make of the options, not by how they are named") {
  using Spared = Of<G, Single, NoDecay<>>;
  static_assert(same_bits<Spared, Of<G, Sharded<4>, NoDecay<"bias">>>());
  static_assert(same_bits<Of<G, Single>, Of<G, Single, LearningRateFactor<"linear1", 2, 2>>>());
  CHECK(reason<Spared, Of<G, Single>>() ==
        "weight decay or learning rate of parameter 'linear1.bias' differ. Fix: name the same NoDecay and LearningRateFactor in both.");
  CHECK(reason<Of<G, Single, LearningRateFactor<"linear2", 1, 10>>, Of<G, Single, LearningRateFactor<"linear2", 1, 5>>>().find(
            "of parameter 'linear2.weight' differ") != std::string::npos);
}

TEST_CASE("products that are split over ranks are compared, so equal splits agree and others do not") {
  static_assert(same_bits<Of<G, TensorParallel<2>>, Of<G, Hybrid<TensorParallel<2>, DataParallel<2>>>>());
  CHECK(reason<Of<G, Single>, Of<G, TensorParallel<2>>>() ==
        "axis tensor has 1 and 2 ranks, which add the terms of a product in different orders. Fix: use the same TensorParallel in both.");
  CHECK(reason<Plan<Wide, MeanSquaredError, Adam, Batch<64>, G, TensorParallel<2>>,
               Plan<Wide, MeanSquaredError, Adam, Batch<64>, G, TensorParallel<2, SequenceParallel>>>()
            .find("is split in two ways over axis tensor") != std::string::npos);
}

TEST_CASE("terms of whole parameters are summed within each part of the batch, so parts of one number alone agree") {
  struct Net : Sequential<Input<8, 16>, Residual<LayerNorm<16>, Linear<16, 64>, GELU, Linear<64, 16>>, LayerNorm<16>, Linear<16, 4>> {};
  using Tensor = TensorParallel<2, SequenceParallel>;
  using Alone = Plan<Net, MeanSquaredError, SGD, Batch<16>, Grain<2>, Tensor>;
  using Twice = Plan<Net, MeanSquaredError, SGD, Batch<16>, Grain<2>, Hybrid<Tensor, DataParallel<2>>>;
  using Sliced = Plan<Net, MeanSquaredError, SGD, Batch<16>, Grain<2>, Hybrid<Tensor, Sharded<2, OptimizerState>>>;
  CHECK(reason<Alone, Twice>() ==
        "their batch is split over 1 and 2 ranks, each of which first sums over axis tensor what its ranks made of a whole "
        "parameter. Fix: split the batch over as many ranks in both, or drop SequenceParallel.");
  static_assert(same_bits<Twice, Sliced>());
}

TEST_CASE("a norm of split layers that share parameters has the bits of as many stages alone") {
  using Staged = Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;
  CHECK(
      reason<OfShared<TensorParallel<2>, Clip<GlobalNorm>>, OfShared<Staged, Clip<GlobalNorm>>>() ==
      "they clip, layers share parameters, and the gradients of split ones are summed over 1 and 2 stages. Fix: use as many stages in both, or drop "
      "Clip.");
  static_assert(same_bits<OfShared<TensorParallel<2>>, OfShared<Staged>>());
}

TEST_CASE("two Inferences give the same outputs if rows are multiplied in equal grains") {
  using One = Inference<Mlp, Batch<64>, G, Single>;
  static_assert(same_bits<One, Inference<Mlp, Batch<32>, G, DataParallel<2>>>());
  CHECK(reason<Inference<Mlp, Batch<64>, Single>, Inference<Mlp, Batch<64>, DataParallel<4>>>() ==
        "grains of 64 and 16 rows. Fix: name Grain<16> in both.");
  CHECK(reason<One, Of<G, Single>>() == "only one of them trains. Fix: compare two Plans, or two Inferences.");
}
