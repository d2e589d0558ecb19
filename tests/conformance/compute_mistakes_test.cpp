// SPDX-License-Identifier: MIT
// The suite must refuse what it is there for: the kernels of Eigen with one mistake each.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "conformance/compute.hpp"
#include "conformance/layers.hpp"
#include "heddle/backend/cpu.hpp"

using namespace heddle;

namespace {

enum class Mistake {
  none,
  leaves_an_element,
  writes_beyond,
  reads_the_old_output,
  loses_a_bit_of_precision,
  forgets_late_rows,
  forgets_leading_dimensions,
  hides_a_nan,
  statistics_change_the_output,
  statistics_of_others,
  overwrites_always,
  adds_always,
  leaves_gradients_without_rows,
  part_of_its_own,
  writes_both_parts,
  wrong_in_place,
  wrong_gradient,
  second_for_first,
  wrong_weight_gradient,
};

/// The kernel of Eigen with a mistake.
template <class L, Mistake What> struct Mistaken {
  using Right = KernelFor<L, EigenCompute>;
  static constexpr bool backward_in_parts = HasBackwardInParts<L, EigenCompute>;

  static void forward(ForwardCall call) {
    const std::int64_t outputs = call.rows * call.leaf->out.elements();
    const float before = outputs > 0 ? call.output[0] : 0;
    const bool in_place = call.input == call.output;
    const bool keeps = call.statistics != nullptr;
    if (What == Mistake::forgets_late_rows && call.rows > 8) call.rows = 8;
    Right::forward(call);
    if (outputs == 0) return;
    if (What == Mistake::leaves_an_element && outputs > 16) call.output[outputs - 1] = 0;
    if (What == Mistake::writes_beyond) call.output[outputs] = 1;
    if (What == Mistake::reads_the_old_output) call.output[0] += 0 * before;
    if (What == Mistake::loses_a_bit_of_precision) call.output[0] *= 1.001F;
    if (What == Mistake::hides_a_nan)
      for (std::int64_t i = 0; i < outputs; ++i)
        if (std::isnan(call.output[i])) call.output[i] = 0;
    if (What == Mistake::forgets_leading_dimensions && call.leaf->in.shape.dimensions > 1) call.output[call.leaf->out.elements() - 1] = 0.123F;
    if (What == Mistake::statistics_change_the_output && !keeps) call.output[0] += 1;
    if (What == Mistake::statistics_of_others && keeps) call.statistics[0] += 1;
    if (What == Mistake::wrong_in_place && in_place) call.output[0] += 1;
  }
  static void backward(BackwardCall call) {
    const Leaf& leaf = *call.leaf;
    if (What == Mistake::overwrites_always) call.add = false;
    if (What == Mistake::adds_always) call.add = true;
    if (What == Mistake::leaves_gradients_without_rows && call.rows == 0) return;
    const bool alone = call.parameter_gradients == nullptr;
    float* const kept = call.input_gradient;
    if (What == Mistake::second_for_first && leaf.operands == 2 && leaf.in == leaf.other) call.operand = 0;
    Right::backward(call);
    if (call.rows == 0) return;
    if (What == Mistake::part_of_its_own && alone && kept != nullptr) kept[0] += 1e-3F;
    if (What == Mistake::writes_both_parts && kept == nullptr && call.parameter_gradients != nullptr && leaf.parameter_count > 0)
      call.parameter_gradients[0][leaf.parameters[0].shape.elements()] = 1;
    if (What == Mistake::wrong_gradient && kept != nullptr) kept[call.rows * leaf.operand(call.operand).elements() - 1] += 0.01F;
    if (What == Mistake::wrong_weight_gradient && call.parameter_gradients != nullptr && leaf.parameter_count > 0)
      call.parameter_gradients[leaf.parameter_count - 1][0] *= 1.001F;
  }
};
template <class Loss, Mistake What> struct MistakenLoss {
  static float sum(const LossCall& call) {
    const float sum = LossKernelFor<Loss, EigenCompute>::sum(call);
    if (call.rows == 0) return sum;
    if (What == Mistake::wrong_gradient && call.gradient != nullptr) call.gradient[0] += 1e-4F;
    if (What == Mistake::wrong_in_place && call.gradient == call.output) call.gradient[0] += 1e-4F;
    if (What == Mistake::hides_a_nan && std::isnan(sum)) return 0;
    if (What == Mistake::part_of_its_own && call.parts > 1) return sum + static_cast<float>(call.part);
    return What == Mistake::loses_a_bit_of_precision ? sum * 1.001F : sum;
  }
  static void terms(const LossCall& call) requires HasTerms<Loss, EigenCompute> { LossKernelFor<Loss, EigenCompute>::terms(call); }
};
template <class O, Mistake What> struct MistakenOptimizer {
  static void step(const typename O::Constants& c, std::int64_t n, float* p, const float* g, float* const* states) {
    OptimizerKernelFor<O, EigenCompute>::step(c, n, p, g, states);
    if (What == Mistake::leaves_an_element && n > 16) p[n - 1] += g[n - 1];
    if (What == Mistake::forgets_late_rows && n > 48) p[16] = 0;
    if (What == Mistake::writes_beyond && n == 16) p[3] += 1e-4F;
    if (What == Mistake::loses_a_bit_of_precision) p[0] *= 1.001F;
  }
};
template <Mistake What> struct MistakenCompute : EigenCompute {
  template <class L> using KernelOf = Mistaken<L, What>;
  template <class Loss> using LossKernelOf = MistakenLoss<Loss, What>;
  template <class O> using OptimizerKernelOf = MistakenOptimizer<O, What>;
  static void add(float* target, const float* a, const float* b, std::int64_t n) {
    EigenCompute::add(target, a, b, n);
    if (What == Mistake::writes_beyond && n == 17) target[n] = 0;
    if (What == Mistake::wrong_in_place && target == b && n > 0) target[0] += 1;
  }
};

template <class L, Mistake What> std::string said() { return conformance::broken_law_of_layer<L, MistakenCompute<What>>(40); }
bool tells(const std::string& sentence, const std::string& words) {
  CAPTURE(sentence);
  CAPTURE(words);
  const bool told = sentence.find(words) != std::string::npos;
  CHECK(told);
  return told;
}

}  // namespace

TEST_CASE("without a mistake nothing is said") {
  CHECK(said<Linear<4, 3>, Mistake::none>() == "");
  CHECK(said<ReLU, Mistake::none>() == "");
  CHECK(conformance::broken_law_of_loss<CrossEntropy, MistakenCompute<Mistake::none>>(40) == "");
}

TEST_CASE("what joins two values and hands one of them a gradient that is not its own is refused") {
  CHECK(said<Concat, Mistake::none>() == "");
  tells(said<Concat, Mistake::wrong_gradient>(), "of the gradient of the input is");
  tells(said<Concat, Mistake::second_for_first>(), "of the gradient of the second input is");
  tells(said<ConcatAlong<1>, Mistake::leaves_an_element>(), "of the output is 0 and should be");
}

TEST_CASE("what normalises rows together is refused that leaves rows out, other statistics, or other sums of what it tracks") {
  CHECK(said<BatchNorm2d<3>, Mistake::none>() == "");
  tells(said<BatchNorm2d<3>, Mistake::forgets_late_rows>(), "changes the forward");
  tells(said<BatchNorm2d<3>, Mistake::statistics_of_others>(), "element 0 of the statistics");
  tells(said<BatchNorm2d<3>, Mistake::wrong_weight_gradient>(), "of the gradient of 'running_var' is");
  tells(said<BatchNorm2d<3>, Mistake::adds_always>(), "what was in the gradients before changes a backward that overwrites");
  tells(said<BatchNorm2d<3>, Mistake::leaves_gradients_without_rows>(), "changes a backward that overwrites");
}

TEST_CASE("a forward with a mistake is refused, with the layer, its extents and what is wrong") {
  tells(said<Linear<4, 3>, Mistake::leaves_an_element>(), "of the output is 0 and should be");
  tells(said<Tanh, Mistake::writes_beyond>(), "forward writes beside its output");
  tells(said<GELU, Mistake::reads_the_old_output>(), "what was in the output before changes the forward");
  tells(said<LayerNorm<4>, Mistake::loses_a_bit_of_precision>(), "element 0 of the output");
  tells(said<RMSNorm<4>, Mistake::forgets_late_rows>(), "changes the forward");
  tells(said<Linear<4, 3>, Mistake::forgets_leading_dimensions>(), "of the output is 0.123");
  tells(said<Linear<4, 3>, Mistake::hides_a_nan>(), "is 0 and should be nan");
  tells(said<LayerNorm<4>, Mistake::statistics_change_the_output>(), "null for the statistics changes the output");
  tells(said<RMSNorm<4>, Mistake::statistics_of_others>(), "element 0 of the statistics");
  tells(said<Sigmoid, Mistake::wrong_in_place>(), "the forward in place has other bits");
}

TEST_CASE("a backward with a mistake is refused") {
  tells(said<Linear<4, 3>, Mistake::overwrites_always>(), "where gradients are added");
  tells(said<LayerNorm<4>, Mistake::adds_always>(), "what was in the gradients before changes a backward that overwrites");
  tells(said<Embedding<5, 3>, Mistake::leaves_gradients_without_rows>(), "what was in the gradients before");
  tells(said<Linear<4, 3>, Mistake::part_of_its_own>(), "the gradient of the input alone has other bits");
  tells(said<Linear<4, 3, NoBias>, Mistake::writes_both_parts>(), "backward writes beside the gradient of a parameter");
  tells(said<Dropout<1, 10>, Mistake::wrong_gradient>(), "of the gradient of the input");
  tells(said<LayerNorm<4>, Mistake::wrong_weight_gradient>(), "element 0 of the gradient of 'bias'");
  tells(said<Flatten, Mistake::wrong_gradient>(), "of the gradient of the input");
}

TEST_CASE("a loss, an optimizer or a sum with a mistake is refused") {
  using namespace conformance;
  tells(broken_law_of_loss<CrossEntropy, MistakenCompute<Mistake::wrong_gradient>>(40), "element 0 of the gradient");
  tells(broken_law_of_loss<MeanSquaredError, MistakenCompute<Mistake::loses_a_bit_of_precision>>(40), "element 0 of the sum");
  tells(broken_law_of_loss<CrossEntropy, MistakenCompute<Mistake::hides_a_nan>>(40), "does not make the loss NaN");
  tells(broken_law_of_loss<MeanSquaredError, MistakenCompute<Mistake::wrong_in_place>>(40), "in the place of the output");
  tells(broken_law_of_loss<CrossEntropy, MistakenCompute<Mistake::part_of_its_own>>(40), "two parts make sums of other bits");
  tells(broken_law_of_optimizer<Adam, MistakenCompute<Mistake::leaves_an_element>>(), "Adam of 48 elements: element 47");
  tells(broken_law_of_optimizer<SGD, MistakenCompute<Mistake::forgets_late_rows>>(), "SGD of 160 elements: element 16");
  tells(broken_law_of_optimizer<MomentumSGD, MistakenCompute<Mistake::writes_beyond>>(), "MomentumSGD");
  tells(broken_law_of_arrays<MistakenCompute<Mistake::writes_beyond>>(), "a sum of 17 elements");
  tells(broken_law_of_arrays<MistakenCompute<Mistake::wrong_in_place>>(), "a sum in place of 1 elements");
}
