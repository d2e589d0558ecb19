// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/attention.hpp"

#include <doctest/doctest.h>

#include "compute/cuda/attention_cases.hpp"
using namespace heddle;
using attention_cases::Card;

TEST_CASE("SelfAttention on a card keeps the laws of a layer, with shared keys, a causal mask and dropped weights") {
  const Card card;
  CHECK(conformance::broken_law_of_layer<SelfAttention<Heads<2>>, conformance::UploadedCuda>(10) == "");
  CHECK(conformance::broken_law_of_layer<SelfAttention<Heads<4>, KeyValueHeads<2>, Causal>, conformance::UploadedCuda>(10) == "");
  CHECK(conformance::broken_law_of_layer<SelfAttention<Heads<2>, Dropout<1, 4>>, conformance::UploadedCuda>(10) == "");
  CHECK(conformance::broken_law_of_layer<SelfAttention<Heads<2>, Causal, Dropout<1, 10>>, conformance::UploadedCuda>(10) == "");
}

TEST_CASE("a captured call drops other weights in each step, those that the host drops in it") {
  const Card card;
  using Layer = SelfAttention<Heads<2>, Dropout<1, 4>>;
  const Leaf leaf = Layer::describe(Spec{Shape{5, 18}});
  LeafUnderTest<Layer, EigenCompute> host{leaf, 2, Seed{1}};
  Floats output(host.output.size()), gradient(host.input.size());
  conformance::CardTensors tensors;
  CudaNumbers numbers;
  const CudaMemory space = tensors.space(numbers);
  ForwardCallIn<CudaMemory> forward{&leaf, 2};
  forward.input = tensors.given(host.input.data(), std::ssize(host.input));
  forward.output = tensors.made(output.data(), std::ssize(output));
  forward.statistics = tensors.made(host.statistics.data(), std::ssize(host.statistics));
  forward.context = attention_cases::third_step_from_row(5);
  forward.space = space;
  BackwardCallIn<CudaMemory> backward{&leaf, 2, forward.input, forward.output};
  backward.output_gradient = tensors.given(host.output_gradient.data(), std::ssize(host.output_gradient));
  backward.input_gradient = tensors.made(gradient.data(), std::ssize(gradient));
  backward.statistics = forward.statistics;
  backward.context = forward.context;
  backward.space = space;
  const RunnableGraph step = captured(space.queue->stream, [&] {
    Kernel<Layer, CudaCompute>::forward(forward);
    Kernel<Layer, CudaCompute>::backward(backward);
  });
  Floats before;
  for (const std::int64_t now : {3, 4}) {
    numbers.step = now;
    check_cuda(cudaMemcpyAsync(const_cast<CudaNumbers*>(space.queue->numbers), &numbers, sizeof numbers, cudaMemcpyHostToDevice, space.queue->stream),
               "cudaMemcpyAsync");
    check_cuda(cudaGraphLaunch(step.get(), space.queue->stream), "cudaGraphLaunch");
    tensors.finish();
    host.context = attention_cases::third_step_from_row(5);
    host.context.step = now;
    host.forward(0, 2);
    host.backward(0, 2, false);
    for (std::size_t i = 0; i < output.size(); ++i) CHECK(std::abs(output[i] - host.output[i]) < 1e-5F);
    for (std::size_t i = 0; i < gradient.size(); ++i) CHECK(std::abs(gradient[i] - host.input_gradient[i]) < 1e-5F);
    CHECK_FALSE(conformance::equal_bits(before, output));
    before = output;
  }
}

TEST_CASE("the bits of a sequence are the same again and in every row, and no rows are legal") {
  const Card card;
  using Layer = SelfAttention<Heads<4>, KeyValueHeads<2>, Causal, Dropout<1, 4>>;
  const Leaf leaf = Layer::describe(Spec{Shape{67, 8 * 3}});
  attention_cases::OnCard<Layer> all{leaf, 3}, again{leaf, 3}, alone{leaf, 3};
  for (auto* test : {&all, &again, &alone}) test->context = attention_cases::third_step_from_row(5);
  attention_cases::run(all, 3);
  attention_cases::run(again, 3);
  CHECK(conformance::equal_bits(all.output, again.output));
  CHECK(conformance::equal_bits(all.statistics, again.statistics));
  CHECK(conformance::equal_bits(all.input_gradient, again.input_gradient));
  for (std::int64_t row = 0; row < 3; ++row) {
    alone.forward(row, 1);
    alone.backward(row, 1, false);
  }
  alone.forward(0, 0);
  alone.backward(0, 0, false);
  CHECK(conformance::equal_bits(all.output, alone.output));
  CHECK(conformance::equal_bits(all.input_gradient, alone.input_gradient));
}

TEST_CASE("heads that are split over ranks drop the weights of the whole, and have its bits") {
  const Card card;
  using Layer = SelfAttention<Heads<4>, KeyValueHeads<2>, Causal, Dropout<1, 4>>;
  constexpr std::int64_t positions = 66, rows = 2;
  attention_cases::OnCard<Layer> all{Layer::describe(Spec{Shape{positions, 8 * 3}}), rows};
  all.context = attention_cases::third_step_from_row(5);
  attention_cases::run(all, rows);
  for (int part = 0; part < 2; ++part) {
    using Half = SelfAttention<Heads<2>, KeyValueHeads<1>, Causal, Dropout<1, 4>>;
    attention_cases::OnCard<Half> own{Half::describe(Spec{Shape{positions, 4 * 3}}), rows};
    own.context = all.context;
    own.context.runs = positions;
    own.context.parts = 2;
    own.context.part = part;
    const auto there = [&](std::int64_t i, std::int64_t c) {  // of element c of position i of the half in the whole
      return static_cast<std::size_t>(i * 24 + (c < 6 ? 6 * part + c : c < 9 ? 12 + 3 * part + c - 6 : 18 + 3 * part + c - 9));
    };
    for (std::int64_t i = 0; i < rows * positions; ++i) {
      for (std::int64_t c = 0; c < 12; ++c) own.input[static_cast<std::size_t>(i * 12 + c)] = all.input[there(i, c)];
      for (std::int64_t c = 0; c < 6; ++c)
        own.output_gradient[static_cast<std::size_t>(i * 6 + c)] = all.output_gradient[static_cast<std::size_t>(i * 12 + 6 * part + c)];
    }
    attention_cases::run(own, rows);
    int other = 0;
    for (std::int64_t i = 0; i < rows * positions; ++i) {
      for (std::int64_t c = 0; c < 6; ++c)
        other += own.output[static_cast<std::size_t>(i * 6 + c)] != all.output[static_cast<std::size_t>(i * 12 + 6 * part + c)];
      for (std::int64_t c = 0; c < 12; ++c) other += own.input_gradient[static_cast<std::size_t>(i * 12 + c)] != all.input_gradient[there(i, c)];
    }
    CHECK(other == 0);
  }
}
