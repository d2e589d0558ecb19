// SPDX-License-Identifier: MIT
// Room: graph. The part of a leaf that one rank of an axis runs: a smaller leaf, by one of its signatures; and the rules of signatures.
// Sees: core, graph/leaf.  Does not see: policies, devices, memory.
// In: a Leaf, a Signature, a number of ranks.  Out: the local Leaf, the dimension that does not divide, or P03.
#pragma once

#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/graph/leaf.hpp"

namespace heddle::graph_room {

[[nodiscard]] constexpr std::int64_t size_along(const Shape& shape, Laid how) { return how.sharded() ? shape.sizes[how.dimension()] : 0; }

/// The size that does not divide where `ranks` hold a tensor so, or 0: of sections that of the smallest, or of all where they are not whole.
[[nodiscard]] constexpr std::int64_t indivisible_size(const Shape& shape, Laid how, int ranks) {
  const std::int64_t size = size_along(shape, how);
  if (!how.in_sections()) return size % ranks != 0 ? size : 0;
  if (size % how.shares() != 0) return size;
  return size / how.shares() % ranks != 0 ? size / how.shares() : 0;
}
/// The first size that a signature splits and `ranks` does not divide, or 0.
[[nodiscard]] constexpr std::int64_t indivisible_size(const Leaf& leaf, const Signature& signature, int ranks) {
  if (signature.pieces % ranks != 0) return signature.pieces;
  if (const std::int64_t size = indivisible_size(leaf.in.shape, signature.input, ranks); size != 0) return size;
  if (const std::int64_t size = leaf.operands == 2 ? indivisible_size(leaf.other.shape, signature.operand(1), ranks) : 0; size != 0) return size;
  if (const std::int64_t size = indivisible_size(leaf.out.shape, signature.output, ranks); size != 0) return size;
  if (const std::int64_t size = indivisible_size(leaf.statistics, signature.statistics, ranks); size != 0) return size;
  for (const Phases* phases : {&leaf.forward_phases, &leaf.backward_phases})
    for (const std::int64_t sums : phases->sums)
      if (signature.parts_of_sums && sums % ranks != 0) return sums;
  for (int p = 0; p < leaf.parameter_count; ++p)
    if (const std::int64_t size = indivisible_size(leaf.parameters[p].shape, signature.parameters[p], ranks); size != 0) return size;
  return 0;
}

/// Appends "50 features", or "3 pieces that stay whole": what ranks do not divide.
constexpr void write_indivisible(Diagnosis& sentence, const Signature& how, int ranks, std::int64_t size) {
  sentence << size << (how.pieces % ranks != 0 ? size == 1 ? " piece that stays whole" : " pieces that stay whole" : " features");
}
/// Appends "1, 2, 5, 10, 25, 50": the numbers of ranks that divide a size.
constexpr void write_divisors(Diagnosis& sentence, std::int64_t size) {
  constexpr std::int64_t most = 4096;  // ranks of one axis
  const char* before = "";
  for (std::int64_t d = 1; d <= size && d <= most; ++d) {
    if (size % d != 0) continue;
    sentence.words << before << d;
    before = ", ";
  }
}

constexpr void divide(Shape& shape, Laid how, int ranks) {
  if (how.sharded()) shape.sizes[how.dimension()] /= ranks;
}

/// The whole of which a part is given.
[[nodiscard]] constexpr Shape joined(Shape part, Laid how, int ranks) {
  if (how.sharded()) part.sizes[how.dimension()] *= ranks;
  return part;
}

/// What each of `ranks` ranks runs. Operations are divided evenly: a bias that one rank adds is not counted apart.
/// Tested  graph/local_leaf_test
[[nodiscard]] constexpr Leaf local_leaf(const Leaf& leaf, const Signature& signature, int ranks) {
  Leaf local = leaf;
  if (signature == Signature{}) return local;
  divide(local.in.shape, signature.input, ranks);
  if (leaf.operands == 2) divide(local.other.shape, signature.operand(1), ranks);
  divide(local.out.shape, signature.output, ranks);
  divide(local.statistics, signature.statistics, ranks);
  for (int k = 0; k + 1 < Phases::most && signature.parts_of_sums; ++k) {
    local.forward_phases.sums[k] /= ranks;
    local.backward_phases.sums[k] /= ranks;
  }
  for (int p = 0; p < leaf.parameter_count; ++p) divide(local.parameters[p].shape, signature.parameters[p], ranks);
  local.forward_flops = (leaf.forward_flops + ranks - 1) / ranks;
  local.backward_flops = (leaf.backward_flops + ranks - 1) / ranks;
  local.weight_flops = (leaf.weight_flops + ranks - 1) / ranks;
  return local;
}

/// True if the ranks do not all do the same.
[[nodiscard]] constexpr bool divides_work(const Leaf& leaf, const Signature& s) {
  bool divides = s.input.sharded() || !s.output.replicated();
  for (int p = 0; p < leaf.parameter_count; ++p) divides = divides || s.parameters[p].sharded();
  return divides;
}

/// How a parameter and its gradient lie, in words that name the parameter.
[[nodiscard]] constexpr Diagnosis check_parameter(const Leaf& leaf, const Signature& s, int p) {
  const Laid used = s.parameters[p];
  const Laid gradient = s.parameter_gradients[p];
  const auto broken = [&] { return Diagnosis{Code{'P', 3}, ""} << "states parameter '" << leaf.parameters[p].name.view() << "' " << used; };
  if (used.sharded() && used.dimension() >= leaf.parameters[p].shape.dimensions)
    return broken() << ", but it has " << leaf.parameters[p].shape.dimensions << " dimensions. Fix: name one of them.";
  if (used.partial() && !s.output.partial())
    return broken() << ", used on one rank only, for an output that is " << s.output << ". Fix: use it Replicate, or state a Partial output.";
  if (s.output.partial() && used.replicated() && gradient.replicated())
    return broken() << " and adds it to an output that is Partial, so the sum would hold it once for each rank. Fix: state it Partial (one rank adds "
                       "it), or split it.";
  const Laid wanted = used.partial() ? laid::replicate : used.replicated() && divides_work(leaf, s) ? laid::partial : used;
  if (gradient == wanted) return {};
  return broken() << " and its gradient " << gradient
                  << (wanted.partial() ? ", but each rank sees its own part of the values, so what it has is a term. Fix: state the gradient "
                                       : ", but a gradient lies as its value does. Fix: state the gradient ")
                  << wanted << '.';
}

/// The rules of one signature: what is split exists, and a gradient lies as the derivative of its value does.
///
///   value Shard<d> -> gradient Shard<d>      value Replicate -> gradient Partial where ranks do different work, else Replicate
///   value Partial  -> gradient Replicate     Partial + Replicate is no operation: the sum would hold the second term once for each rank
/// Errors  P03 in words that follow "signature 1 of layer 2 'mix' Mix "
/// Tested  graph/local_leaf_test, fail/P03_bias_added_to_a_partial_172932, fail/P03_gain_of_split_features_1446
[[nodiscard]] constexpr Diagnosis check_signature(const Leaf& leaf, const Signature& s) {
  const auto broken = [](std::string_view what, Laid how, std::string_view why, Laid wanted) {
    return Diagnosis{Code{'P', 3}, what} << how << why << wanted << '.';
  };
  const auto missing = [](const Shape& shape, Laid how) { return how.sharded() && how.dimension() >= shape.dimensions; };
  if (s.input.partial() || missing(leaf.in.shape, s.input))
    return broken("takes an input that is ", s.input, ", which it cannot be. Fix: take a dimension that is there, or ", laid::replicate);
  if (s.second != laid::as_first && (leaf.operands != 2 || s.input.sharded() != s.second.sharded() || s.second.partial()))
    return broken("takes a second input that is ", s.second, ", which it cannot be beside its first. Fix: let it lie as the first, ", s.input);
  if (leaf.operands == 2 && missing(leaf.other.shape, s.operand(1)))
    return broken("takes a second input that is ", s.operand(1), ", which it cannot be. Fix: take a dimension that is there, or ", laid::replicate);
  if (missing(leaf.out.shape, s.output))
    return broken("gives an output that is ", s.output, ", a dimension that it does not have. Fix: give it as ", laid::replicate);
  if (s.statistics.partial() || missing(leaf.statistics, s.statistics))
    return broken("keeps statistics that are ", s.statistics, ", which they cannot be. Fix: keep a dimension that is there, or ", laid::replicate);
  const Laid back = s.output.sharded() ? s.output : laid::replicate;
  if (s.output_gradient != back)
    return broken("takes a gradient of its output that is ", s.output_gradient, ", but a gradient lies as its value does. Fix: take it as ", back);
  const Laid there = s.input.replicated() && divides_work(leaf, s) ? laid::partial : s.input;
  if (s.input_gradient != there)
    return broken("gives a gradient of its input that is ", s.input_gradient,
                  there.partial() ? ", but each rank has a term of it from its own part. Fix: give it as "
                                  : ", but a gradient lies as its value does. Fix: give it as ",
                  there);
  for (int p = 0; p < leaf.parameter_count; ++p)
    if (const Diagnosis found = check_parameter(leaf, s, p); !found.ok()) return found;
  return {};
}

}  // namespace heddle::graph_room
