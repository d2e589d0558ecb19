// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/attention.hpp"

#include <doctest/doctest.h>

#include <type_traits>

#include "compute/cuda/attention_on_tensor_cores_cases.hpp"
using namespace heddle;
using attention_cases::Card;
using attention_cases::OnTensorCores;
using attention_cases::TensorCores;

namespace {

/// Heads of 3 features in float32, of 8 on tensor cores.
template <class Compute> constexpr std::int64_t features_of = std::is_same_v<Compute, conformance::UploadedCuda> ? 3 : 8;

/// Everything that one forward and one backward leave, in one array.
template <class Test> Floats all_of(Test& test, std::int64_t rows) {
  attention_cases::run(test, rows);
  Floats all = test.output;
  all.insert(all.end(), test.statistics.begin(), test.statistics.end());
  all.insert(all.end(), test.input_gradient.begin(), test.input_gradient.end());
  return all;
}

}  // namespace

TEST_CASE("SelfAttention on a card keeps the laws of a layer, with shared keys, a causal mask and dropped weights") {
  const Card card;
  CHECK(conformance::broken_law_of_layer<SelfAttention<Heads<2>>, conformance::UploadedCuda>(10) == "");
  CHECK(conformance::broken_law_of_layer<SelfAttention<Heads<4>, KeyValueHeads<2>, Causal>, conformance::UploadedCuda>(10) == "");
  CHECK(conformance::broken_law_of_layer<SelfAttention<Heads<2>, Dropout<1, 4>>, conformance::UploadedCuda>(10) == "");
  CHECK(conformance::broken_law_of_layer<SelfAttention<Heads<2>, Causal, Dropout<1, 10>>, conformance::UploadedCuda>(10) == "");
}

namespace {

void drops_anew(std::int64_t features, bool tf32, float off) {
  const Card card;
  using Layer = SelfAttention<Heads<2>, Dropout<1, 4>>;
  const Leaf leaf = Layer::describe(Spec{Shape{5, 2 * 3 * features}});
  LeafUnderTest<Layer, EigenCompute> host{leaf, 2, Seed{1}};
  Floats output(host.output.size()), gradient(host.input.size());
  conformance::CardTensors tensors;
  CudaNumbers numbers;
  CudaQueue queue = *tensors.space(numbers).queue;
  queue.tf32 = tf32;
  const CudaMemory space{&queue};
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
    for (std::size_t i = 0; i < output.size(); ++i) CHECK(std::abs(output[i] - host.output[i]) < off);
    for (std::size_t i = 0; i < gradient.size(); ++i) CHECK(std::abs(gradient[i] - host.input_gradient[i]) < off);
    CHECK_FALSE(conformance::equal_bits(before, output));
    before = output;
  }
}

}  // namespace

TEST_CASE("a captured call drops other weights in each step, those that the host drops in it") {
  drops_anew(3, false, 1e-5F);
  drops_anew(8, true, 5e-3F);  // a dropped weight is off by more than 1 / 10
}

TEST_CASE_TEMPLATE("the bits of a sequence are the same again, in every order of threads and in every row, and no rows are legal", Compute,
                   conformance::UploadedCuda, TensorCores<float>, TensorCores<BFloat16>) {
  using Layer = SelfAttention<Heads<4>, KeyValueHeads<2>, Causal, Dropout<1, 4>>;
  const Leaf leaf = Layer::describe(Spec{Shape{67, 8 * features_of<Compute>}});
  LeafUnderTest<Layer, Compute> all{leaf, 3}, again{leaf, 3}, alone{leaf, 3};
  for (auto* test : {&all, &again, &alone}) test->context = attention_cases::third_step_from_row(5);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    const Card card(seed);
    const Floats before = all_of(all, 3);
    CHECK(conformance::equal_bits(before, all_of(again, 3)));
  }
  const Card card;
  for (std::int64_t row = 0; row < 3; ++row) {
    alone.forward(row, 1);
    alone.backward(row, 1, false);
  }
  alone.forward(0, 0);
  alone.backward(0, 0, false);
  CHECK(conformance::equal_bits(all.output, alone.output));
  CHECK(conformance::equal_bits(all.statistics, alone.statistics));
  CHECK(conformance::equal_bits(all.input_gradient, alone.input_gradient));
}

TEST_CASE_TEMPLATE("heads that are split over ranks drop the weights of the whole, and have its bits", Compute, conformance::UploadedCuda,
                   TensorCores<float>, TensorCores<BFloat16>) {
  const Card card;
  using Layer = SelfAttention<Heads<4>, KeyValueHeads<2>, Causal, Dropout<1, 4>>;
  constexpr std::int64_t positions = 66, rows = 2, d = features_of<Compute>;
  LeafUnderTest<Layer, Compute> all{Layer::describe(Spec{Shape{positions, 8 * d}}), rows};
  all.context = attention_cases::third_step_from_row(5);
  attention_cases::run(all, rows);
  for (int part = 0; part < 2; ++part) {
    using Half = SelfAttention<Heads<2>, KeyValueHeads<1>, Causal, Dropout<1, 4>>;
    LeafUnderTest<Half, Compute> own{Half::describe(Spec{Shape{positions, 4 * d}}), rows};
    own.context = all.context;
    own.context.runs = positions;
    own.context.parts = 2;
    own.context.part = part;
    const auto there = [&](std::int64_t i, std::int64_t c) {  // of element c of position i of the half in the whole
      return static_cast<std::size_t>(i * 8 * d + (c < 2 * d ? 2 * d * part + c : c < 3 * d ? (2 + part) * d + c : (3 + part) * d + c));
    };
    for (std::int64_t i = 0; i < rows * positions; ++i) {
      for (std::int64_t c = 0; c < 4 * d; ++c) own.input[static_cast<std::size_t>(i * 4 * d + c)] = all.input[there(i, c)];
      for (std::int64_t c = 0; c < 2 * d; ++c)
        own.output_gradient[static_cast<std::size_t>(i * 2 * d + c)] = all.output_gradient[static_cast<std::size_t>((2 * i + part) * 2 * d + c)];
    }
    attention_cases::run(own, rows);
    int other = 0;
    for (std::int64_t i = 0; i < rows * positions; ++i) {
      for (std::int64_t c = 0; c < 2 * d; ++c)
        other += own.output[static_cast<std::size_t>(i * 2 * d + c)] != all.output[static_cast<std::size_t>((2 * i + part) * 2 * d + c)];
      for (std::int64_t c = 0; c < 4 * d; ++c)
        other += own.input_gradient[static_cast<std::size_t>(i * 4 * d + c)] != all.input_gradient[there(i, c)];
    }
    CHECK(other == 0);
  }
}

TEST_CASE("where TF32 is allowed, heads of 8 to 64 features have the bits of operands that are rounded to it; others keep those of float32") {
  const Card card;
  const auto runs = [&]<class L>(L, std::int64_t features) {
    CAPTURE(features);
    const Leaf leaf = L::describe(Spec{Shape{37, 3 * features}});
    attention_cases::OnCard<L> in_floats{leaf, 2};
    OnTensorCores<L, float> allowed{leaf, 2}, rounded{leaf, 2};
    attention_cases::round<float>(rounded.input);
    attention_cases::round<float>(rounded.output_gradient);
    const Floats found = all_of(allowed, 2);
    const bool fits = fits_tensor_cores(static_cast<int>(features));
    CHECK(conformance::equal_bits(found, all_of(rounded, 2)) == fits);
    CHECK(conformance::equal_bits(found, all_of(in_floats, 2)) != fits);
  };
  for (const std::int64_t features : {8, 24, 64, 4, 12, 72}) runs(SelfAttention<Heads<1>, Causal>{}, features);
}

TEST_CASE("heads in bfloat16 that tensor cores do not take are computed in float32, and what is made is rounded once") {
  const Card card;
  const auto same = [&]<class L>(L, std::int64_t features) {
    CAPTURE(features);
    const Leaf leaf = L::describe(Spec{Shape{66, 3 * features}});
    attention_cases::OnCard<L> in_floats{leaf, 2};
    OnTensorCores<L, BFloat16> kept{leaf, 2};
    for (Floats* given : {&in_floats.input, &in_floats.output_gradient}) attention_cases::round<BFloat16>(*given);
    in_floats.context = kept.context = attention_cases::third_step_from_row(5);
    attention_cases::run(kept, 2);
    in_floats.forward(0, 2);
    attention_cases::round<BFloat16>(in_floats.output);
    in_floats.backward(0, 2, false);
    attention_cases::round<BFloat16>(in_floats.input_gradient);
    CHECK(conformance::equal_bits(kept.output, in_floats.output));
    CHECK(conformance::equal_bits(kept.statistics, in_floats.statistics));
    CHECK(conformance::equal_bits(kept.input_gradient, in_floats.input_gradient));
  };
  for (const std::int64_t features : {3, 4, 12, 33, 72, 130}) same(SelfAttention<Heads<1>, Dropout<1, 4>>{}, features);
}
