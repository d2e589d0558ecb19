// SPDX-License-Identifier: MIT
// Room: run. Tests a layer against what it declares: gradients by finite differences, what it saves, a backward in parts, rows that do not mix.
// Sees: graph, seams/concepts, core/random.  Does not see: policies, threads, any backend by name.
// In: a layer and a compute backend as types.  Out: GradientCheck, one sentence if something is wrong.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "heddle/core/finite.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/random.hpp"
#include "heddle/graph/join.hpp"
#include "heddle/graph/leaf.hpp"
#include "heddle/graph/leaf_rules.hpp"
#include "heddle/run/kernel_table.hpp"
#include "heddle/run/leaf_under_test.hpp"
#include "heddle/run/phases_under_test.hpp"
#include "heddle/seams/concepts.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// What gradcheck found; text is empty if the layer keeps its word. If the largest gradient of a tensor is 4 and one is off by 0.01, worst is 0.0025.
struct GradientCheck {
  std::string text;
  double worst = 0;  ///< largest difference, relative to the largest gradient of its tensor
  [[nodiscard]] bool ok() const { return text.empty(); }
  explicit operator bool() const { return ok(); }
};

/// d objective / d x by four points: error h^4, so h = 1/64 leaves about 1e-7 of truncation and eps |objective| / h of rounding.
template <class Test> [[nodiscard]] double numeric_gradient(Test& test, float& x, float h = 1.0F / 64) {
  const float x0 = x;
  const auto at = [&](float value) {
    x = value;
    return test.objective();
  };
  const double near = at(x0 + h) - at(x0 - h);
  const double far = at(x0 + 2 * h) - at(x0 - 2 * h);
  x = x0;
  return (8 * near - far) / (12 * static_cast<double>(h));
}

/// Compares up to 64 elements, evenly spaced, with finite differences; the tolerance is 5e-3 of the largest gradient, at least of 1:
/// float rounding of an objective of some 100 terms, divided by h, is about 1e-3. A layer may bend within h, as the largest of some numbers does
/// where two are nearly equal: a smaller h has another slope then. That one counts, with the rounding that it has.
///
/// The row of padding of a table has no gradient, whatever the differences are.
template <class Test>
void compare_gradient(Test& test, const std::string& what, Floats& variable, const Floats& gradient, GradientCheck& check,
                      const Parameter* of = nullptr) {
  double scale = 1;
  for (const float g : gradient) scale = std::max(scale, std::fabs(static_cast<double>(g)));
  const std::size_t stride = std::max<std::size_t>(1, variable.size() / 64);
  for (std::size_t i = 0; i < variable.size() && check.ok(); i += stride) {
    const auto wrong = [&](const std::string& words) {
      check.text = sentence_of(Code{'G', 11}, std::string{test.leaf().spelled.view()} + ": backward gives " + std::to_string(gradient[i]) +
                                                  " for element " + std::to_string(i) + " of the gradient of its " + what + words);
    };
    if (of != nullptr && of->in_padding_row(static_cast<std::int64_t>(i))) {
      if (gradient[i] != 0) wrong(", which is of the row of padding. Fix: give that row none.");
      continue;
    }
    float h = 1.0F / 64;
    double numeric = numeric_gradient(test, variable[i], h), tolerance = 5e-3;
    const auto off = [&](double from) { return std::fabs(numeric - from) / scale; };
    while (off(static_cast<double>(gradient[i])) > tolerance && h > 1.0F / 4096) {
      const double nearer = numeric_gradient(test, variable[i], h /= 4);
      if (off(nearer) <= tolerance) break;  // no bend: the gradient is wrong
      numeric = nearer;
      tolerance *= 4;
    }
    const double difference = off(static_cast<double>(gradient[i]));
    check.worst = std::max(check.worst, difference);
    if (!(is_finite(difference) && difference <= tolerance))
      wrong(", finite differences give " + std::to_string(numeric) + ". Fix: correct backward, or what describe says it saves.");
  }
}

/// Rows must not mix: a rank that sees half of them must give the same outputs, and gradients of parameters that add up.
HEDDLE_COLD inline void compare_split_rows(AnyLeafUnderTest& test, std::int64_t rows, GradientCheck& check) {
  const auto whole_output = test.output;
  const auto whole_input_gradient = test.input_gradient;
  const auto whole_second = test.second_gradient;
  const auto whole = test.gradients;
  const std::int64_t front = rows / 2;
  test.forward(0, front);
  test.forward(front, rows - front);
  test.backward(0, front, false);
  test.backward(front, rows - front, true);
  std::string wrong;
  if (differs(whole_output, test.output)) wrong = "output depends on";
  if (differs(whole_input_gradient, test.input_gradient)) wrong = "input gradient depends on";
  if (differs(whole_second, test.second_gradient)) wrong = "gradient of its second input depends on";
  for (std::size_t p = 0; p < whole.size(); ++p)
    if (differs(whole[p], test.gradients[p])) wrong = "parameter gradients do not add up over";
  if (!wrong.empty() && check.ok())
    check.text = sentence_of(
        Code{'G', 12},
        std::string{test.leaf().spelled.view()} + ": its " + wrong +
            " the other rows of the batch, so a split batch would change it. Fix: let each row stand alone, and honour `add` in backward.");
}

/// Rows that are normalised together may mix, but grains must not: gradients of parameters of two grains add up, and so do the sums for what is
/// tracked, which no gradient of the output changes.
HEDDLE_COLD inline void compare_grains(AnyLeafUnderTest& test, std::int64_t rows, GradientCheck& check) {
  const std::int64_t front = rows / 2;
  test.forward(0, front);
  test.forward(front, rows - front);
  test.backward(front, rows - front, false);
  auto sum = test.gradients;
  test.backward(0, front, false);
  for (std::size_t p = 0; p < sum.size(); ++p)
    for (std::size_t i = 0; i < sum[p].size(); ++i) sum[p][i] += test.gradients[p][i];
  test.backward(front, rows - front, true);
  const auto added = test.gradients;
  std::string wrong;
  for (std::size_t p = 0; p < sum.size(); ++p)
    if (differs(sum[p], added[p])) wrong = "parameter gradients do not add up over grains. Fix: honour `add` in backward.";
  for (float& g : test.output_gradient) g *= -2;
  test.backward(0, front, false);
  test.backward(front, rows - front, true);
  for (float& g : test.output_gradient) g /= -2;
  for (std::size_t p = 0; p < sum.size(); ++p)
    if (test.leaf().parameters[p].tracked() && differs(test.gradients[p], added[p]))
      wrong = "sums of what it tracks depend on the gradient of its output. Fix: make them of what the forward saw.";
  if (!wrong.empty() && check.ok()) check.text = sentence_of(Code{'G', 12}, std::string{test.leaf().spelled.view()} + ": its " + wrong);
  test.forward(0, rows);
  test.backward(0, rows, false);
}

/// Phases over two grains, or over one and one without rows, give what one call gives for all rows.
template <class L, class Compute> void compare_phases(LeafUnderTest<L, Compute>& test, std::int64_t rows, GradientCheck& check) {
  test.forward(0, rows);
  test.backward(0, rows, false);
  for (const std::int64_t first_rows : {rows / 2, std::int64_t{0}}) {
    if (!check.ok()) return;
    if (const std::string wrong = PhasesUnderTest<L, Compute>{test, rows, first_rows}.run(); !wrong.empty())
      check.text = sentence_of(Code{'G', 12}, std::string{test.leaf().spelled.view()} + ": its " + wrong +
                                                  ". Fix: let each phase tell sums of its own rows, zeros if it has none, and make the rest of "
                                                  "what all told and of context.rows_together.");
  }
}

/// A kernel that says backward_in_parts gives, asked for one gradient at a time, the bits of both at once.
HEDDLE_COLD inline void compare_parts(AnyLeafUnderTest& test, std::int64_t rows, GradientCheck& check) {
  const auto forget = [](Floats& values) { std::fill(values.begin(), values.end(), std::numeric_limits<float>::quiet_NaN()); };
  const auto same = [](const Floats& a, const Floats& b) { return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0; };
  test.backward(0, rows, false);
  const auto whole_input_gradient = test.input_gradient;
  const auto whole = test.gradients;
  if (test.has_input_gradient()) forget(test.input_gradient);
  for (Floats& gradient : test.gradients) forget(gradient);
  test.backward(0, rows, false, AnyLeafUnderTest::Part::input);
  test.backward(0, rows, false, AnyLeafUnderTest::Part::parameters);
  bool equal = same(whole_input_gradient, test.input_gradient);
  for (std::size_t p = 0; p < whole.size(); ++p) equal = equal && same(whole[p], test.gradients[p]);
  if (!equal && check.ok())
    check.text = sentence_of(
        Code{'G', 14},
        std::string{test.leaf().spelled.view()} +
            ": its backward in two parts gives other bits than in one. Fix: leave out only the gradient whose pointer is null, let describe say "
            "weights_read if the other is made of parameters, or do not say backward_in_parts.");
}

/// A Trainer hands null over for what is not saved and for a gradient that nobody needs, as that of the input of the first layer: what a kernel makes
/// of the rest stays the same. One that reads through such a pointer ends the program here, in a test, and not in a training run.
HEDDLE_COLD inline void compare_absent(AnyLeafUnderTest& test, std::int64_t rows, GradientCheck& check) {
  const auto input_gradient = test.input_gradient;
  const auto second_gradient = test.second_gradient;
  const auto gradients = test.gradients;
  const auto broken = [&](const std::string& what) {
    check.text = sentence_of(Code{'G', 11}, std::string{test.leaf().spelled.view()} + ": backward gives " + what);
  };
  test.absent = true;
  test.backward(0, rows, false);
  if (differs(input_gradient, test.input_gradient) || differs(second_gradient, test.second_gradient))
    broken("another gradient of its input where what describe does not save is null. Fix: correct backward, or what describe says it saves.");
  const auto output = test.output;
  test.forward(0, rows);
  if (differs(output, test.output) && check.ok())
    check.text = sentence_of(Code{'G', 11}, std::string{test.leaf().spelled.view()} +
                                                ": forward gives another output where `statistics` is null, as it is where no backward follows. Fix: "
                                                "leave out the statistics alone.");
  if (gradients.empty() || !check.ok()) return;
  test.backward(0, rows, false, AnyLeafUnderTest::Part::all_but_input);
  for (std::size_t p = 0; p < gradients.size() && check.ok(); ++p)
    if (differs(gradients[p], test.gradients[p]))
      broken("another gradient of parameter '" + std::string{test.leaf().parameters[p].name.view()} +
             "' where `input_gradient` is null, as it is in the first layer of a model. Fix: leave out the gradient of the input alone.");
}

/// What gradcheck asks of a layer besides its kernels. Of Linear on EigenCompute in_parts is true.
struct GradcheckOfLayer {
  bool in_parts;                                                                 ///< whether its kernel has a backward in parts
  void (*compare_phases)(AnyLeafUnderTest&, std::int64_t rows, GradientCheck&);  ///< of the same layer
};
/// The same for all layers: compiled once.
HEDDLE_COLD inline GradientCheck gradcheck_test(AnyLeafUnderTest& test, std::int64_t rows, const GradcheckOfLayer& layer) {
  GradientCheck check;
  const Leaf& leaf = test.leaf();
  test.forward(0, rows);
  test.backward(0, rows, false);
  if (test.beside != nullptr) {
    check.text = sentence_of(Code{'G', 11}, std::string{leaf.spelled.view()} + ": " + test.beside +
                                                ", in memory of others. Fix: write as many elements as describe gives it, for each row or in all.");
    return check;
  }
  const auto input_gradient = test.input_gradient;
  const auto second_gradient = test.second_gradient;
  const auto gradients = test.gradients;
  compare_gradient(test, "second input", test.second, second_gradient, check);
  if (test.has_input_gradient()) compare_gradient(test, "input", test.input, input_gradient, check);  // whole numbers have no neighbours
  for (std::size_t p = 0; p < gradients.size(); ++p)
    if (const Parameter& parameter = leaf.parameters[p]; !parameter.tracked())  // else no derivative: a step makes its value of it
      compare_gradient(test, "parameter '" + std::string{parameter.name.view()} + "'", test.parameters[p], gradients[p], check, &parameter);
  test.forward(0, rows);
  if (layer.in_parts) compare_parts(test, rows, check);
  test.backward(0, rows, false);
  leaf.rows_together > 0 ? compare_grains(test, rows, check) : compare_split_rows(test, rows, check);
  if (leaf.has_phases()) layer.compare_phases(test, rows, check);
  if (check.ok()) compare_absent(test, rows, check);
  if (layer.in_parts && check.ok()) compare_parts(test, rows, check);
  return check;
}
/// Checks a leaf that is described, unless the description is at fault.
template <class L, class Compute> [[nodiscard]] GradientCheck gradcheck_leaf(const Leaf& leaf, const Diagnosis& fault, std::int64_t rows, Seed seed) {
  if (!fault.ok()) return {std::string{fault.sentence().view()}};
  LeafUnderTest<L, Compute> test{leaf, rows, seed};
  return gradcheck_test(test, rows, {HasBackwardInParts<L, Compute>, [](AnyLeafUnderTest& of_layer, std::int64_t all, GradientCheck& check) {
                                       compare_phases(static_cast<LeafUnderTest<L, Compute>&>(of_layer), all, check);
                                     }});
}

/// Checks one layer on `rows` rows of the given shape.
///
/// Errors  none; G01 to G23 what describe says cannot be; G11 a wrong gradient, G12 rows that mix, G14 two parts that are not the whole, as the text
///         of the result
/// Tested  run/gradcheck_test
template <class L, class Compute> [[nodiscard]] GradientCheck gradcheck_on(const Spec& in, std::int64_t rows = 4, Seed seed = Seed{1}) {
  const Leaf leaf = L::describe(in);
  return gradcheck_leaf<L, Compute>(leaf, fault_of_layer<L>(leaf, as_input_of(leaf, in)), rows, seed);
}
/// The same of what makes one value of two: the gradients of both.
template <class Op, class Compute>
[[nodiscard]] GradientCheck gradcheck_on(const Spec& first, const Spec& second, std::int64_t rows = 4, Seed seed = Seed{1}) {
  const Leaf leaf = Op::describe(first, second);
  const bool fits = Op::wanted(first, second) == second;
  return gradcheck_leaf<Op, Compute>(leaf, fits ? check_joined(leaf, first, second) : refuse_join<Op>(first, second, {1, "", ""}, "of a gradcheck"),
                                     rows, seed);
}
/// The shape that a layer takes, or 6 features where it takes any: 2 and 3 ranks divide them.
template <class L> [[nodiscard]] constexpr Spec example_input() {
  if constexpr (SaysWhatItTakes<L>)
    return L::takes();
  else
    return Spec{Shape{6}};
}

/// G24: without a Spec a layer is tried on its example_input, which it may not take. What is wrong with any input is for gradcheck_on to say.
template <class L> [[nodiscard]] constexpr Diagnosis example_input_fits() {
  const Spec tried = example_input<L>();
  const Leaf leaf = L::describe(tried);
  const Diagnosis found = fault_of_layer<L>(leaf, as_input_of(leaf, tried));
  const bool of_the_input = !leaf.fault.ok() || found.code == Code{'G', 1} || found.code == Code{'G', 20};
  if (found.ok() || !of_the_input) return {};
  return Diagnosis{Code{'G', 24}, "gradcheck<"} << leaf.spelled.view() << ">() does not know the shape that the layer takes, and it does not take "
                                                << tried.shape
                                                << ". Fix: name it, as in gradcheck<L>(Spec{Shape{features}}), or add static constexpr "
                                                << "Spec takes() to the layer.";
}

}  // namespace heddle::run_room
