// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"

using namespace golden;

namespace {

template <class... Options> using Layers = Sequential<Named<"layers", Repeat<2, TransformerEncoderLayer<16, 4, 24, Options...>>>>;
struct Encoded : Sequential<Input<6, 20>, Named<"linear1", Linear<20, 16>>, Named<"encoder", Layers<>>, Named<"linear2", Linear<16, 10>>> {};
struct NormsFirst
    : Sequential<Input<6, 20>, Named<"linear1", Linear<20, 16>>, Named<"encoder", Layers<GELU, NormFirst>>, Named<"linear2", Linear<16, 10>>> {};
struct Masked : Sequential<Input<6, 20>, Named<"linear1", Linear<20, 16>>, Named<"encoder", Layers<GELU, Causal>>, Named<"linear2", Linear<16, 10>>> {
};
template <class Model, class... Parts> using Of = Plan<Model, MeanSquaredError, MomentumSGD, Batch<8>, Parts...>;

template <class ThePlan> void check_plan(const std::string& name) {
  const TensorFile file = golden_file(name);
  follow<ThePlan>(file, {.learning_rate = 0.02, .momentum = 0.9}, examples(file.get<float>("input"), file.get<float>("targets"), 120), 20);
}
template <class Model> void check_model(const std::string& name) {
  check_plan<Of<Model, Single>>(name);
  check_plan<Of<Model, DataParallel<4>>>(name);
  check_plan<Of<Model, Sharded<2>>>(name);
  check_plan<Of<Model, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>(name);
  check_plan<Of<Model, TensorParallel<4>>>(name);
}

}  // namespace

TEST_CASE("20 steps of an encoder of two layers whose norms stand behind the sums are PyTorch's under five policies") {
  check_model<Encoded>("encoder_20_16_10");
}

TEST_CASE("20 steps of one whose norms stand first, with GELU, are PyTorch's under the same policies") {
  check_model<NormsFirst>("encoder_norm_first_20_16_10");
}

TEST_CASE("20 steps of one with the causal mask are PyTorch's too") { check_model<Masked>("encoder_causal_20_16_10"); }
