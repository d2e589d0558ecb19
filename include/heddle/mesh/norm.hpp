// SPDX-License-Identifier: MIT
// Room: mesh. The norm of a value that is split: a sum over exactly the axes on which it is split, and clip(), which takes it only when it is taken.
// Sees: core, mesh/collectives.  Does not see: processes, transports.
// In: gradients with their placements.  Out: a squared norm, clipped gradients.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <utility>

#include "heddle/core/fire.hpp"
#include "heddle/mesh/collectives.hpp"

namespace heddle::mesh_room {

/// A sum of squares. Not a float: only what squared_norm() gave, and reduced, is a norm. That of (3, 4) is 25, and the norm is 5.
struct SquaredNorm {
  float squares = 0;
  [[nodiscard]] constexpr float* data() { return &squares; }
  [[nodiscard]] static constexpr std::int64_t size() { return 1; }
  friend constexpr SquaredNorm operator+(SquaredNorm a, SquaredNorm b) { return {a.squares + b.squares}; }
};

/// Where a value is split its norm is a sum that is not yet taken; where it is whole the norm is whole.
[[nodiscard]] constexpr Placements of_the_norm(const Placements& p) {
  if (p.any(Placement::partial)) return after_a_refusal;
  Placements norm;
  for (const Axis a : every_axis)
    if (p.at(a) != Placement::replicate) norm = norm.with(a, Placement::partial);
  return norm;
}

/// The squares of what this rank holds, summed: Partial over exactly the axes on which x is split.
///
/// Errors  P11 at build if x is itself a sum that is not yet taken
/// Tested  mesh/norm_test, fail/P11_norm_of_an_unreduced_gradient
template <IsDistributed X> [[nodiscard]] constexpr auto squared_norm(const X& x) {
  static_assert(sizeof(fired<Applying<"squared_norm", X::placements>>) > 0);
  auto held = x.held_by_this_rank();
  const float* const values = floats_of(held);
  double sum = 0;
  for (std::int64_t i = 0; i < float_count(held); ++i) sum += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  return DistributedValue<SquaredNorm, of_the_norm(X::placements)>{SquaredNorm{static_cast<float>(sum)}};
}

template <class N> [[nodiscard]] constexpr Diagnosis norm_is_reduced() {
  if constexpr (was_refused(placements_in<N>())) {
    return Diagnosis{};
  } else if constexpr (!is_distributed<N>) {
    return Diagnosis{Code{'P', 17}, "clip"}
           << " is given " << type_name<N>().view()
           << " as the norm, which does not say over which axes it was taken. Fix: give the result of squared_norm().";
  } else if constexpr (!std::same_as<typename N::Value, SquaredNorm>) {
    return Diagnosis{Code{'P', 17}, "clip"}
           << " is given a distributed " << type_name<typename N::Value>().view()
           << " as the norm, which does not say over which axes it was taken. Fix: give the result of squared_norm().";
  } else {
    if (!N::placements.any(Placement::partial)) return {};
    return Diagnosis{Code{'P', 17}, "clip"} << " is given the norm of one part: it is not yet summed over "
                                            << axes_with(N::placements, Placement::partial).view() << ", where parameters are split. Fix: call "
                                            << missing_reduction(N::placements).view() << " on the squared norm first.";
  }
}
/// Holds what is wrong with a norm that clips: P17 if it is not reduced over every axis on which parameters are split.
template <class N> struct Clipping { static constexpr Diagnosis found = norm_is_reduced<N>(); };

/// What gradients are multiplied with so that their norm is at most `most`: 1 where it is already.
///
/// Errors  P17 at build if the norm is not reduced over every axis on which parameters are split, or is no norm
/// Source  sources.md#pytorch-clip
/// Tested  mesh/norm_test, fail/P17_norm_of_one_stage
template <class N> [[nodiscard]] auto clip_factor(const N& norm, float most) {
  static_assert(sizeof(fired<Clipping<N>>) > 0);
  if constexpr (Clipping<N>::found.ok() && !was_refused(placements_in<N>())) {
    const float factor = most / (std::sqrt(norm.held_by_this_rank().squares) + 1e-6F);
    return DistributedValue<float, Placements{}>{factor >= 1 ? 1 : factor};
  } else {
    return DistributedValue<float, Placements{}>{1};
  }
}

/// Multiplies what this rank holds of the gradients with clip_factor().
///
/// Errors  P17 as clip_factor
/// Tested  mesh/norm_test, backend/spmd_threads_test, backend/spmd_mpi_test
template <IsDistributed X, class N> [[nodiscard]] X clip(const X& gradients, const N& norm, float most) {
  static_assert(sizeof(fired<Clipping<N>>) > 0);
  const float factor = clip_factor(norm, most).held_by_this_rank();
  auto held = gradients.held_by_this_rank();
  float* const values = floats_of(held);
  for (std::int64_t i = 0; i < float_count(held); ++i) values[i] *= factor;
  return X{std::move(held)};
}

}  // namespace heddle::mesh_room

namespace heddle::extending {
using mesh_room::SquaredNorm, mesh_room::clip, mesh_room::clip_factor, mesh_room::squared_norm;
}  // namespace heddle::extending
