// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <type_traits>
#include <vector>

#include "equivalence/own_join.hpp"
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

namespace {

struct Swish {
  static constexpr Leaf describe(Spec in) { return elementwise("Swish", in, 5); }
  HEDDLE_HOST_DEVICE static float forward(float x) { return x / (1 + std::exp(-x)); }
  HEDDLE_HOST_DEVICE static float backward(float x, float gradient) {
    const float s = 1 / (1 + std::exp(-x));
    return gradient * (s + x * s * (1 - s));
  }
};
static_assert(explain_layer<Swish>());

struct WrongSwish : Swish {
  static float backward(float x, float gradient) { return gradient / (1 + std::exp(-x)); }  // the second term is missing
};
struct SavesTheOther : Swish {  // backward reads its input, describe says that only the output is saved
  static constexpr Leaf describe(Spec in) { return elementwise("SavesTheOther", in, 5, Saves::output); }
};

struct Negate {  // its derivative needs neither input nor output
  static constexpr Leaf describe(Spec in) { return elementwise("Negate", in, 1, Saves::nothing); }
  static float forward(float x) { return -x; }
  static float backward(float, float gradient) { return -gradient; }
};
struct SavesNothing : Swish {
  static constexpr Leaf describe(Spec in) { return elementwise("SavesNothing", in, 5, Saves::nothing); }
};

struct Half : Swish {  // its kernel would write six elements where there is room for one
  static constexpr Leaf describe(Spec in) {
    Leaf leaf = Swish::describe(in);
    leaf.elementwise = false;
    leaf.out = Spec{Shape{1}};
    return leaf;
  }
};

/// The larger of two numbers; a wrong one gives its gradient to the smaller.
template <bool Wrong> struct Largest {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf = elementwise("Largest", in, 1);
    leaf.elementwise = false;
    leaf.signature_count = 0;
    leaf.out.shape.sizes[in.shape.dimensions - 1] = in.shape.last() / 2;
    return leaf;
  }
};

/// Subtracts the mean over the rows: legal arithmetic, but no layer that a batch may be split over.
struct CentersRows {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf = elementwise("CentersRows", in, 2, Saves::nothing);
    leaf.elementwise = false;
    return leaf;
  }
};

/// The same of a layer that says so.
struct CentersGrain {
  using KernelLayer = CentersRows;
  static constexpr Leaf describe(Spec in) {
    Leaf leaf = CentersRows::describe(in);
    leaf.rows_together = 1;
    return leaf;
  }
};
/// A norm over grains with a mistake.
enum class Sums { right, overwritten, of_gradients };
template <Sums What> struct Norm {
  static constexpr Leaf describe(Spec in) { return BatchNorm2d<3>::describe(in); }
};

/// out = in x weight, feature by feature; Add says whether backward honours `add`.
template <bool HonoursAdd> struct Scale {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Scale";
    leaf.spelled << "Scale";
    leaf.in = leaf.out = in;
    return leaf.with({Text<16>{"weight"}, Shape{in.elements()}, Initial::ones});
  }
};

/// A gain of four features.
struct Narrow {
  using KernelLayer = Scale<true>;
  static constexpr Leaf describe(Spec in) {
    Leaf leaf = Scale<true>::describe(in);
    leaf.kind = leaf.spelled = "Narrow";
    leaf.parameters[0].shape = Shape{4};
    if (in.shape.last() != 4) leaf.fault = Diagnosis{Code{'G', 1}, "Narrow takes 4 features. Fix: give it 4."};
    return leaf;
  }
};

/// What a kernel was handed of a gain; a Trainer hands it null in place of what nobody needs or keeps.
struct Handed {
  bool input_gradient = false, no_input_gradient = false, input = false, no_input = false;
};
inline Handed handed;
struct Watched : Scale<true> {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf = Scale<true>::describe(in);
    leaf.input_part_reads_saved = false;
    return leaf;
  }
};
/// Its gradient of the weight is half as large where nobody needs that of the input.
struct Halves : Scale<true> {};
struct ForgetsPadding {  // its kernel gives the row of padding a gradient, as finite differences do
  static constexpr Leaf describe(Spec in) { return Embedding<5, 3, PaddingIndex<2>>::describe(in); }
};

/// The same with a backward in two parts; Honest says whether a null pointer leaves out that part alone.
template <bool Honest> struct InParts : Scale<true> {};

/// A gain whose gradient of the input is right, or half as large where nobody needs that of the weight, as in Frozen.
template <bool Honest> struct WhereFrozen : Scale<true> {};

/// out = in x weight^2: the gradient of the weight is made of the weight, whatever describe says.
template <bool SaysSo> struct Squared {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf = Scale<true>::describe(in);
    leaf.weights_read = SaysSo;
    return leaf;
  }
};

/// out = weight in^2: the gradient of the input is made of the input, whatever describe says.
template <bool SaysSo> struct Bent {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf = Scale<true>::describe(in);
    leaf.input_part_reads_saved = SaysSo;
    return leaf;
  }
};

/// out = in x mean of in: the mean is left for the backward, or another number is; a kernel may also need the room for it where none is given.
enum class Leaves { the_mean, another, it_or_zeros, one_more };
template <Leaves What> struct Level {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Level";
    leaf.spelled << "Level";
    leaf.in = leaf.out = in;
    leaf.statistics = Shape{1};
    return leaf;
  }
};

/// Its kernel takes eight features whatever it is given: forward, or backward, writes behind its rows, or only reads there.
enum class Beyond { output, input_gradient, weight_gradient, reading };
template <Beyond Where> struct OfEight : Scale<true> {};

void center(const float* from, float* to, std::int64_t rows, std::int64_t features) {
  for (std::int64_t j = 0; j < features; ++j) {
    float mean = 0;
    for (std::int64_t i = 0; i < rows; ++i) mean += from[i * features + j] / static_cast<float>(rows);
    for (std::int64_t i = 0; i < rows; ++i) to[i * features + j] = from[i * features + j] - mean;
  }
}

}  // namespace

namespace heddle {
template <> struct Kernel<CentersRows, EigenCompute> {
  static void forward(const ForwardCall& c) { center(c.input, c.output, c.rows, c.leaf->in.elements()); }
  static void backward(const BackwardCall& c) { center(c.output_gradient, c.input_gradient, c.rows, c.leaf->in.elements()); }
};
template <bool Wrong> struct Kernel<Largest<Wrong>, EigenCompute> {
  static void forward(const ForwardCall& c) {
    for (std::int64_t i = 0; i < c.rows * c.leaf->out.elements(); ++i) c.output[i] = std::max(c.input[2 * i], c.input[2 * i + 1]);
  }
  static void backward(const BackwardCall& c) {
    for (std::int64_t i = 0; i < c.rows * c.leaf->out.elements() && c.input_gradient != nullptr; ++i) {
      const bool second = (c.input[2 * i + 1] > c.input[2 * i]) != Wrong;
      c.input_gradient[2 * i] = second ? 0 : c.output_gradient[i];
      c.input_gradient[2 * i + 1] = second ? c.output_gradient[i] : 0;
    }
  }
};
template <Sums What> struct Kernel<Norm<What>, EigenCompute> {
  static constexpr bool backward_in_parts = true;
  static void forward(const ForwardCall& c) { Kernel<BatchNorm2d<3>, EigenCompute>::forward(c); }
  static void backward(BackwardCall c) {
    if (What == Sums::overwritten) c.add = false;
    Kernel<BatchNorm2d<3>, EigenCompute>::backward(c);
    if (What == Sums::of_gradients && c.parameter_gradients != nullptr && c.rows > 0) c.parameter_gradients[2][0] += c.output_gradient[0];
  }
};
template <Leaves What> struct Kernel<Level<What>, EigenCompute> {
  static void forward(const ForwardCall& c) {
    const std::int64_t n = c.leaf->in.elements();
    for (std::int64_t r = 0; r < c.rows; ++r) {
      float mean = 0;
      for (std::int64_t j = 0; j < n; ++j) mean += c.input[r * n + j] / static_cast<float>(n);
      const bool lost = What == Leaves::it_or_zeros && c.statistics == nullptr;
      for (std::int64_t j = 0; j < n; ++j) c.output[r * n + j] = lost ? 0 : mean * c.input[r * n + j];
      if (c.statistics != nullptr && What == Leaves::one_more) c.statistics[r + 1] = 0;
      if (c.statistics != nullptr) c.statistics[r] = What == Leaves::another ? 2 * mean : mean;
    }
  }
  /// dx_i = mean dy_i + sum of dy_j x_j / n
  static void backward(const BackwardCall& c) {
    const std::int64_t n = c.leaf->in.elements();
    for (std::int64_t r = 0; r < c.rows && c.input_gradient != nullptr; ++r) {
      float sum = 0;
      for (std::int64_t j = 0; j < n; ++j) sum += c.output_gradient[r * n + j] * c.input[r * n + j] / static_cast<float>(n);
      for (std::int64_t j = 0; j < n; ++j) c.input_gradient[r * n + j] = c.statistics[r] * c.output_gradient[r * n + j] + sum;
    }
  }
};
template <Beyond Where> struct Kernel<OfEight<Where>, EigenCompute> {
  static std::int64_t features(std::int64_t given, Beyond here) { return Where == here ? 8 : given; }
  static void forward(const ForwardCall& c) {
    const std::int64_t given = c.leaf->in.elements();
    for (std::int64_t i = 0; i < c.rows; ++i)
      for (std::int64_t j = 0; j < features(given, Beyond::output); ++j) c.output[i * given + j] = c.input[i * given + j] * c.parameters[0][0];
    if (Where == Beyond::reading) c.output[0] += c.parameters[0][given];
  }
  static void backward(const BackwardCall& c) {
    const std::int64_t given = c.leaf->in.elements();
    float sum = 0;
    for (std::int64_t i = 0; i < c.rows; ++i)
      for (std::int64_t j = 0; j < features(given, Beyond::input_gradient); ++j) {
        if (c.input_gradient != nullptr) c.input_gradient[i * given + j] = c.output_gradient[i * given + j] * c.parameters[0][0];
        if (j < given) sum += c.output_gradient[i * given + j] * c.input[i * given + j];
      }
    for (std::int64_t j = 0; c.parameter_gradients != nullptr && j < features(given, Beyond::weight_gradient); ++j)
      c.parameter_gradients[0][j] = (c.add ? c.parameter_gradients[0][j] : 0) + (j == 0 ? sum : 0);
  }
};
template <bool HonoursAdd> struct Kernel<Scale<HonoursAdd>, EigenCompute> {
  static void forward(const ForwardCall& c) {
    const std::int64_t n = c.leaf->in.elements();
    for (std::int64_t i = 0; i < c.rows * n; ++i) c.output[i] = c.input[i] * c.parameters[0][i % n];
  }
  static void backward(const BackwardCall& c) {
    const std::int64_t n = c.leaf->in.elements();
    if (!c.add || !HonoursAdd)
      for (std::int64_t j = 0; j < n; ++j) c.parameter_gradients[0][j] = 0;
    for (std::int64_t i = 0; i < c.rows * n; ++i) {
      c.parameter_gradients[0][i % n] += c.output_gradient[i] * c.input[i];
      if (c.input_gradient != nullptr) c.input_gradient[i] = c.output_gradient[i] * c.parameters[0][i % n];
    }
  }
};
template <> struct Kernel<Watched, EigenCompute> {
  static constexpr bool backward_in_parts = true;
  static void forward(const ForwardCall& c) { Kernel<Scale<true>, EigenCompute>::forward(c); }
  static void backward(const BackwardCall& c) {
    (c.input_gradient != nullptr ? handed.input_gradient : handed.no_input_gradient) = true;
    (c.input != nullptr ? handed.input : handed.no_input) = true;
    const std::int64_t n = c.leaf->in.elements();
    for (std::int64_t i = 0; i < c.rows * n && c.input_gradient != nullptr; ++i) c.input_gradient[i] = c.output_gradient[i] * c.parameters[0][i % n];
    if (c.parameter_gradients == nullptr) return;
    for (std::int64_t j = 0; j < n && !c.add; ++j) c.parameter_gradients[0][j] = 0;
    for (std::int64_t i = 0; i < c.rows * n; ++i) c.parameter_gradients[0][i % n] += c.output_gradient[i] * c.input[i];
  }
};
template <> struct Kernel<ForgetsPadding, EigenCompute> {
  static void forward(const ForwardCall& c) { Kernel<Embedding<5, 3>, EigenCompute>::forward(c); }
  static void backward(const BackwardCall& c) {
    Leaf leaf = *c.leaf;
    leaf.parameters[0].padding_row = -1;
    BackwardCall without = c;
    without.leaf = &leaf;
    Kernel<Embedding<5, 3>, EigenCompute>::backward(without);
  }
};
template <> struct Kernel<Halves, EigenCompute> {
  static void forward(const ForwardCall& c) { Kernel<Scale<true>, EigenCompute>::forward(c); }
  static void backward(const BackwardCall& c) {
    Kernel<Scale<true>, EigenCompute>::backward(c);
    for (std::int64_t j = 0; j < c.leaf->in.elements() && c.input_gradient == nullptr; ++j) c.parameter_gradients[0][j] /= 2;
  }
};
template <bool Honest> struct Kernel<InParts<Honest>, EigenCompute> {
  static constexpr bool backward_in_parts = true;
  static void forward(const ForwardCall& c) { Kernel<Scale<true>, EigenCompute>::forward(c); }
  static void backward(const BackwardCall& c) {
    const std::int64_t n = c.leaf->in.elements();
    for (std::int64_t i = 0; i < c.rows * n && c.input_gradient != nullptr; ++i) c.input_gradient[i] = c.output_gradient[i] * c.parameters[0][i % n];
    if (c.parameter_gradients == nullptr) return;
    for (std::int64_t j = 0; j < n && !c.add; ++j) c.parameter_gradients[0][j] = 0;
    for (std::int64_t i = 0; i < c.rows * n; ++i)
      c.parameter_gradients[0][i % n] += c.output_gradient[i] * c.input[i] * (Honest || c.input_gradient != nullptr ? 1.0F : 0.5F);
  }
};
template <bool Honest> struct Kernel<WhereFrozen<Honest>, EigenCompute> {
  static constexpr bool backward_in_parts = true;
  static void forward(const ForwardCall& c) { Kernel<Scale<true>, EigenCompute>::forward(c); }
  static void backward(const BackwardCall& c) {
    Kernel<InParts<true>, EigenCompute>::backward(c);
    if (c.parameter_gradients != nullptr || Honest) return;
    for (std::int64_t i = 0; i < c.rows * c.leaf->in.elements(); ++i) c.input_gradient[i] /= 2;
  }
};
template <bool SaysSo> struct Kernel<Bent<SaysSo>, EigenCompute> {
  static constexpr bool backward_in_parts = true;
  static void forward(const ForwardCall& c) {
    const std::int64_t n = c.leaf->in.elements();
    for (std::int64_t i = 0; i < c.rows * n; ++i) c.output[i] = c.parameters[0][i % n] * c.input[i] * c.input[i];
  }
  static void backward(const BackwardCall& c) {
    const std::int64_t n = c.leaf->in.elements();
    for (std::int64_t i = 0; i < c.rows * n && c.input_gradient != nullptr; ++i)
      c.input_gradient[i] = 2 * c.output_gradient[i] * c.parameters[0][i % n] * c.input[i];
    if (c.parameter_gradients == nullptr) return;
    for (std::int64_t j = 0; j < n && !c.add; ++j) c.parameter_gradients[0][j] = 0;
    for (std::int64_t i = 0; i < c.rows * n; ++i) c.parameter_gradients[0][i % n] += c.output_gradient[i] * c.input[i] * c.input[i];
  }
};
template <bool SaysSo> struct Kernel<Squared<SaysSo>, EigenCompute> {
  static constexpr bool backward_in_parts = true;
  static void forward(const ForwardCall& c) {
    const std::int64_t n = c.leaf->in.elements();
    for (std::int64_t i = 0; i < c.rows * n; ++i) c.output[i] = c.input[i] * c.parameters[0][i % n] * c.parameters[0][i % n];
  }
  static void backward(const BackwardCall& c) {
    const std::int64_t n = c.leaf->in.elements();
    for (std::int64_t i = 0; i < c.rows * n && c.input_gradient != nullptr; ++i)
      c.input_gradient[i] = c.output_gradient[i] * c.parameters[0][i % n] * c.parameters[0][i % n];
    if (c.parameter_gradients == nullptr) return;
    for (std::int64_t j = 0; j < n && !c.add; ++j) c.parameter_gradients[0][j] = 0;
    for (std::int64_t i = 0; i < c.rows * n; ++i) c.parameter_gradients[0][i % n] += 2 * c.output_gradient[i] * c.input[i] * c.parameters[0][i % n];
  }
};
}  // namespace heddle

namespace {

/// The loss of a trainer by a trained weight in front of a layer under test.
template <class Middle> struct LossBehind {
  using Model = Sequential<Linear<4, 5>, Middle, Tanh, Linear<5, 3>>;
  Trainer<Plan<Model, MeanSquaredError, SGD, Batch<6>, Single>, CpuThreads> trainer{{}, Seed{3}};
  std::vector<float> inputs, targets, weight;

  LossBehind() {
    for (int i = 0; i < 6 * 4; ++i) inputs.push_back(static_cast<float>(11 * i % 17) / 8 - 1);
    for (int i = 0; i < 6 * 3; ++i) targets.push_back(static_cast<float>(7 * i % 13) / 4 - 1);
    weight = trainer.parameter("0.weight");
    std::vector<float> middle = trainer.parameter("1.weight");
    for (std::size_t i = 0; i < middle.size(); ++i) middle[i] += 0.25F * static_cast<float>(i % 4);
    trainer.set_parameter("1.weight", middle);
  }
  [[nodiscard]] Examples<float> rows() const { return examples(std::span<const float>{inputs}, std::span<const float>{targets}, 4); }
  [[nodiscard]] double objective() {
    trainer.set_parameter("0.weight", weight);
    return trainer.evaluate(rows()).loss;
  }
  /// The largest difference of a gradient of the weight from the numeric one, relative to the largest gradient.
  [[nodiscard]] double worst() {
    std::vector<double> numeric;
    for (float& w : weight) numeric.push_back(run_room::numeric_gradient(*this, w));
    (void)objective();  // sets the weight as it was
    trainer.step(rows());
    const std::vector<float> gradient = trainer.gradient("0.weight");
    double most = 0, difference = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      most = std::max(most, std::fabs(numeric[i]));
      difference = std::max(difference, std::fabs(numeric[i] - static_cast<double>(gradient[i])));
    }
    REQUIRE(most > 0.1);
    return difference / most;
  }
};

}  // namespace

namespace {

/// Products of two values with one fault each.
struct Crossed : own::Multiply {};
struct Forgetful : own::Multiply {
  static constexpr Leaf describe(const Spec& first, const Spec& second) {
    Leaf leaf = Multiply::describe(first, second);
    leaf.saves = Saves::nothing;
    return leaf;
  }
};
struct SeesOneRow : own::Multiply {};
struct Beside : own::Multiply {};

}  // namespace

template <> struct heddle::Kernel<Crossed, EigenCompute> : heddle::Kernel<own::Multiply, EigenCompute> {
  static void backward(BackwardCall call) {
    call.operand = 1 - call.operand;
    Kernel<own::Multiply, EigenCompute>::backward(call);
  }
};
template <> struct heddle::Kernel<Forgetful, EigenCompute> : heddle::Kernel<own::Multiply, EigenCompute> {
  static void backward(const BackwardCall& call) {
    if (call.input != nullptr) Kernel<own::Multiply, EigenCompute>::backward(call);
  }
};
template <> struct heddle::Kernel<SeesOneRow, EigenCompute> : heddle::Kernel<own::Multiply, EigenCompute> {
  static void forward(const ForwardCall& call) {
    const std::int64_t n = call.leaf->in.elements();
    for (std::int64_t i = 0; i < call.rows * n; ++i) call.output[i] = call.input[i] * call.second[i % n];
  }
  static void backward(const BackwardCall& call) {
    const std::int64_t n = call.leaf->in.elements();
    for (std::int64_t i = 0; i < call.rows * n && call.operand == 0; ++i) call.input_gradient[i] = call.output_gradient[i] * call.second[i % n];
    for (std::int64_t i = 0; i < call.rows * n && call.operand == 1; ++i) call.input_gradient[i] = 0;
    for (std::int64_t i = 0; i < call.rows * n && call.operand == 1; ++i) call.input_gradient[i % n] += call.output_gradient[i] * call.input[i];
  }
};
template <> struct heddle::Kernel<Beside, EigenCompute> : heddle::Kernel<own::Multiply, EigenCompute> {
  static void backward(const BackwardCall& call) {
    Kernel<own::Multiply, EigenCompute>::backward(call);
    if (call.operand == 1) call.input_gradient[call.rows * call.leaf->other.elements()] = 1;
  }
};

TEST_CASE("a frozen layer passes on the gradient of its input that finite differences of the loss give") {
  // A loss of about 1 is rounded to 2^-24 some times and divided by h = 1/64: 1e-5 beside gradients of more than 0.1.
  CHECK(LossBehind<Frozen<Linear<5, 5>>>{}.worst() < 1e-3);
  CHECK(LossBehind<Frozen<Linear<5, 5, NoBias>>>{}.worst() < 1e-3);
  CHECK(LossBehind<Frozen<Squared<true>>>{}.worst() < 1e-3);
  CHECK(LossBehind<Frozen<WhereFrozen<true>>>{}.worst() < 1e-3);
  CHECK(LossBehind<WhereFrozen<false>>{}.worst() < 1e-3);
  CHECK(LossBehind<Frozen<WhereFrozen<false>>>{}.worst() > 0.1);  // what is wrong in frozen layers alone is seen
}

TEST_CASE("a layer that bends near its input is right, and one with the slope of the other side is wrong") {
  for (std::uint64_t seed = 1; seed < 40; ++seed) {
    CHECK(gradcheck_on<Largest<false>, EigenCompute>(Spec{Shape{8}}, 8, Seed{seed}).text == "");
    CHECK(gradcheck_on<Largest<true>, EigenCompute>(Spec{Shape{8}}, 8, Seed{seed}).text.find("[heddle.G11] Largest: backward gives ") == 0);
  }
}

TEST_CASE("the layers of the toolkit have the gradients that finite differences give") {
  CHECK(gradcheck<Linear<5, 3>>().text == "");
  CHECK(gradcheck<Linear<5, 3, NoBias>>().text == "");
  CHECK(gradcheck<ReLU>().text == "");
  CHECK(gradcheck<GELU>().text == "");
  CHECK(gradcheck<Tanh>().text == "");
  CHECK(gradcheck<Sigmoid>().text == "");
  CHECK(gradcheck<Flatten>(Spec{Shape{2, 3}}).text == "");
  CHECK(gradcheck<LayerNorm<7>>().text == "");
  CHECK(gradcheck<LayerNorm<37, NoBias>>().text == "");
  CHECK(gradcheck<LayerNorm<5>>(Spec{Shape{3, 5}}).text == "");
  CHECK(gradcheck<RMSNorm<7, Epsilon<6>>>().text == "");
  CHECK(gradcheck<SwiGLU>(Spec{Shape{3, 10}}).text == "");
  CHECK(gradcheck<SiLU>().text == "");
  CHECK(gradcheck<GELUTanh>().text == "");
  CHECK(gradcheck<Softmax>(Spec{Shape{3, 7}}).text == "");
  CHECK(gradcheck<LogSoftmax>(Spec{Shape{3, 7}}).text == "");
  CHECK(gradcheck<LeakyReLU<1, 3>>().text == "");
  CHECK(gradcheck<AdaptiveAvgPool2d<2, 4>>(Spec{Shape{2, 5, 6}}).text == "");
  CHECK(gradcheck<Conv2d<2, 4, KernelSize<3>, Padding<1>>>(Spec{Shape{2, 4, 5}}).text == "");
  CHECK(gradcheck<Conv2d<4, 6, KernelSize<3, 2>, Stride<1, 2>, Padding<2>, Dilation<2>, Groups<2>, NoBias>>(Spec{Shape{4, 5, 6}}).text == "");
  CHECK(gradcheck<LearnedPositions<6, 4>>(Spec{Shape{5, 4}}).text == "");
  CHECK(gradcheck<Rotary<4, Heads<4>, KeyValueHeads<2>>>(Spec{Shape{3, 32}}).text == "");
  CHECK(gradcheck<MaxPool2d<KernelSize<3>, Stride<2>, Padding<1>>>(Spec{Shape{2, 5, 6}}).text == "");
  CHECK(gradcheck<AvgPool2d<KernelSize<3, 2>, Stride<2, 1>, Padding<1>>>(Spec{Shape{2, 5, 6}}).text == "");
  CHECK(gradcheck<BatchNorm2d<3>>(Spec{Shape{3, 2, 5}}).text == "");
  CHECK(gradcheck<BatchNorm2d<3, Synchronised>>(Spec{Shape{3, 2, 5}}).text == "");
  CHECK(gradcheck<BatchNorm2d<2, Epsilon<2>, Momentum<1, 2>>>(Spec{Shape{2, 1, 1}}).text == "");
  CHECK(gradcheck<SelfAttention<Heads<2>, Causal>>(Spec{Shape{5, 18}}).text == "");
  CHECK(gradcheck<SelfAttention<Heads<4>, KeyValueHeads<2>>>(Spec{Shape{3, 8}}).text == "");
  CHECK(gradcheck<SelfAttention<Heads<2>, Causal, Dropout<1, 3>>>(Spec{Shape{5, 18}}).text == "");
  CHECK(gradcheck<Dropout<1, 4>>().text == "");
}

TEST_CASE("what a forward leaves for its backward is read there, and a forward without room for it gives the same output") {
  CHECK(gradcheck<Level<Leaves::the_mean>>().text == "");
  CHECK(gradcheck<Level<Leaves::one_more>>().text ==
        "[heddle.G11] Level: forward writes beside its statistics, in memory of others. Fix: write as many elements as describe gives it, for each "
        "row or in all.");
  CHECK(gradcheck<Level<Leaves::another>>().text.find("[heddle.G11] Level: backward gives") == 0);
  CHECK(gradcheck<Level<Leaves::it_or_zeros>>().text ==
        "[heddle.G11] Level: forward gives another output where `statistics` is null, as it is where no backward follows. Fix: leave out the "
        "statistics alone.");
}

TEST_CASE("a user's own layer passes, elementwise or with a parameter") {
  CHECK(gradcheck<Swish>().ok());
  CHECK(gradcheck<Scale<true>>().text == "");
}

TEST_CASE("the worst difference is told of a layer that passes too") {
  for (const GradientCheck& found : {gradcheck<GELU>(), gradcheck<Linear<5, 3>>(), gradcheck<Swish>()}) {
    CHECK(found.ok());
    CHECK(found.worst > 0);
    CHECK(found.worst < 5e-3);
  }
}

TEST_CASE("a layer that does not take the shape it is tried on without a Spec asks for one") {
  CHECK(gradcheck<Narrow>().text ==
        "[heddle.G24] gradcheck<Narrow>() does not know the shape that the layer takes, and it does not take (6). Fix: name it, as in "
        "gradcheck<L>(Spec{Shape{features}}), or add static constexpr Spec takes() to the layer.");
  CHECK(gradcheck<Narrow>(Spec{Shape{4}}).text == "");
  CHECK(gradcheck<Narrow>(Spec{Shape{5}}).text == "[heddle.G01] Narrow takes 4 features. Fix: give it 4.");
}

TEST_CASE("a layer whose description contradicts itself is refused in the words of its rule, not run") {
  const char* const words =
      "[heddle.G23] Swish is two functions of one float each, but makes (1) of (6). Fix: give the shape that it takes, or write a kernel instead of "
      "forward and backward.";
  CHECK(gradcheck<Half>().text == words);
  CHECK(gradcheck<Half>(Spec{Shape{6}}).text == words);
}

TEST_CASE("a kernel that writes beside its tensors, or reads there, is found before it destroys what is not its own") {
  const auto said = [](const GradientCheck& found, const char* words) { return found.text.find(words) != std::string::npos; };
  CHECK(said(gradcheck<OfEight<Beyond::output>>(Spec{Shape{6}}), "[heddle.G11] Scale: forward writes beside its output, in memory of others."));
  CHECK(said(gradcheck<OfEight<Beyond::input_gradient>>(Spec{Shape{6}}), "Scale: backward writes beside the gradient of its input, in memory of"));
  CHECK(said(gradcheck<OfEight<Beyond::weight_gradient>>(Spec{Shape{6}}), "Scale: backward writes beside the gradient of a parameter, in memory of"));
  CHECK(said(gradcheck<OfEight<Beyond::reading>>(Spec{Shape{6}}), "[heddle.G11] Scale: backward gives "));
}

TEST_CASE("a wrong backward is found") {
  const GradientCheck found = gradcheck<WrongSwish>();
  CHECK_FALSE(found);
  CHECK(found.text.find("[heddle.G11] Swish: backward gives") == 0);
}

TEST_CASE("a backward that reads what describe does not save is found") { CHECK(gradcheck<SavesTheOther>().text.find("[heddle.G11]") == 0); }

TEST_CASE("a layer that needs nothing saved passes, one that does and says nothing is found") {
  CHECK(gradcheck<Negate>().text == "");
  CHECK(gradcheck<SavesNothing>().text.find("[heddle.G11] SavesNothing: backward gives") == 0);
}

TEST_CASE("a kernel is handed null wherever a Trainer may: for what is not saved, and for a gradient that nobody needs") {
  handed = {};
  CHECK(gradcheck<Watched>().text == "");
  CHECK(handed.input_gradient);
  CHECK(handed.no_input_gradient);
  CHECK(handed.input);
  CHECK(handed.no_input);
  CHECK(gradcheck<Halves>().text ==
        "[heddle.G11] Scale: backward gives another gradient of parameter 'weight' where `input_gradient` is null, as it is in the first layer of a "
        "model. Fix: leave out the gradient of the input alone.");
}

TEST_CASE("a layer whose rows mix is found, unless it says that it normalises the rows of a grain together") {
  CHECK(gradcheck<CentersRows>().text.find("[heddle.G12] CentersRows: its") == 0);
  CHECK(gradcheck<CentersGrain>().text == "");
}

TEST_CASE("of grains gradients add up, and so do sums of what is tracked, which no gradient changes") {
  const auto said = []<Sums What>(std::integral_constant<Sums, What>) { return gradcheck<Norm<What>>(Spec{Shape{3, 2, 2}}).text; };
  CHECK(said(std::integral_constant<Sums, Sums::right>{}) == "");
  CHECK(said(std::integral_constant<Sums, Sums::overwritten>{}) ==
        "[heddle.G12] BatchNorm2d<3>: its parameter gradients do not add up over grains. Fix: honour `add` in backward.");
  CHECK(said(std::integral_constant<Sums, Sums::of_gradients>{}) ==
        "[heddle.G12] BatchNorm2d<3>: its sums of what it tracks depend on the gradient of its output. Fix: make them of what the forward saw.");
}

TEST_CASE("a backward that overwrites where it must add is found") {
  const std::string text = gradcheck<Scale<false>>().text;
  CHECK(text.find("[heddle.G12] Scale: its parameter gradients do not add up") == 0);
}

TEST_CASE("a kernel that says it has a backward in two parts is asked for each part; other bits than in one are found") {
  static_assert(HasBackwardInParts<Linear<5, 3>, EigenCompute> && HasBackwardInParts<InParts<true>, EigenCompute>);
  static_assert(!HasBackwardInParts<Scale<true>, EigenCompute>);
  CHECK(gradcheck<InParts<true>>().text == "");
  CHECK(gradcheck<Squared<true>>().text == "");
  CHECK(gradcheck<Bent<true>>().text == "");
  CHECK(gradcheck<Bent<false>>().text.find("[heddle.G14]") == 0);     // input_part_reads_saved = false, but it reads
  CHECK(gradcheck<Squared<false>>().text.find("[heddle.G14]") == 0);  // weights_read = false, but it reads
  CHECK(gradcheck<InParts<false>>().text.find("[heddle.G14] Scale: its backward in two parts gives other bits than in one.") == 0);
}

TEST_CASE("a shape that the layer does not take is said, not run") { CHECK(gradcheck<Linear<5, 3>>(Spec{Shape{4}}).text.find("[heddle.G01]") == 0); }

TEST_CASE("what joins branches is checked with both of its values") {
  CHECK(gradcheck<Concat>(Spec{Shape{6}}, Spec{Shape{4}}).text == "");
  CHECK(gradcheck<Concat>(Spec{Shape{6, 3}}, Spec{Shape{6, 5}}).text == "");
  CHECK(gradcheck<ConcatAlong<0>>(Spec{Shape{2, 6}}, Spec{Shape{3, 6}}).text == "");
  CHECK(gradcheck<ConcatAlong<1>>(Spec{Shape{2, 6, 3}}, Spec{Shape{2, 1, 3}}).text == "");
  CHECK(gradcheck<own::Multiply>(Spec{Shape{6}}, Spec{Shape{6}}).text == "");
}

TEST_CASE(
    "a join is refused whose gradient is that of the other value, that does not say what it saves, that mixes rows, or whose parts do not fit") {
  const auto finds = [](const std::string& text, std::string_view words) {
    CAPTURE(text);
    return text.find(words) != std::string::npos;
  };
  const Spec six{Shape{6}};
  CHECK(finds(gradcheck<Crossed>(six, six).text, "[heddle.G11] Multiply: backward gives "));
  CHECK(finds(gradcheck<Forgetful>(six, six).text, "[heddle.G11] Multiply: backward gives "));
  CHECK(finds(gradcheck<SeesOneRow>(six, six).text, "[heddle.G12] Multiply: its "));
  CHECK(finds(gradcheck<Concat>(six, Spec{Shape{2, 3}}).text, "[heddle.G02] branches '0' and '1' of a gradcheck give (6) and (2, 3)"));
  CHECK(finds(gradcheck<Beside>(six, six).text, "[heddle.G11] Multiply: backward writes beside the gradient of its input"));
}

TEST_CASE("a gradient of the row of padding is refused, though finite differences have it") {
  const std::string text = gradcheck<ForgetsPadding>(Spec{Shape{4}}).text;
  CHECK(text.find("[heddle.G11] Embedding<5, 3, PaddingIndex<2>>: backward gives ") == 0);
  CHECK(text.find("for element 6 of the gradient of its parameter 'weight', which is of the row of padding. Fix: give that row none.") !=
        std::string::npos);
}
