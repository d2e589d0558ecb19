// SPDX-License-Identifier: MIT
// The models of the documents on processes: the bits of one device on threads, the bytes that their plans state, the memory.
#include "equivalence/models.hpp"
#include "equivalence/processes.hpp"

using namespace equivalence;

namespace {

template <class Model, class... Parts> using Of = Plan<Model, CrossEntropy, AdamW, Batch<32, KeepLast>, Grain<2>, Parts...>;
struct Tasks : Sequential<Linear<24, 16>, GELU, Branches<Concat, Sequential<Linear<16, 16>, Tanh, Linear<16, 10>>, Linear<16, 10>, Linear<16, 4>>> {};
using OfTasks = Losses<LossOf<"digit", Outputs<10>, CrossEntropy>, LossOf<"early", Outputs<10>, CrossEntropy, TargetsOf<"digit">, LossWeight<3, 10>>,
                       LossOf<"angle", Outputs<4>, MeanSquaredError>>;
template <class... Parts> using Several = Plan<Tasks, OfTasks, AdamW, Batch<32, KeepLast>, Grain<2>, Parts...>;
template <class Order> using Two = Pipeline<Balanced<2>, Order, Microbatches<4>>;

}  // namespace

TEST_CASE("a convnet on processes holds as on one device") {
  hold_as_one_device<Of<Convnet, Single>, Of<Convnet, DataParallel<4>>, Of<Convnet, Sharded<4>>,
                     Of<Convnet, Hybrid<Two<OneFOneB>, DataParallel<2>>>>();
}

TEST_CASE("an encoder that drops holds too") {
  hold_as_one_device<Of<Encoder, Single>, Of<Encoder, Sharded<2, heddle::Gradients>>, Of<Encoder, Hybrid<Two<ZeroBubbleH1>, Sharded<2>>>>();
}

TEST_CASE("a GPT whose head is tied to its table holds, in slices, stages and both") {
  hold_as_one_device<Of<Gpt, Single>, Of<Gpt, Sharded<4>>, Of<Gpt, Two<Interleaved<2>>>, Of<Gpt, Hybrid<Two<OneFOneB>, DataParallel<2>>>>();
}

TEST_CASE("a Llama in bfloat16 holds, in slices and in stages") {
  hold_as_one_device<Of<Llama, Mixed<BFloat16>, Single>, Of<Llama, Mixed<BFloat16>, Sharded<4>>,
                     Of<Llama, Mixed<BFloat16>, Hybrid<Two<OneFOneB>, Sharded<2>>>>();
}

TEST_CASE("a model of several losses holds, in replicas of two stages and in slices") {
  hold_as_one_device<Several<Single>, Several<Sharded<4>>, Several<Hybrid<Two<OneFOneB>, DataParallel<2>>>>();
}
