// SPDX-License-Identifier: MIT
// Room: graph. What a description must keep so that a plan may rely on it: shapes, sizes, names of parameters.
// Sees: core, graph/leaf.  Does not see: policies, devices, memory.
// In: a Leaf and the Spec that it is given.  Out: ok, or G01, G04, G06, G18, G19, G20, G21, G23 in words that begin with the layer.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/graph/leaf.hpp"
#include "heddle/graph/named.hpp"
#include "heddle/graph/tracked_rules.hpp"
#include "heddle/graph/type_rules.hpp"

namespace heddle::graph_room {

/// One sample of a value, or one parameter, has at most this many elements, and a layer at most so many operations for a sample. The sums over all
/// layers of a model are then numbers that can be counted: 2^12 layers x 4 parameters x 4 bytes x 4 tensors of a size make 2^58 bytes.
inline constexpr std::int64_t most_elements = std::int64_t{1} << 40;
inline constexpr std::int64_t most_flops = std::int64_t{1} << 48;

[[nodiscard]] constexpr Diagnosis broken_leaf(const Leaf& leaf, int number) { return Diagnosis{Code{'G', number}, leaf.spelled.view()}; }

/// G06 a size below 1, G19 a fifth dimension, G21 more elements than are counted.
[[nodiscard]] constexpr Diagnosis check_shape(const Leaf& leaf, std::string_view what, std::string_view name, const Shape& shape) {
  if (shape.sound() && shape.elements() <= most_elements) return {};
  const std::int64_t dimensions = std::int64_t{shape.dimensions} + shape.surplus;
  auto broken = broken_leaf(leaf, dimensions > Shape::most_dimensions ? 19 : shape.sound() ? 21 : 6) << what;
  if (!name.empty()) broken << " '" << name << '\'';
  broken << ' ' << shape;
  if (dimensions < 0) return broken << ", which has " << dimensions << " dimensions. Fix: write Shape{sizes...}.";
  if (dimensions > Shape::most_dimensions)
    return broken << ", which has " << dimensions << " dimensions, but at most " << Shape::most_dimensions << " are kept. Fix: join some of them.";
  if (!shape.sound()) return broken << ", which has a size below 1. Fix: give every dimension a size of at least 1.";
  return broken << ", which has more than the " << most_elements << " elements that one tensor may have. Fix: use smaller sizes.";
}

/// G04: names of parameters are the last words of a state_dict.
[[nodiscard]] constexpr Diagnosis check_parameter_names(const Leaf& leaf) {
  for (int p = 0; p < leaf.parameter_count; ++p) {
    const Parameter& here = leaf.parameters[p];
    if (here.name.cut)
      return broken_leaf(leaf, 4) << " has a parameter whose name '" << here.name.view() << "' was cut. Fix: write a name of at most 40 characters.";
    if (!is_name(here.name.view()))
      return broken_leaf(leaf, 4) << " has a parameter named '" << here.name.view()
                                  << "', which cannot stand in a state_dict: it is empty or has a dot or a star. Fix: use letters, digits and "
                                     "underscores.";
    for (int q = 0; q < p; ++q)
      if (leaf.parameters[q].name == here.name)
        return broken_leaf(leaf, 4) << " has two parameters named '" << here.name.view() << "'. Fix: rename one of them.";
  }
  return {};
}

/// Nothing is read beyond what a leaf keeps, whatever was set by hand.
[[nodiscard]] constexpr bool counts_what_it_keeps(const Leaf& leaf) {
  return leaf.parameter_count >= 0 && leaf.parameter_count <= Leaf::most_parameters && leaf.signature_count >= 0 &&
         leaf.signature_count <= Leaf::most_signatures && leaf.surplus_parameters == 0 && leaf.surplus_signatures == 0;
}
/// G19: a parameter or signature too many; G23 fewer than none.
[[nodiscard]] constexpr Diagnosis check_counts(const Leaf& leaf) {
  const std::int64_t parameters = std::int64_t{leaf.parameter_count} + leaf.surplus_parameters;
  const std::int64_t signatures = std::int64_t{leaf.signature_count} + leaf.surplus_signatures;
  if (parameters > Leaf::most_parameters)
    return broken_leaf(leaf, 19) << " has " << parameters << " parameters, but at most " << Leaf::most_parameters
                                 << " are kept. Fix: make two layers of it, or join parameters.";
  if (signatures > Leaf::most_signatures)
    return broken_leaf(leaf, 19) << " states " << signatures << " signatures, but at most " << Leaf::most_signatures
                                 << " are kept. Fix: state those that are used.";
  if (!counts_what_it_keeps(leaf))
    return broken_leaf(leaf, 23) << " counts " << leaf.parameter_count << " parameters and " << int{leaf.signature_count}
                                 << " signatures. Fix: let leaf.with and leaf.splits count them.";
  for (int i = 0; i < leaf.signature_count; ++i)
    if (leaf.signatures[i].surplus > 0)
      return broken_leaf(leaf, 19) << " states a signature that names a parameter beyond the " << Leaf::most_parameters
                                   << " that a layer may have. Fix: count parameters from 0.";
  return {};
}
/// G23: what maps every element by itself gives each rank the part that it takes. Shard<0> to Replicate would write a half where the whole is read.
[[nodiscard]] constexpr Diagnosis check_elementwise_splits(const Leaf& leaf) {
  for (int i = 0; i < leaf.signature_count; ++i) {
    const Signature& here = leaf.signatures[i];
    if (here.input != here.output)
      return broken_leaf(leaf, 23) << " maps every element by itself, but signature " << i << " takes its input " << here.input
                                   << " and gives its output " << here.output << ". Fix: give the output as the input is taken.";
  }
  return {};
}
/// G23: what takes two values has a kernel that makes one value of them, and the gradient of either, and nothing else.
[[nodiscard]] constexpr Diagnosis check_operands(const Leaf& leaf) {
  const auto broken = [&] { return broken_leaf(leaf, 23); };
  if (leaf.source != 0) return broken() << " says that it is an input of the model. Fix: write FromInput<I> in front of it.";
  if (leaf.operands < 1 || leaf.operands > 2)
    return broken() << " takes " << int{leaf.operands} << " values. Fix: take one, or two; Branches join more of them one after another.";
  if (leaf.operands == 1 && (leaf.sums || leaf.other.shape.dimensions != 0))
    return broken() << " takes one value, but says what the second is, or that it adds both. Fix: set leaf.operands to 2.";
  if (leaf.operands == 1) return {};
  if (const Diagnosis found = check_shape(leaf, " takes as its second value", "", leaf.other.shape); !found.ok()) return found;
  if (leaf.parameter_count > 0 || leaf.statistics.dimensions != 0 || leaf.elementwise || leaf.reshapes || leaf.vocabulary != 0)
    return broken() << " takes two values, so it can have no parameters, statistics or token ids, and is neither elementwise nor a reshape. Fix: "
                       "let another layer do that.";
  if (leaf.saves == Saves::output || leaf.saves == Saves::both)
    return broken() << " takes two values and saves its output, which is not kept. Fix: save the input, which is both values, or nothing.";
  if (leaf.sums && (leaf.saves != Saves::nothing || !(leaf.in == leaf.other) || !(leaf.in == leaf.out)))
    return broken() << " says that it adds " << leaf.in.shape << " and " << leaf.other.shape << " to " << leaf.out.shape
                    << ". Fix: let all be alike and save nothing, or drop sums and write a kernel.";
  return {};
}
/// G23: what contradicts itself; G21 operations that cannot be counted.
[[nodiscard]] constexpr Diagnosis check_facts(const Leaf& leaf) {
  if (const Diagnosis found = check_operands(leaf); !found.ok()) return found;
  if (leaf.reshapes && leaf.in.elements() != leaf.out.elements())
    return broken_leaf(leaf, 23) << " says that it only reshapes, but makes " << leaf.out.shape << " of " << leaf.in.shape
                                 << ". Fix: give as many elements as it takes, or drop reshapes.";
  if (leaf.reshapes && leaf.parameter_count > 0)
    return broken_leaf(leaf, 23) << " says that it only reshapes, but has parameter '" << leaf.parameters[0].name.view()
                                 << "'. Fix: drop reshapes, by which its kernel would never run, or the parameter.";
  if (leaf.reshapes && leaf.statistics.dimensions != 0)
    return broken_leaf(leaf, 23) << " says that it only reshapes, but keeps statistics " << leaf.statistics
                                 << ". Fix: drop reshapes, by which its kernel would never run, or the statistics.";
  if (leaf.elementwise && !(leaf.in == leaf.out))
    return broken_leaf(leaf, 23) << " says that it is elementwise, but makes " << leaf.out.shape << " of " << leaf.in.shape
                                 << ". Fix: give the shape that it takes, or drop elementwise.";
  if (const Diagnosis found = check_tracked(leaf); !found.ok()) return found;
  if (const Diagnosis found = leaf.elementwise ? check_elementwise_splits(leaf) : Diagnosis{}; !found.ok()) return found;
  if (const Diagnosis found = check_types(leaf); !found.ok()) return found;
  if (leaf.forward_flops > most_flops || leaf.backward_flops > most_flops || leaf.weight_flops > most_flops)
    return broken_leaf(leaf, 21) << " needs more than the " << most_flops
                                 << " operations for one sample that can be counted. Fix: use smaller sizes, or fewer positions.";
  if (leaf.forward_flops < 0 || leaf.backward_flops < 0 || leaf.weight_flops < 0 || leaf.vocabulary < 0)
    return broken_leaf(leaf, 23) << " counts operations or tokens below 0. Fix: count from 0.";
  return {};
}

/// The input of a model as its first layer takes it that does more than reshape: token ids, if that says int32.
[[nodiscard]] constexpr Spec as_input_of(const Leaf& reader, Spec given) {
  if (!reader.reshapes) given.type = reader.in.type;
  return given;
}

/// What is wrong with a leaf where it stands.
[[nodiscard]] constexpr Diagnosis fault_of_leaf(const Leaf& leaf, const Spec& given) {
  if (!leaf.fault.ok()) return leaf.fault;
  if (leaf.spelled.empty()) return Diagnosis{Code{'G', 23}, "a layer has no name. Fix: write leaf.kind and leaf.spelled in its describe."};
  if (const Diagnosis found = check_counts(leaf); !found.ok()) return found;
  if (!(leaf.in == given)) {
    const bool shapes = leaf.in.shape == given.shape;
    auto broken = broken_leaf(leaf, 1) << " takes ";
    if (!shapes)
      broken << leaf.in.shape << " but the value before it has " << given.shape
             << ". Fix: give it what it takes, or let its describe say leaf.in = in.";
    else
      broken << name_of(leaf.in.type) << " but the value before it has " << name_of(given.type) << ". Fix: "
             << (leaf.in.type == ElementType::float32 ? "put a layer that gives float32 before it." : "let it read the input of the model.");
    return broken;
  }
  if (const Diagnosis found = check_shape(leaf, " gives", "", leaf.out.shape); !found.ok()) return found;
  if (leaf.statistics.dimensions != 0 || leaf.statistics.surplus != 0)
    if (const Diagnosis found = check_shape(leaf, " keeps statistics", "", leaf.statistics); !found.ok()) return found;
  for (int p = 0; p < leaf.parameter_count; ++p)
    if (const Diagnosis found = check_shape(leaf, " has parameter", leaf.parameters[p].name.view(), leaf.parameters[p].shape); !found.ok())
      return found;
  if (const Diagnosis found = check_parameter_names(leaf); !found.ok()) return found;
  return check_facts(leaf);
}
[[nodiscard]] constexpr bool is_countable(const Shape& shape) {
  std::int64_t n = shape.dimensions <= Shape::most_dimensions;
  for (int i = 0; i < shape.dimensions && n > 0; ++i) n = shape.sizes[i] < 1 || n > most_elements / shape.sizes[i] ? 0 : n * shape.sizes[i];
  return n > 0 && shape.surplus == 0 && shape.dimensions >= 0;
}
/// The same verdict as fault_of_leaf in few steps of a constant expression: a model has hundreds of leaves.
[[nodiscard]] constexpr bool is_sound(const Leaf& leaf, const Spec& given) {
  if (!leaf.fault.ok() || leaf.spelled.length == 0 || !counts_what_it_keeps(leaf) || !(leaf.in == given)) return false;
  if (!is_countable(leaf.out.shape)) return false;
  if ((leaf.statistics.dimensions != 0 || leaf.statistics.surplus != 0) && !is_countable(leaf.statistics)) return false;
  for (int p = 0; p < leaf.parameter_count; ++p) {
    const Parameter& here = leaf.parameters[p];
    if (here.name.cut || here.name.length == 0 || !is_countable(here.shape)) return false;
    for (int i = 0; i < here.name.length; ++i)
      if (here.name.chars[i] == '.' || here.name.chars[i] == '*') return false;
    for (int q = 0; q < p; ++q)
      if (leaf.parameters[q].name.length == here.name.length && leaf.parameters[q].name == here.name) return false;
  }
  for (int i = 0; i < leaf.signature_count; ++i)
    if (leaf.signatures[i].surplus > 0) return false;
  if (leaf.operands != 1 || leaf.source != 0 || leaf.sums || leaf.other.shape.dimensions != 0 || leaf.elementwise || leaf.reshapes ||
      leaf.out.type != ElementType::float32 || leaf.in.type != ElementType::float32 || leaf.vocabulary != 0 || leaf.rows_together != 0 ||
      leaf.tracks() || leaf.has_phases())
    return check_facts(leaf).ok();
  return leaf.forward_flops >= 0 && leaf.backward_flops >= 0 && leaf.weight_flops >= 0 && leaf.forward_flops <= most_flops &&
         leaf.backward_flops <= most_flops && leaf.weight_flops <= most_flops;
}

/// A leaf where it stands: what it says that it takes is what it is given, and its tensors can be counted.
///
/// Errors  G01, G04, G06, G19, G21, G23; the fault that the leaf states itself comes first
/// Tested  graph/leaf_rules_test, fail/G01_own_layer_takes_another_shape
[[nodiscard]] constexpr Diagnosis check_leaf(const Leaf& leaf, const Spec& given) {
  return is_sound(leaf, given) ? Diagnosis{} : fault_of_leaf(leaf, given);
}

/// The last dimensions of a value are those that a layer says it takes: (8, 64) for (64).
[[nodiscard]] constexpr bool ends_in(const Shape& given, const Shape& taken) {
  if (given.dimensions < taken.dimensions) return false;
  for (int i = 1; i <= taken.dimensions; ++i)
    if (given.sizes[given.dimensions - i] != taken.sizes[taken.dimensions - i]) return false;
  return true;
}

/// Parameters of a leaf that have shapes of their own, whatever the value: a kernel that indexes them by the value would leave them. One element fits
/// every value, and a table is indexed by token ids.
/// A gain of shape (6) for a value of (6) is one, until describe makes it (7) for a value of (7): then it follows the value.
struct FixedParameters {
  bool fixed[Leaf::most_parameters]{};
  int count = 0;
  Spec taken;  ///< another value that the leaf takes

  constexpr explicit FixedParameters(const Leaf& leaf) {
    for (int p = 0; p < leaf.parameter_count && leaf.vocabulary == 0; ++p) count += fixed[p] = leaf.parameters[p].shape.elements() > 1;
  }
  /// A leaf that refuses another value says nothing of its parameters.
  constexpr void compare(const Leaf& leaf, const Leaf& of_another, const Spec& another) {
    if (!of_another.fault.ok()) return;
    if (taken.shape.dimensions == 0) taken = another;
    for (int p = 0; p < leaf.parameter_count; ++p) {
      const bool follows = p >= of_another.parameter_count || !(leaf.parameters[p].shape == of_another.parameters[p].shape);
      if (fixed[p] && follows) fixed[p] = false, --count;
    }
  }
};
/// Every size is another: one more, or so many times as large.
[[nodiscard]] constexpr Spec enlarged(Spec spec, int times) {
  for (int i = 0; i < spec.shape.dimensions; ++i) spec.shape.sizes[i] = times == 1 ? spec.shape.sizes[i] + 1 : spec.shape.sizes[i] * times;
  return spec;
}

/// How many other values a layer is tried on: a description costs steps of a constant expression, which compilers limit, so layers far into a model,
/// which mostly stood before, are tried on one.
[[nodiscard]] constexpr int values_to_try(int leaf) { return leaf < 64 ? 3 : 1; }

/// The parameters of L fit the value that it is given: L says what it takes, or its describe refuses another value, or its parameters follow it.
///
/// Errors  G01 the value is not what takes() says, G20 values of other sizes are taken for the same parameters
/// Tested  graph/leaf_rules_test, fail/G20_gain_of_another_width
template <class L> [[nodiscard]] constexpr Diagnosis check_what_fits(const Leaf& leaf, const Spec& given, int tries) {
  if (leaf.parameter_count == 0) return {};
  if constexpr (SaysWhatItTakes<L>) {
    if (ends_in(given.shape, L::takes().shape)) return {};
    return broken_leaf(leaf, 1) << " takes " << L::takes().shape << " but the value before it has " << given.shape << ". Fix: give it what it takes.";
  } else {
    FixedParameters parameters{leaf};
    if (given.shape.dimensions == 0) return {};
    for (int times = 1; times <= tries && parameters.count > 0; ++times)  // a layer may take even widths only, or odd ones
      parameters.compare(leaf, L::describe(enlarged(given, times)), enlarged(given, times));
    if (parameters.count == 0 || parameters.taken.shape.dimensions == 0) return {};
    return broken_leaf(leaf, 20) << " takes " << given.shape << " and " << parameters.taken.shape
                                 << " alike, with the same parameters, so its kernel may read past their ends. Fix: add static constexpr Spec "
                                    "takes(), or set leaf.fault where the value does not fit.";
  }
}

/// Two functions of one float each see an element of the input and make that of the output: G23 if the leaf says otherwise.
template <class L> [[nodiscard]] constexpr Diagnosis check_functions(const Leaf& leaf) {
  if constexpr (ElementwiseLayer<L>) {
    const auto broken = [&] { return broken_leaf(leaf, 23) << " is two functions of one float each, but "; };
    if (!(leaf.in == leaf.out))
      return broken() << "makes " << leaf.out.shape << " of " << leaf.in.shape
                      << ". Fix: give the shape that it takes, or write a kernel instead of forward and backward.";
    if (leaf.parameter_count > 0)
      return broken() << "has parameter '" << leaf.parameters[0].name.view()
                      << "', which they never see, so it would not be trained. Fix: write a kernel instead of forward and backward.";
    if (leaf.reshapes) return broken() << "says that it only reshapes, by which they would never run. Fix: drop reshapes.";
    if (!leaf.elementwise) return check_elementwise_splits(leaf);  // else check_leaf has asked
  }
  return {};
}

/// All of them: what is wrong with a layer that is given such a value. L is tried on so many others.
template <class L> [[nodiscard]] constexpr Diagnosis fault_of_layer(const Leaf& leaf, const Spec& given, int tries = values_to_try(0)) {
  Diagnosis found = check_leaf(leaf, given);
  if (found.ok()) found = check_functions<L>(leaf);
  return found.ok() ? check_what_fits<L>(leaf, given, tries) : found;
}

/// G05: a description that is no constant expression for such a value, or for those that check_what_fits tries.
[[nodiscard]] constexpr Diagnosis refuse_description(const Leaf& leaf, const Spec& given) {
  return broken_leaf(leaf, 5)
         << " cannot be described at build for " << given.shape
         << " or larger values. Fix: let its describe set leaf.fault where a value does not fit, not throw, and read nothing that "
            "is not there.";
}

}  // namespace heddle::graph_room
