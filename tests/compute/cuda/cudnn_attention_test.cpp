// SPDX-License-Identifier: MIT
// SelfAttention in bfloat16 by cuDNN, which the emulator stands for: against loops in double that know what is rounded, and where cuDNN declines.
#include "heddle/compute/cuda/cudnn_attention.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "compute/cuda/attention_cases.hpp"
#include "compute/cuda/cudnn_cases.hpp"
#include "conformance/layers.hpp"

using namespace heddle;
using cudnn_cases::ByCuDNN;
using on_card::Card;

namespace {

using Halves = ByCuDNN<false, BFloat16>;

/// Outputs, log-sums and gradients of operands that bfloat16 holds; cuDNN has made them.
template <class L> void follows_the_definition(const Shape& shape, std::int64_t rows) {
  CAPTURE(shape.sizes[0]);
  CAPTURE(shape.last());
  const Card card;
  const Leaf leaf = L::describe(Spec{shape});
  LeafUnderTest<L, Halves> test{leaf, rows, Seed{1}};
  test.context = attention_cases::third_step_from_row(5);
  conformance::keep_as_bfloat16(test.input);
  conformance::keep_as_bfloat16(test.output_gradient);
  attention_cases::run(test, rows);
  const std::vector<Floats> none;
  const conformance::Results wanted = conformance::Slow<L>::run(
      {leaf, rows, test.input, test.output_gradient, test.parameters, none, test.context, test.second}, {}, conformance::roundings_of_bfloat16);
  CHECK(conformance::off("the output", test.output, wanted.output) == "");
  CHECK(conformance::off("the statistics", test.statistics, wanted.statistics) == "");
  CHECK(conformance::off("the gradient of the input", test.input_gradient, wanted.input_gradient) == "");
  CHECK(test.beside == nullptr);
  CHECK(cuda_emulator::counts().attentions == 2);
  CHECK(cuda_emulator::counts().kernels == 0);
}

/// Attentions of one handle, and what they tell.
struct Told {
  cuda_emulator::tests::OneCard card;
  CudnnHandle handle;
  CudnnAttentions all;
  std::vector<std::string> notes;
  Told() {
    check_cudnn(cudnnCreate(handle.slot()), "cudnnCreate");
    check_cudnn(cudnnSetStream(handle.get(), card.stream()), "cudnnSetStream");
  }
  bool takes(const AttentionShape& shape) {
    return all.takes(handle.get(), shape, [this](std::string said) { notes.push_back(std::move(said)); });
  }
};

}  // namespace

TEST_CASE("attention by cuDNN, emulated, is what loops in double compute, with keys of its own or shared ones, causal or not") {
  follows_the_definition<SelfAttention<Heads<1>>>(Shape{5, 24}, 2);
  follows_the_definition<SelfAttention<Heads<4>, KeyValueHeads<2>>>(Shape{9, 8 * 16}, 3);
  follows_the_definition<SelfAttention<Heads<2>, KeyValueHeads<1>>>(Shape{1, 4 * 8}, 2);
  follows_the_definition<SelfAttention<Heads<3>>>(Shape{2, 7, 9 * 8}, 2);  // two sequences a row
  follows_the_definition<SelfAttention<Heads<2>, Causal>>(Shape{9, 6 * 8}, 2);
  follows_the_definition<SelfAttention<Heads<4>, KeyValueHeads<2>, Causal>>(Shape{6, 8 * 24}, 2);
}

TEST_CASE("every SelfAttention keeps the law of bfloat16 where a library is asked, whether it takes the layer or not") {
  const Card card;
  CHECK(conformance::broken_law_of_bfloat16<SelfAttention<Heads<2>>, conformance::UploadedCuda, Halves>(5) == "");
  CHECK(conformance::broken_law_of_bfloat16<SelfAttention<Heads<2>, Causal>, conformance::UploadedCuda, Halves>(5) == "");
  CHECK(conformance::broken_law_of_bfloat16<SelfAttention<Heads<2>, Dropout<1, 4>>, conformance::UploadedCuda, Halves>(5) == "");
}

TEST_CASE("a shape is planned once, with an engine that is deterministic, and memory is made before the first run alone") {
  const Card card;
  Told told;
  CHECK(told.takes({2, 5, 2, 2, 8}));
  const long heuristics = cuda_emulator::counts().heuristics, calls = cuda_emulator::calls();
  CHECK(heuristics == 2);
  CHECK(told.takes({2, 5, 2, 2, 8}));
  CHECK(cuda_emulator::calls() == calls);
  CHECK(told.takes({3, 5, 2, 2, 8}));
  const auto input = told.card.unset<BFloat16>(2 * 5 * 6 * 8), output = told.card.unset<BFloat16>(2 * 5 * 2 * 8);
  told.all.forward(told.handle.get(), {2, 5, 2, 2, 8}, {input.get(), output.get(), nullptr});
  CHECK(told.card.synchronize() == cudaSuccess);
  CHECK(told.takes({1, 5, 2, 2, 8}));
  CHECK_FALSE(told.takes({4, 5, 2, 2, 8}));
  REQUIRE(told.notes.size() == 4);
  CHECK(told.notes[0] == "SelfAttention of 2 sequences of 5 positions, 2 heads of 8 features is computed by cuDNN.");
  CHECK(told.notes[3].find("it needs a larger workspace than those before the first step, ") != std::string::npos);
}

TEST_CASE("what cuDNN does not take is said") {
  const Card card{cuda_emulator::Options{.seed = 1, .algorithms = 1}};  // the engine that is not deterministic
  Told told;
  CHECK_FALSE(told.takes({2, 5, 2, 2, 12}));
  CHECK_FALSE(told.takes({2, 5, 2, 2, 136}));
  CHECK_FALSE(told.takes({2, 5, 2, 2, 8}));
  CHECK_FALSE(told.takes({0, 5, 2, 2, 8}));
  REQUIRE(told.notes.size() == 3);
  CHECK(told.notes[0] ==
        "SelfAttention of 2 sequences of 5 positions, 2 heads of 12 features is computed by kernels of Heddle: cuDNN takes heads of 8, 16, 24 and so "
        "on features.");
  CHECK(told.notes[1].find("cuDNN has no deterministic engine for its forward.") != std::string::npos);
  CHECK(told.notes[2].find("cuDNN has no deterministic engine for its forward.") != std::string::npos);
}
