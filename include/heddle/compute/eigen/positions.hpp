// SPDX-License-Identifier: MIT
// Room: compute. LearnedPositions and Rotary on the CPU: vectors are added, pairs are turned.
// Sees: graph/layers/positions, seams/concepts, compute/eigen.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: Kernel<LearnedPositions, EigenCompute>, Kernel<Rotary, EigenCompute>.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>

#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/graph/layers/positions.hpp"

namespace heddle::compute_room {

/// Elements of the positions of a sequence: as many lead the table. Of (5, 24) it is 120.
[[nodiscard]] inline std::int64_t elements_of_sequence(const Leaf& leaf) { return graph_room::positions_of(leaf.in.shape) * leaf.in.shape.last(); }
[[nodiscard]] inline std::int64_t sequences_of(const Leaf& leaf, std::int64_t rows) {
  return rows * (leaf.in.elements() / elements_of_sequence(leaf));
}

inline void learned_positions_forward(const ForwardCall& call) {
  const std::int64_t n = elements_of_sequence(*call.leaf);
  for (std::int64_t s = 0; s < sequences_of(*call.leaf, call.rows); ++s)
    EigenCompute::add(call.output + s * n, call.input + s * n, call.parameters[0], n);
}
/// Rows of the table: a sum over the sequences in their order, 0 for positions that no sequence has.
inline void learned_positions_backward(const BackwardCall& call) {
  const std::int64_t n = elements_of_sequence(*call.leaf), sequences = sequences_of(*call.leaf, call.rows);
  if (call.input_gradient != nullptr) EigenCompute::copy(call.input_gradient, call.output_gradient, sequences * n);
  if (call.parameter_gradients == nullptr) return;
  float* const sums = call.parameter_gradients[0];
  if (!call.add) EigenCompute::zero(sums, call.leaf->parameters[0].shape.elements());
  for (std::int64_t s = 0; s < sequences; ++s) EigenCompute::add(sums, sums, call.output_gradient + s * n, n);
}

/// Turns the pairs of each head that is no value by the angle of its position, times `way`: 1 forward, -1 back. An output may lie where its input
/// does.
///
/// Law     a position has the same bits in any sequence and any head
template <class L> void turn(const Leaf& leaf, std::int64_t rows, const float* from, float* to, float way) {
  constexpr std::int64_t pairs = L::features / 2, most = 256;  // pairs at a time, whose angles lie on the stack
  const std::int64_t width = leaf.in.shape.last(), positions = graph_room::positions_of(leaf.in.shape);
  const std::int64_t shared = width / (L::features * (L::sharing + 2)), turned = (L::sharing + 1) * shared * L::features;
  const std::int64_t sequences = sequences_of(leaf, rows);
  for (std::int64_t t = 0; t < positions; ++t)
    for (std::int64_t first = 0; first < pairs; first += most) {
      const std::int64_t count = std::min(most, pairs - first);
      float cosines[most], sines[most];
      for (std::int64_t i = 0; i < count; ++i) {
        const double power = -2 * static_cast<double>(first + i) / static_cast<double>(L::features);
        const double angle = static_cast<double>(t) * std::pow(static_cast<double>(L::base), power);
        cosines[i] = static_cast<float>(std::cos(angle));
        sines[i] = way * static_cast<float>(std::sin(angle));
      }
      for (std::int64_t s = 0; s < sequences; ++s)
        for (std::int64_t head = 0; head < turned; head += L::features) {
          const std::int64_t at = (s * positions + t) * width + head + first;
          for (std::int64_t i = 0; i < count; ++i) {
            const float x = from[at + i], y = from[at + pairs + i];
            to[at + i] = x * cosines[i] - y * sines[i];
            to[at + pairs + i] = y * cosines[i] + x * sines[i];
          }
        }
    }
  for (std::int64_t v = 0; v < sequences * positions; ++v) EigenCompute::copy(to + v * width + turned, from + v * width + turned, width - turned);
}

}  // namespace heddle::compute_room

namespace heddle {

/// LearnedPositions on EigenCompute or what derives from it.
///
/// Errors  none; rows may be 0
/// Tested  compute/eigen/positions_test
template <std::int64_t Length, std::int64_t Features, std::derived_from<compute_room::EigenCompute> C>
struct Kernel<graph_room::LearnedPositions<Length, Features>, C> {
  static constexpr bool backward_in_parts = true;
  static void forward(const seams_room::ForwardCall& call) { compute_room::learned_positions_forward(call); }
  static void backward(const seams_room::BackwardCall& call) { compute_room::learned_positions_backward(call); }
};
template <std::int64_t Features, class... Options, std::derived_from<compute_room::EigenCompute> C>
struct Kernel<graph_room::Rotary<Features, Options...>, C> {
  using L = graph_room::Rotary<Features, Options...>;
  static void forward(const seams_room::ForwardCall& call) { compute_room::turn<L>(*call.leaf, call.rows, call.input, call.output, 1); }
  static void backward(const seams_room::BackwardCall& call) {
    if (call.input_gradient != nullptr) compute_room::turn<L>(*call.leaf, call.rows, call.output_gradient, call.input_gradient, -1);
  }
};

}  // namespace heddle
