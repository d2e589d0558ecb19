// SPDX-License-Identifier: MIT
// Room: run. Tests what a layer says about splitting it: parts run apart and put together again must be the whole layer.
// Sees: graph, run/gradcheck, run/slices.  Does not see: policies, threads, any backend by name.
// In: a layer and a compute backend as types, a number of ranks.  Out: one sentence if a signature does not hold.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "heddle/graph/local_leaf.hpp"
#include "heddle/run/gradcheck.hpp"
#include "heddle/run/slices.hpp"

namespace heddle::run_room {

/// `rows` tensors of a shape, each cut as one rank holds it; what is Partial is whole on rank 0 and zero elsewhere.
[[nodiscard]] inline Floats part_of(const Floats& whole, const Shape& shape, std::int64_t rows, Laid how, int ranks, int rank) {
  if (how.partial() && rank > 0) return Floats(whole.size());
  if (!how.sharded()) return whole;
  Floats part(whole.size() / static_cast<std::size_t>(ranks));
  const std::int64_t size = shape.elements();
  for (std::int64_t r = 0; r < rows; ++r)
    each_run(shape, how, ranks, rank, [&](std::int64_t here, std::int64_t there, std::int64_t count) {
      std::copy_n(whole.begin() + r * size + there, count, part.begin() + r * (size / ranks) + here);
    });
  return part;
}

/// What the ranks gave, put together as the signature says. `equal` becomes false if copies that should be whole differ.
[[nodiscard]] inline Floats whole_of(const std::vector<Floats>& parts, const Shape& shape, std::int64_t rows, Laid how, bool& equal) {
  const int ranks = static_cast<int>(parts.size());
  if (!how.sharded()) {
    Floats whole = parts[0];
    for (int rank = 1; rank < ranks; ++rank) {
      const Floats& part = parts[static_cast<std::size_t>(rank)];
      if (how.replicated()) equal = equal && part == parts[0];
      for (std::size_t i = 0; how.partial() && i < whole.size(); ++i) whole[i] += part[i];
    }
    return whole;
  }
  Floats whole(static_cast<std::size_t>(rows * shape.elements()));
  const std::int64_t size = shape.elements();
  for (int rank = 0; rank < ranks; ++rank)
    for (std::int64_t r = 0; r < rows; ++r)
      each_run(shape, how, ranks, rank, [&](std::int64_t here, std::int64_t there, std::int64_t count) {
        std::copy_n(parts[static_cast<std::size_t>(rank)].begin() + r * (size / ranks) + here, count, whole.begin() + r * size + there);
      });
  return whole;
}

/// The parts of one leaf on all ranks of an axis. Where the weight of Linear<4, 6> is sharded over 2 ranks, each part has 12 of its 24 elements.
template <class L, class Compute> struct SplitUnderTest {
  LeafUnderTest<L, Compute>& whole;
  const Signature& signature;
  int ranks;
  std::int64_t rows;
  std::string wrong{};

  /// One sum in another order and its rounding: 1e-5 of the largest element, as for rows in two halves.
  void compare(const std::string& what, const Floats& one, const std::vector<Floats>& parts, const Shape& shape, std::int64_t times, Laid how) {
    bool equal = true;
    const Floats got = whole_of(parts, shape, times, how, equal);
    double scale = 1;
    for (const float v : one) scale = std::max(scale, std::fabs(static_cast<double>(v)));
    bool near = got.size() == one.size();
    for (std::size_t i = 0; near && i < one.size(); ++i) near = std::fabs(static_cast<double>(got[i]) - static_cast<double>(one[i])) <= 1e-5 * scale;
    if (!wrong.empty() || (equal && near)) return;
    Text<48> lies;
    lies << how;
    wrong = what + ", stated " + std::string{lies.view()} + ", is " +
            (near ? "not the same on all of them" : "not that of the whole layer when it is put together");
  }
  void run() {
    const Leaf& leaf = whole.leaf();
    const Leaf local = local_leaf(leaf, signature, ranks);
    std::vector<Floats> outputs, statistics, input_gradients, second_gradients;
    std::vector<std::vector<Floats>> gradients(whole.parameters.size());
    const Floats saved_output = whole.output;
    for (int rank = 0; rank < ranks; ++rank) {
      LeafUnderTest<L, Compute> part{local, rows};
      part.part = part.context.part = rank;
      if (signature.output.sharded()) part.context.parts = ranks;
      for (int d = 0; d < signature.output.dimension(); ++d) part.context.runs *= leaf.out.shape.sizes[d];
      const auto cut = [&](const Floats& from, const Shape& shape, std::int64_t times, Laid how) {
        return part_of(from, shape, times, how, ranks, rank);
      };
      part.input = cut(whole.input, leaf.in.shape, rows, signature.input);
      if (leaf.operands == 2) part.second = cut(whole.second, leaf.other.shape, rows, signature.operand(1));
      part.output_gradient = cut(whole.output_gradient, leaf.out.shape, rows, signature.output_gradient);
      for (std::size_t p = 0; p < whole.parameters.size(); ++p)
        part.parameters[p] = cut(whole.parameters[p], leaf.parameters[p].shape, 1, signature.parameters[p]);
      part.forward(0, rows);
      outputs.push_back(part.output);
      statistics.push_back(part.statistics);
      part.output = signature.output.sharded() ? part.output : saved_output;  // a Partial output is summed before the backward sees it
      part.backward(0, rows, false);
      input_gradients.push_back(part.input_gradient);
      second_gradients.push_back(part.second_gradient);
      for (std::size_t p = 0; p < gradients.size(); ++p) gradients[p].push_back(part.gradients[p]);
    }
    compare("its output", whole.output, outputs, leaf.out.shape, rows, signature.output);
    if (leaf.statistics.dimensions > 0) compare("its statistics", whole.statistics, statistics, leaf.statistics, rows, signature.statistics);
    compare("the gradient of its input", whole.input_gradient, input_gradients, leaf.in.shape, rows, signature.input_gradient);
    if (leaf.operands == 2)
      compare("the gradient of its second input", whole.second_gradient, second_gradients, leaf.other.shape, rows, signature.operand_gradient(1));
    for (std::size_t p = 0; p < gradients.size(); ++p)
      compare("the gradient of parameter '" + std::string{leaf.parameters[p].name.view()} + "'", whole.gradients[p], gradients[p],
              leaf.parameters[p].shape, 1, signature.parameter_gradients[p]);
  }
};

/// Every signature of a layer under 2 and 3 ranks: parts of its tensors run apart and put together must be what the layer does as one.
/// Signatures whose sizes a number of ranks does not divide are left out; `checked` counts the others.
///
/// Errors  none; P03 a signature that cannot be, P06 one that does not hold, as the text of the result
/// Tested  run/signature_check_test
template <class L, class Compute> [[nodiscard]] GradientCheck check_signatures_of(const Leaf& leaf, int& checked, std::int64_t rows = 4) {
  GradientCheck check;
  LeafUnderTest<L, Compute> whole{leaf, rows, Seed{1}};
  whole.forward(0, rows);
  whole.backward(0, rows, false);
  const std::string name{leaf.spelled.view()};
  for (int i = 0; i < leaf.signature_count && check.ok(); ++i) {
    if (const Diagnosis found = check_signature(leaf, leaf.signatures[i]); !found.ok()) {
      check.text = sentence_of(Code{'P', 3}, "signature " + std::to_string(i) + " of " + name + " " + std::string{found.words.view()});
      return check;
    }
    for (const int ranks : {2, 3}) {
      if (indivisible_size(leaf, leaf.signatures[i], ranks) != 0) continue;
      SplitUnderTest<L, Compute> split{whole, leaf.signatures[i], ranks, rows};
      split.run();
      ++checked;
      if (check.ok() && !split.wrong.empty())
        check.text = sentence_of(
            Code{'P', 6}, "signature " + std::to_string(i) + " of " + name + " does not hold on " + std::to_string(ranks) + " ranks: " + split.wrong +
                              ". Fix: correct the signature, or let the kernel read its extents from the Leaf that it is given.");
    }
  }
  return check;
}

/// Of a layer on values of one shape.
template <class L, class Compute> [[nodiscard]] GradientCheck check_signatures_on(const Spec& in, int& checked, std::int64_t rows = 4) {
  const Leaf leaf = L::describe(in);
  if (const Diagnosis fault = fault_of_layer<L>(leaf, as_input_of(leaf, in)); !fault.ok()) return GradientCheck{std::string{fault.sentence().view()}};
  return check_signatures_of<L, Compute>(leaf, checked, rows);
}

}  // namespace heddle::run_room
