// SPDX-License-Identifier: MIT
// Values in bfloat16: every policy has the bits of one device that rounds too, a plain loop has its numbers, and memory and messages are half.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "equivalence/every_policy.hpp"
#include "heddle/core/bfloat16.hpp"
#include "heddle/run/runner.hpp"

using namespace heddle;
using equivalence::check_same_bits, equivalence::check_same_bits_as_data;

namespace {

struct Inner : Residual<LayerNorm<16>, Linear<16, 19>, GELU, Linear<19, 16>> {};
struct Deep : Sequential<Linear<23, 16>, Repeat<3, Inner>, RMSNorm<16>, Dropout<1, 10>, Linear<16, 10>> {};
struct Attending : Residual<LayerNorm<8>, Linear<8, 24>, SelfAttention<Heads<2>, Causal>, Linear<8, 8>> {};
struct Words : Sequential<Input<5>, Embedding<8, 8>, Repeat<2, Attending>, Frozen<LayerNorm<8>>, Flatten, Linear<40, 10>> {};
struct Pictures : Sequential<Input<2, 3, 3>, Rescaling<>, BatchNorm2d<2>, Flatten, Linear<18, 16>, SwiGLU, Linear<8, 10>> {};
struct Towers : Sequential<Inputs<Input<6>, Input<5>>, Branches<Concat, Linear<6, 8>, Sequential<FromInput<1>, Linear<5, 8>>>, ReLU, Linear<16, 10>> {
};
struct Joined : Sequential<Linear<12, 12>, Unflatten<3, 2, 2>, BatchNorm2d<3, Synchronised>, GELU, Flatten, Linear<12, 10>> {};
struct TiedWords : Sequential<Input<5>, Named<"wte", Embedding<8, 8>>, Linear<8, 8>, GELU, Tied<"head", Linear<8, 8, NoBias>, To<"wte">>, Flatten> {};

template <class Model, class... Parts> using Of = Plan<Model, CrossEntropy, AdamW, Batch<32, KeepLast>, Grain<2>, Mixed<BFloat16>, Parts...>;
template <class Model, class... Parts> using InFloats = Plan<Model, CrossEntropy, AdamW, Batch<32, KeepLast>, Grain<2>, Parts...>;
template <class Order> using Two = equivalence::TwoStages<Order>;

/// A float as a plan with Mixed keeps it.
float kept(float number) { return core_room::widened(core_room::rounded(number)); }

}  // namespace

TEST_CASE("values in bfloat16 have the bits of one device under every policy") {
  equivalence::check_every_policy<Of, Deep>();
  using Alone = Of<Deep, Single>;
  check_same_bits_as_data<Of<Deep, Single, Recompute<EveryBlock>>, Alone>();
  check_same_bits_as_data<Of<Deep, Two<OneFOneB>, Recompute<GELU>>, Alone>();
  check_same_bits_as_data<Of<Deep, Hybrid<Two<OneFOneB>, DataParallel<2>>, Clip<GlobalNorm>>, Of<Deep, Single, Clip<GlobalNorm>>>();
  check_same_bits_as_data<Of<Deep, Sharded<2>, LossScaling>, Of<Deep, Single, LossScaling>>();
}
TEST_CASE("so have token ids and attention, bytes and norms of images, several inputs, tied and frozen layers") {
  check_same_bits_as_data<Of<Words, DataParallel<4>>, Of<Words, Single>>();
  check_same_bits_as_data<Of<Words, Two<ZeroBubbleH1>>, Of<Words, Single>>();
  check_same_bits_as_data<Of<Words, Sharded<2>>, Of<Words, Single>>();
  check_same_bits_as_data<Of<Pictures, DataParallel<2>>, Of<Pictures, Single>>();
  check_same_bits_as_data<Of<Pictures, Sharded<2>>, Of<Pictures, Single>>();
  check_same_bits_as_data<Of<TiedWords, Sharded<2>>, Of<TiedWords, Single>>();
  check_same_bits_as_data<Of<Pictures, Two<OneFOneB>>, Of<Pictures, Single>>();
  check_same_bits_as_data<Of<Joined, DataParallel<4>>, Of<Joined, Single>>();
  check_same_bits_as_data<Of<Joined, Sharded<2>>, Of<Joined, Single>>();
  check_same_bits_as_data<Of<Towers, DataParallel<2>>, Of<Towers, Single>>();
  check_same_bits_as_data<Of<Towers, Two<GPipe>>, Of<Towers, Single>>();
  check_same_bits_as_data<Of<TiedWords, Two<OneFOneB>>, Of<TiedWords, Single>>();
}
TEST_CASE("values that axis tensor splits are those of one device within what bfloat16 rounds, in parts, in sequences and in the vocabulary") {
  const auto agree = [](const auto& result) { CHECK(result.text == ""); };
  const auto data = equivalence::rows_of<Of<Deep, Single>>(32);
  agree(verify<Of<Deep, TensorParallel<2>>, CpuThreads>(data.batch(0, 32), Seed{3}, 6e-2));
  agree(verify<Of<Deep, Hybrid<TensorParallel<2>, Two<ZeroBubbleH1>>>, CpuThreads>(data.batch(0, 32), Seed{3}, 6e-2));
  const auto words = equivalence::rows_of<Of<Words, Single>>(32);
  agree(verify<Of<Words, TensorParallel<2, SequenceParallel>>, CpuThreads>(words.batch(0, 32), Seed{3}, 6e-2));
  agree(verify<Of<Words, TensorParallel<2>>, CpuThreads>(words.batch(0, 32), Seed{3}, 6e-2));
}

TEST_CASE("a plain loop that rounds what layers give, and reads rounded parameters, has the gradients of a plan") {
  struct Net : Sequential<Linear<8, 16>, ReLU, Linear<16, 8>> {};
  constexpr int rows = 4;
  using Mine = Plan<Net, MeanSquaredError, SGD, Batch<rows>, Single, Mixed<BFloat16>>;
  Trainer<Mine, CpuThreads> trainer{{.learning_rate = 0.0}, Seed{1}};
  std::vector<float> w1(16 * 8), b1(16), w2(8 * 16), b2(8), x(rows * 8), t(rows * 8);
  for (std::size_t i = 0; i < w1.size(); ++i) w1[i] = static_cast<float>(static_cast<int>(i * 7 % 23) - 11) / 8.0F + 0x1p-12F;
  for (std::size_t i = 0; i < w2.size(); ++i) w2[i] = static_cast<float>(static_cast<int>(i * 5 % 19) - 9) / 16.0F + 0x1p-13F;
  for (std::size_t i = 0; i < b1.size(); ++i) b1[i] = static_cast<float>(i) / 64.0F + 0x1p-14F;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(static_cast<int>(i * 11 % 29) - 14) / 7.0F;
  for (std::size_t i = 0; i < t.size(); ++i) t[i] = static_cast<float>(static_cast<int>(i * 3 % 13) - 6) / 3.0F;
  trainer.set_parameter("0.weight", w1);
  trainer.set_parameter("0.bias", b1);
  trainer.set_parameter("2.weight", w2);
  trainer.set_parameter("2.bias", b2);
  trainer.step(examples(x, t, 8));
  std::vector<float> gw1(w1.size()), gb1(b1.size()), gw2(w2.size()), gb2(b2.size());
  for (int r = 0; r < rows; ++r) {
    std::vector<float> in(8), hidden(16), dy(8), dh(16);
    for (std::size_t i = 0; i < 8; ++i) in[i] = kept(x[static_cast<std::size_t>(r) * 8 + i]);
    for (std::size_t j = 0; j < 16; ++j) {
      float sum = kept(b1[j]);
      for (std::size_t i = 0; i < 8; ++i) sum += kept(w1[j * 8 + i]) * in[i];
      hidden[j] = kept(std::max(kept(sum), 0.0F));
    }
    for (std::size_t k = 0; k < 8; ++k) {
      float sum = kept(b2[k]);
      for (std::size_t j = 0; j < 16; ++j) sum += kept(w2[k * 16 + j]) * hidden[j];
      dy[k] = kept((kept(sum) - t[static_cast<std::size_t>(r) * 8 + k]) * 2.0F / (rows * 8));
    }
    for (std::size_t j = 0; j < 16; ++j) {
      float sum = 0;
      for (std::size_t k = 0; k < 8; ++k) sum += dy[k] * kept(w2[k * 16 + j]);
      dh[j] = hidden[j] > 0 ? kept(sum) : 0.0F;
    }
    for (std::size_t k = 0; k < 8; ++k) gb2[k] += dy[k];
    for (std::size_t j = 0; j < 16; ++j) gb1[j] += dh[j];
    for (std::size_t i = 0; i < gw2.size(); ++i) gw2[i] += dy[i / 16] * hidden[i % 16];
    for (std::size_t i = 0; i < gw1.size(); ++i) gw1[i] += dh[i / 8] * in[i % 8];
  }
  const auto near = [&](const char* name, const std::vector<float>& expected) {
    const std::vector<float> is = trainer.gradient(name);
    float most = 0, far = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      most = std::max(most, std::abs(expected[i]));
      far = std::max(far, std::abs(is[i] - expected[i]));
    }
    CAPTURE(name);
    CHECK(most > 0.01F);
    CHECK(far <= 2e-6F * most);  // float32 sums in another order; without one of the roundings it is a thousand times as much
  };
  near("0.weight", gw1);
  near("0.bias", gb1);
  near("2.weight", gw2);
  near("2.bias", gb2);
  CHECK(trainer.parameter("0.weight") == w1);  // as it was set, not rounded
}

TEST_CASE("a plan learns as well with bfloat16, and its parameters are no bfloat16") {
  using Rounded = Of<Deep, DataParallel<2>>;
  const auto data = equivalence::rows_of<Rounded>(32);
  const auto last = [&](auto& trainer) {
    float loss = 0;
    for (int s = 0; s < 40; ++s) loss = trainer.step(data.batch(0, 32)).loss.value();
    return loss;
  };
  Trainer<Rounded, CpuThreads> mixed{{.learning_rate = 5e-3}, Seed{5}};
  Trainer<InFloats<Deep, DataParallel<2>>, CpuThreads> floats{{.learning_rate = 5e-3}, Seed{5}};
  const float begin = floats.step(data.batch(0, 32)).loss.value();
  const float of_floats = last(floats), of_mixed = last(mixed);
  CHECK(of_floats < begin / 2);
  CHECK(std::abs(of_mixed - of_floats) < 0.1F * begin);
  const std::vector<float> weights = mixed.parameter("0.weight");
  CHECK(std::any_of(weights.begin(), weights.end(), [](float w) { return kept(w) != w; }));
}

TEST_CASE("values, messages between stages and gathers of values take half of the bytes; sums over ranks travel as float32") {
  struct Even : Sequential<Linear<64, 64>, GELU, Linear<64, 64>, GELU, Linear<64, 64>> {};
  const auto activations = []<class A>(std::type_identity<A>) { return traffic<A>().activations().total_payload.value; };
  using Piped = Two<OneFOneB>;
  CHECK(2 * activations(std::type_identity<Of<Even, Piped>>{}) == activations(std::type_identity<InFloats<Even, Piped>>{}));
  const auto frames = [](const Program& p) {
    std::int64_t bytes = 0;
    for (int c = 0; c < p.chunks; ++c) bytes += p.pools[c * plan_room::pool_kinds].slot_bytes;
    return bytes;
  };
  constexpr std::int64_t targets = 16 * 64;  // one label a row, a line for each of 16 grains, float32 in both
  CHECK(2 * (frames(lower<Of<Even, Single>>()) - targets) == frames(lower<InFloats<Even, Single>>()) - targets);
  struct Layers : Residual<LayerNorm<8>, Linear<8, 16>, GELU, Linear<16, 8>> {};
  struct Steps : Sequential<Input<4, 8>, Linear<8, 8>, Repeat<2, Layers>, Linear<8, 8>> {};
  using InBoth = Plan<Steps, MeanSquaredError, AdamW, Batch<32>, TensorParallel<2, SequenceParallel>>;
  using Half = Plan<Steps, MeanSquaredError, AdamW, Batch<32>, TensorParallel<2, SequenceParallel>, Mixed<BFloat16>>;
  const auto split = equivalence::as_data<Half>();
  const auto of_floats = equivalence::as_data<InBoth>();
  const auto bytes = [](const auto& lowered, BodyOp what) {
    const Program& p = lowered.training();
    return plan_room::volume_of(p, [&](const Collective& c) { return plan_room::is_moved_by(what, c); }).total_payload.value;
  };
  CHECK(bytes(split, BodyOp::scatter_value) > 0);
  CHECK(bytes(split, BodyOp::scatter_value) == bytes(of_floats, BodyOp::scatter_value));
  CHECK(bytes(split, BodyOp::gather_value) > 0);
  CHECK(2 * bytes(split, BodyOp::gather_value) == bytes(of_floats, BodyOp::gather_value));
  const auto gathers = []<class A>(std::type_identity<A>) { return traffic<A>().parameters().on(axis::shard).total_payload.value; };
  CHECK(2 * gathers(std::type_identity<Of<Even, Sharded<2>>>{}) == gathers(std::type_identity<InFloats<Even, Sharded<2>>>{}));
  struct Tracking : Sequential<Linear<64, 64>, Unflatten<4, 4, 4>, BatchNorm2d<4>, Flatten, Linear<64, 64>> {};  // running statistics are not rounded
  CHECK(gathers(std::type_identity<Of<Tracking, Sharded<2>>>{}) == gathers(std::type_identity<InFloats<Tracking, Sharded<2>>>{}));
  CHECK(peak_memory<Of<Even, Single>>() < peak_memory<InFloats<Even, Single>>());
}

TEST_CASE("an Inference may keep values as bfloat16, and gives what the trainer predicts") {
  using Applied = Inference<Deep, Batch<32>, DataParallel<2>, Mixed<BFloat16>>;
  Trainer<Of<Deep, Single>, CpuThreads> trainer{{}, Seed{7}};
  Runner<Applied, CpuThreads> runner{Seed{7}};
  const auto data = equivalence::rows_of<Of<Deep, Single>>(32);
  CHECK(runner.predict(data.inputs) == trainer.predict(data.inputs));
}

TEST_CASE("a trainer without Mixed goes on with the parameters of one that rounds, to the bit, and back") {
  Trainer<Of<Deep, Sharded<2>>, CpuThreads> mixed{{}, Seed{7}};
  Trainer<InFloats<Deep, Two<OneFOneB>>, CpuThreads> floats{{}, Seed{8}};
  const auto data = equivalence::rows_of<Of<Deep, Single>>(32);
  mixed.step(data.batch(0, 32));
  floats.load(mixed);
  CHECK(floats.parameter_hash() == mixed.parameter_hash());
  floats.step(data.batch(0, 32));
  mixed.load(floats);
  CHECK(floats.parameter_hash() == mixed.parameter_hash());
}

TEST_CASE("an input that is not finite is found by its row, and a value that overflows by its layer") {
  using Rounded = Of<Deep, Two<OneFOneB>>;
  const auto said = [](Trainer<Rounded, CpuThreads>& trainer, const auto& batch) {
    try {
      trainer.step(batch);
    } catch (const Error& error) {
      return std::string{error.what()};
    }
    return std::string{"nothing"};
  };
  auto data = equivalence::rows_of<Rounded>(32);
  Trainer<Rounded, CpuThreads> trainer{{}, Seed{3}};
  std::vector<float> weights = trainer.parameter("0.weight");
  data.inputs[23 * 5 + 2] = INFINITY;
  const std::string of_input = said(trainer, data.batch(0, 32));
  CAPTURE(of_input);
  CHECK(of_input.find("the input has such a value in row 5, feature 2") != std::string::npos);
  auto sound = equivalence::rows_of<Rounded>(32);
  Trainer<Rounded, CpuThreads> another{{}, Seed{3}};
  std::fill(weights.begin(), weights.end(), 3e38F);
  another.set_parameter("0.weight", weights);
  const std::string of_layer = said(another, sound.batch(0, 32));
  CAPTURE(of_layer);
  CHECK(of_layer.find("it begins in layer 0") != std::string::npos);
}

TEST_CASE("of two plans of which one rounds same_bits says no") {
  CHECK(!same_bits<Of<Deep, Single>, InFloats<Deep, Single>>());
  CHECK(same_bits<Of<Deep, Single>, Of<Deep, DataParallel<2>>>());
}
