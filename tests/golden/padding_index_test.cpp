// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"

using namespace golden;

namespace {

struct Inner : Residual<Named<"inner", Linear<8, 8>>, Tanh> {};
struct Padded
    : Sequential<Input<6>, Named<"embedding", Embedding<13, 8, PaddingIndex<4>>>, Named<"block", Inner>, Named<"head", Linear<8, 13, NoBias>>> {};
struct Tying : Sequential<Input<6>, Named<"embedding", Embedding<13, 8, PaddingIndex<4>>>, Named<"block", Inner>,
                          Tied<"head", Linear<8, 13, NoBias>, To<"embedding">>> {};
template <class Model, class... Parts> using Of = Plan<Model, CrossEntropy, MomentumSGD, Batch<8>, Parts...>;

/// Row 4 of the table, of 8 features.
std::vector<float> row_of_padding(const std::vector<float>& table) { return {table.begin() + 4 * 8, table.begin() + 5 * 8}; }

}  // namespace

TEST_CASE("20 steps of a language model whose table has a row of padding are PyTorch's under five policies") {
  follow_sentences<Of, Padded>("padding_13_8", 0.5);
}

TEST_CASE("20 steps are PyTorch's too where a tied head gives that row a gradient") { follow_sentences<Of, Tying>("padding_tied_13_8", 0.1); }

TEST_CASE("the row of padding starts at zeros and stays there, unless a tied head moves it") {
  const std::vector<float> zeros(8, 0.0F);
  const auto check = [&]<class ThePlan>(const ThePlan*, bool stays) {
    const Sentences sentences{golden_file("padding_13_8")};
    Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 0.1, .momentum = 0.9}, Seed{3}};
    CHECK(row_of_padding(trainer.parameter("embedding.weight")) == zeros);
    for (int step = 0; step < 3; ++step) trainer.step(sentences.batch());
    CHECK((row_of_padding(trainer.parameter("embedding.weight")) == zeros) == stays);
  };
  check(static_cast<const Of<Padded, Single>*>(nullptr), true);
  check(static_cast<const Of<Padded, Sharded<2>>*>(nullptr), true);
  check(static_cast<const Of<Tying, TensorParallel<2>>*>(nullptr), false);
}
