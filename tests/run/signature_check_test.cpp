// SPDX-License-Identifier: MIT
#include "heddle/run/signature_check.hpp"

#include <doctest/doctest.h>

#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

namespace {

/// out = gain x in with one gain for all features; on split features each rank has a term of its gradient.
enum class Mistake { none, forgets_the_term, divides_by_its_features };
template <Mistake What> struct Gain {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Gain";
    leaf.spelled << "Gain";
    leaf.in = leaf.out = in;
    leaf.with({Text<16>{"gain"}, Shape{1}, Initial::ones});
    const Laid gradient = What == Mistake::forgets_the_term ? laid::replicate : laid::partial;
    const Laid last = laid::shard(in.shape.dimensions - 1);
    return leaf.splits(Signature{last, last, last, last, {}, {}}.with(0, laid::replicate, gradient));
  }
};

/// out = sum of the features + shift, in every feature of the output: what is not linear in the split may pass the rules, not the numbers.
template <bool ShiftOnce> struct Total {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Total";
    leaf.spelled << "Total";
    leaf.in = in;
    leaf.out = Spec{Shape{1}};
    leaf.saves = Saves::nothing;
    leaf.with({Text<16>{"shift"}, Shape{1}, Initial::zeros});
    const Laid used = ShiftOnce ? laid::partial : laid::replicate;
    return leaf.splits(
        Signature{laid::shard(0), laid::partial, laid::shard(0), laid::replicate, {}, {}}.with(0, used, ShiftOnce ? laid::replicate : laid::partial));
  }
};

}  // namespace

namespace heddle {
template <Mistake What> struct Kernel<Gain<What>, EigenCompute> {
  static float share(const Leaf& leaf) { return What == Mistake::divides_by_its_features ? 1.0F / static_cast<float>(leaf.in.elements()) : 1.0F; }
  static void forward(const ForwardCall& call) {
    const std::int64_t n = call.rows * call.leaf->in.elements();
    for (std::int64_t i = 0; i < n; ++i) call.output[i] = share(*call.leaf) * call.parameters[0][0] * call.input[i];
  }
  static void backward(const BackwardCall& call) {
    const std::int64_t n = call.rows * call.leaf->in.elements();
    float sum = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      if (call.input_gradient != nullptr) call.input_gradient[i] = share(*call.leaf) * call.parameters[0][0] * call.output_gradient[i];
      sum += share(*call.leaf) * call.input[i] * call.output_gradient[i];
    }
    call.parameter_gradients[0][0] = call.add ? call.parameter_gradients[0][0] + sum : sum;
  }
};
template <bool ShiftOnce> struct Kernel<Total<ShiftOnce>, EigenCompute> {
  static void forward(const ForwardCall& call) {
    const std::int64_t n = call.leaf->in.elements();
    for (std::int64_t r = 0; r < call.rows; ++r) {
      call.output[r] = call.parameters[0][0];
      for (std::int64_t i = 0; i < n; ++i) call.output[r] += call.input[r * n + i];
    }
  }
  static void backward(const BackwardCall& call) {
    const std::int64_t n = call.leaf->in.elements();
    float sum = call.add ? call.parameter_gradients[0][0] : 0;
    for (std::int64_t r = 0; r < call.rows; ++r) {
      for (std::int64_t i = 0; i < n && call.input_gradient != nullptr; ++i) call.input_gradient[r * n + i] = call.output_gradient[r];
      sum += call.output_gradient[r];
    }
    call.parameter_gradients[0][0] = sum;
  }
};
}  // namespace heddle

namespace {

template <class L> std::string words_of(const Spec& in = Spec{Shape{6}}) {
  int checked = 0;
  return check_signatures_on<L, EigenCompute>(in, checked).text;
}
template <class L> int checked_of(const Spec& in) {
  int checked = 0;
  CHECK(check_signatures_on<L, EigenCompute>(in, checked).text == "");
  return checked;
}

}  // namespace

TEST_CASE("layers here may be split as they state, under 2 and under 3 ranks") {
  CHECK(checked_of<Linear<12, 6>>(Spec{Shape{12}}) == 4);
  CHECK(checked_of<Linear<12, 6>>(Spec{Shape{4, 12}}) == 4);
  CHECK(checked_of<Linear<6, 12, NoBias>>(Spec{Shape{6}}) == 4);
  CHECK(checked_of<Linear<4, 9>>(Spec{Shape{4}}) == 2);  // 9 outputs under 3 ranks, 4 inputs under 2
  CHECK(checked_of<ReLU>(Spec{Shape{4, 6}}) == 3);
  CHECK(checked_of<GELU>(Spec{Shape{6}}) == 2);
  CHECK(checked_of<Tanh>(Spec{Shape{6}}) == 2);
  CHECK(checked_of<Sigmoid>(Spec{Shape{6}}) == 2);
  CHECK(checked_of<Column<Linear<6, 6>>>(Spec{Shape{6}}) == 2);
  CHECK(checked_of<MaxPool2d<KernelSize<2>>>(Spec{Shape{6, 4, 5}}) == 2);                 // channels
  CHECK(checked_of<Conv2d<6, 12, KernelSize<3>>>(Spec{Shape{6, 4, 5}}) == 4);             // channels of the output, and of the input
  CHECK(checked_of<Conv2d<6, 12, KernelSize<3>, Groups<6>>>(Spec{Shape{6, 4, 5}}) == 2);  // whole groups
  CHECK(checked_of<Conv2d<6, 12, KernelSize<3>, Groups<2>>>(Spec{Shape{6, 4, 5}}) == 1);  // 3 ranks do not divide 2 groups
  CHECK(checked_of<LearnedPositions<6, 12>>(Spec{Shape{6, 12}}) == 4);                    // features, and positions
  CHECK(checked_of<Rotary<4, Heads<6>>>(Spec{Shape{5, 72}}) == 2);                        // heads
  CHECK(checked_of<AdaptiveAvgPool2d<2, 3>>(Spec{Shape{6, 3, 5}}) == 2);
  CHECK(checked_of<SiLU>(Spec{Shape{6}}) == 2);
  CHECK(checked_of<Softmax>(Spec{Shape{6, 5}}) == 2);  // vectors
  CHECK(checked_of<LogSoftmax>(Spec{Shape{4, 6, 5}}) == 3);
  CHECK(checked_of<LeakyReLU<>>(Spec{Shape{6}}) == 2);
  CHECK(checked_of<AvgPool2d<KernelSize<2>, Stride<1>>>(Spec{Shape{6, 3, 5}}) == 2);
  CHECK(checked_of<BatchNorm2d<6>>(Spec{Shape{6, 2, 5}}) == 2);                        // channels
  CHECK(checked_of<SwiGLU>(Spec{Shape{4, 12}}) == 3);                                  // halves of 6, and 4 positions under 2
  CHECK(checked_of<SelfAttention<Heads<6>, Causal>>(Spec{Shape{5, 36}}) == 2);         // heads
  CHECK(checked_of<SelfAttention<Heads<6>, Dropout<1, 3>>>(Spec{Shape{5, 36}}) == 2);  // the same weights are dropped
  CHECK(checked_of<SelfAttention<Heads<4>, KeyValueHeads<2>, Dropout<1, 3>>>(Spec{Shape{6, 5, 24}}) == 3);
  CHECK(checked_of<SelfAttention<Heads<4>, KeyValueHeads<2>>>(Spec{Shape{6, 5, 24}}) == 3);  // and sequences; 3 do not divide 2 heads
  CHECK(checked_of<Row<Linear<6, 6>>>(Spec{Shape{6}}) == 2);
}

TEST_CASE("an own layer with a whole parameter of split features keeps its word, and gradcheck asks") {
  CHECK(checked_of<Gain<Mistake::none>>(Spec{Shape{6}}) == 2);
  CHECK(gradcheck<Gain<Mistake::none>>().text == "");
  CHECK(checked_of<Total<true>>(Spec{Shape{6}}) == 2);
  CHECK(gradcheck<Total<true>>().text == "");
}

TEST_CASE("a gradient that is a term and stated whole is refused by the rules") {
  CHECK(gradcheck<Gain<Mistake::forgets_the_term>>().text.find("[heddle.P03] signature 0 of Gain states parameter 'gain' Replicate") == 0);
}

TEST_CASE("a shift that every rank adds passes no rule of shapes, but the numbers show it") {
  CHECK(words_of<Total<false>>() ==
        "[heddle.P06] signature 0 of Total does not hold on 2 ranks: its output, stated Partial, is not that of the whole layer when it is put "
        "together. "
        "Fix: correct the signature, or let the kernel read its extents from the Leaf that it is given.");
}

TEST_CASE("a layer that looks at how many features there are is another layer on a part of them") {
  CHECK(words_of<Gain<Mistake::divides_by_its_features>>().find(
            "[heddle.P06] signature 0 of Gain does not hold on 2 ranks: its output, stated Shard<0>,") == 0);
}
