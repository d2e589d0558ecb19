// SPDX-License-Identifier: MIT
// Room: graph. What a leaf is: an empty struct with compile-time sizes that describes itself as a Leaf value.
// Sees: core, graph/signature.  Does not see: policies, devices, memory.
// In: the Spec of the input.  Out: Leaf (output, parameters, what is saved, flops, how it may be split).
#pragma once

#include <concepts>
#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/core/shape.hpp"
#include "heddle/graph/signature.hpp"

namespace heddle::graph_room {

/// How the elements of a parameter start; see docs/sources.md#pytorch-init.
enum class Initial : std::uint8_t {
  zeros,
  ones,
  uniform_fan_in,         ///< uniform in [-1/sqrt(fan_in), 1/sqrt(fan_in)): PyTorch's Kaiming uniform with a = sqrt(5), and its Linear bias
  normal,                 ///< N(0, 1), as Embedding
  uniform_fan_in_and_out  ///< uniform within sqrt(6 / fan_in), where fan_in is the sum of both: PyTorch's Xavier uniform
};

/// One tensor of a leaf, with its state_dict name ("weight"), which is kept whole up to 40 characters and refused beyond (G04): trained, or tracked.
///
/// No optimizer steps what is tracked: once a step it goes Leaf::momentum of the way to the mean, over all rows, of what the backward has seen. An
/// element is of n = rows x (elements of the input / elements of the parameter) values of a grain, and the backward leaves n times what those have
/// in the place of its gradient. Of running_mean (3) and an input of (3, 4, 4) 8 rows have n = 128.
struct Parameter {
  Text<40> name;
  Shape shape;
  Initial initial = Initial::zeros;
  std::int64_t fan_in = 1;
  std::int8_t tracks = 0;         ///< 0: trained; else tracked, and a grain with fewer values of an element than this counts nothing
  std::int64_t padding_row = -1;  ///< of a table: the row that starts at zeros and to which its own layer gives no gradient; -1: none

  /// Whether an element lies in that row: of (5, 3) with row 0 the elements 0, 1 and 2.
  [[nodiscard]] constexpr bool in_padding_row(std::int64_t element) const {
    return padding_row >= 0 && element / (shape.elements() / shape.sizes[0]) == padding_row;
  }
  [[nodiscard]] constexpr bool tracked() const { return tracks != 0; }
  friend constexpr bool operator==(const Parameter&, const Parameter&) = default;
};

/// What the backward of a leaf reads again.
enum class Saves : std::uint8_t { nothing, input, output, both };

/// Phases of one pass of a leaf. Between two of them the ranks that split the batch sum what the first has left of each grain, so the second knows
/// all rows of the micro-batch: along the grain tree, so every layout has the bits of one device. A forward of sums and of normalised values, of 3
/// channels, has 2 phases, between which 3 floats are summed.
///
/// Tested  graph/phase_rules_test
struct Phases {
  static constexpr int most = 3;
  std::int64_t sums[most - 1]{};  ///< floats that a grain tells after each phase but the last; 0 ends the list
  std::int8_t surplus = 0;        ///< beyond what is kept (G19)

  [[nodiscard]] constexpr bool any() const { return sums[0] != 0; }
  /// 1 of a pass whose kernel is called once.
  [[nodiscard]] constexpr int count() const { return sums[0] == 0 ? 1 : sums[1] == 0 ? 2 : 3; }
  /// Another phase follows, which knows so many sums more.
  constexpr Phases& then_sum(std::int64_t floats) {
    const int at = count() - 1;
    if (at == most - 1)
      ++surplus;
    else
      sums[at] = floats;
    return *this;
  }
  friend constexpr bool operator==(const Phases&, const Phases&) = default;
};

/// The description of one layer: shapes are per sample (no batch dimension). That of Linear<784, 50> has 2 parameters, of 39,200 and 50 elements.
struct Leaf {
  static constexpr int most_parameters = Signature::most_parameters;
  static constexpr int most_signatures = 4;
  Text<24> kind;     ///< "Linear"
  Text<64> spelled;  ///< "Linear<784, 50>"
  Spec in;
  Spec out;
  Spec other{};       ///< what a leaf of two operands takes as its second
  int operands = 1;   ///< values that it takes: 2 of what joins branches, 0 of an input of the model
  int source = 0;     ///< 1 + the input of the model that it stands for (FromInput); else 0
  bool sums = false;  ///< no arithmetic of its own: the output is the sum of both operands, whose gradient is that of each
  Parameter parameters[most_parameters];
  int parameter_count = 0;
  Saves saves = Saves::input;
  Shape statistics;                    ///< what a forward leaves for the backward beside values, per sample: (2) of a mean and a deviation; else ()
  int rows_together = 0;               ///< not 0: rows of a grain are normalised together, at least so many in training; else each stands alone
  float momentum = 0;                  ///< of parameters that are tracked
  Phases forward_phases;               ///< of a training; what does not train calls the kernel once
  Phases backward_phases;              ///< the first of which makes the gradients of parameters, of what this rank has
  bool weights_read = true;            ///< gradients of parameters are made of parameters too: a part of a backward that makes only them has these
  bool input_part_reads_saved = true;  ///< the gradient of the input is made of what is saved too
  bool elementwise = false;            ///< out(i) depends on in(i) alone: may run in place
  bool reshapes = false;               ///< no arithmetic: output is the input under another shape
  std::int64_t vocabulary = 0;         ///< not 0: the input holds token ids, int32 from 0 to vocabulary - 1, which have no gradient
  std::int64_t forward_flops = 0;      ///< per sample
  std::int64_t backward_flops = 0;     ///< per sample, both gradients
  std::int64_t weight_flops = 0;       ///< per sample, of those: the gradients of parameters
  Diagnosis fault;                     ///< set when `in` cannot be taken
  Signature signatures[most_signatures];
  std::int8_t signature_count = 0;  ///< ways to split it, beside running it whole on every rank
  bool by_hand = false;             ///< where layers are split, one of the signatures must be used
  int surplus_parameters = 0;       ///< beyond the fourth, which are not kept: a model with such a layer is refused (G19)
  int surplus_signatures = 0;

  [[nodiscard]] constexpr bool has_phases() const { return forward_phases.any() || backward_phases.any(); }
  [[nodiscard]] constexpr const Spec& operand(int k) const { return k == 0 ? in : other; }
  /// The gradient of the output is that of each operand as it is.
  [[nodiscard]] constexpr bool hands_on() const { return sums || reshapes; }
  [[nodiscard]] constexpr bool tracks() const {
    for (int p = 0; p < parameter_count; ++p)
      if (parameters[p].tracked()) return true;
    return false;
  }
  /// Values of one row that an element of a parameter is of.
  [[nodiscard]] constexpr std::int64_t values_a_row(int p) const { return in.elements() / parameters[p].shape.elements(); }
  [[nodiscard]] constexpr std::int64_t statistics_elements() const { return statistics.dimensions == 0 ? 0 : statistics.elements(); }
  /// Of those: the gradient of the input, where somebody needs it.
  [[nodiscard]] constexpr std::int64_t input_flops() const { return backward_flops - weight_flops; }
  constexpr Leaf& with(const Parameter& parameter) {
    if (parameter_count == most_parameters)
      ++surplus_parameters;
    else
      parameters[parameter_count++] = parameter;
    return *this;
  }
  constexpr Leaf& splits(const Signature& signature) {
    if (signature_count == most_signatures)
      ++surplus_signatures;
    else
      signatures[signature_count++] = signature;
    return *this;
  }
  friend constexpr bool operator==(const Leaf&, const Leaf&) = default;
};

/// Description of a layer that maps every element by itself. Flops are per element and direction.
/// Shape   any (B, ...) stays as it is; any split of its dimensions passes through
[[nodiscard]] constexpr Leaf elementwise(std::string_view kind, const Spec& in, std::int64_t flops_per_element, Saves saves = Saves::input) {
  Leaf leaf;
  leaf.kind << kind;
  leaf.spelled << kind;
  leaf.in = leaf.out = in;
  leaf.saves = saves;
  leaf.elementwise = true;
  leaf.forward_flops = leaf.backward_flops = counted_product(flops_per_element, in.elements());
  for (int d = 0; d < in.shape.dimensions; ++d) leaf.splits({laid::shard(d), laid::shard(d), laid::shard(d), laid::shard(d), {}, {}});
  return leaf;
}

/// A type that describes itself as a leaf.
template <class L>
concept DescribesLeaf = requires(Spec in) {
  { L::describe(in) } -> std::same_as<Leaf>;
};

/// A type that says what it takes: the last dimensions of the value before it.
template <class L>
concept SaysWhatItTakes = requires {
  { L::takes() } -> std::same_as<Spec>;
};

/// A leaf given by two functions of one float each; `saved` is the input or the output, as describe() says, and no number if neither is saved.
template <class L>
concept ElementwiseLayer = DescribesLeaf<L> && requires(float x, float saved, float gradient) {
  { L::forward(x) } -> std::same_as<float>;
  { L::backward(saved, gradient) } -> std::same_as<float>;
};

}  // namespace heddle::graph_room

namespace heddle::extending {
using graph_room::Initial, graph_room::Leaf, graph_room::Phases, graph_room::Saves, graph_room::elementwise;
}  // namespace heddle::extending
