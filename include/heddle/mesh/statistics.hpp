// SPDX-License-Identifier: MIT
// Room: mesh. Sums, means and norms over axes: each with the divisor and the axes that it was taken over in its type.
// Sees: core, mesh/collectives.  Does not see: processes, transports.
// In: what each rank has of a sum, a mean or a norm.  Out: Sum<axes...>, Mean<axes...>, a norm that clip() takes.
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>

#include "heddle/core/fire.hpp"
#include "heddle/mesh/collectives.hpp"

namespace heddle::mesh_room {

/// The mean of Rows rows, a count known at build: the only mean of which a mean may be taken. MeanOf<16>{0.5F} is a mean of 0.5 over 16 rows.
///
/// Errors  P16 at build where means of other counts are averaged, or means are summed
/// Tested  mesh/statistics_test, fail/P16_means_of_unequal_counts
template <std::int64_t Rows> struct MeanOf {
  static constexpr std::int64_t mean_rows = Rows;
  float mean = 0;
  [[nodiscard]] constexpr float* data() { return &mean; }
  [[nodiscard]] static constexpr std::int64_t size() { return 1; }
};

template <std::int64_t Rows> inline constexpr bool is_mean_of_rows<MeanOf<Rows>> = true;

/// A sum and the weight (rows, tokens) that it is divided by in the end: for counts that are known at run time only. WeightedSum{24, 16} is a mean
/// of 1.5 over 16 rows.
///
/// Tested  mesh/statistics_test
struct WeightedSum {
  float parts[2]{};  // sum, weight
  constexpr WeightedSum() = default;
  constexpr WeightedSum(float sum, float weight) : parts{sum, weight} {}
  [[nodiscard]] constexpr float sum() const { return parts[0]; }
  [[nodiscard]] constexpr float weight() const { return parts[1]; }
  [[nodiscard]] constexpr float* data() { return parts; }
  [[nodiscard]] static constexpr std::int64_t size() { return 2; }
  friend constexpr WeightedSum operator+(WeightedSum a, WeightedSum b) { return {a.sum() + b.sum(), a.weight() + b.weight()}; }
};

/// Says whether two means may be averaged: of 16 and 16 rows they may, of 32 and 16 rows they may not (P16).
template <std::int64_t A, std::int64_t B> struct Averaging {
  static constexpr Diagnosis found =
      A == B
          ? Diagnosis{}
          : Diagnosis{Code{'P', 16}, ""} << "means of " << A << " and " << B
                                         << " rows are averaged as if they had as many. Fix: add WeightedSum{sum, rows} and divide once, at the end.";
};

/// The mean over the rows of both. Both must be means of as many rows.
///
/// Errors  P16 at build if they are not
/// Tested  mesh/statistics_test, fail/P16_means_of_unequal_counts
template <std::int64_t A, std::int64_t B> [[nodiscard]] constexpr MeanOf<A + B> average(const MeanOf<A>& a, const MeanOf<B>& b) {
  static_assert(sizeof(fired<Averaging<A, B>>) > 0);
  return {(a.mean + b.mean) / 2};
}

[[nodiscard]] constexpr Placements taken_over(Placements p, Axis a, Taken how) { return p.with(a, Placement::replicate, how); }
template <Taken How, class X, Axis... Axes> [[nodiscard]] constexpr Placements placements_taken() {
  Placements p = placements_in<X>();
  ((p = taken_over(p, Axes, How)), ...);
  return p;
}

/// all_reduce that remembers what it took: the result is a Sum over the axes.
///
/// Errors  as all_reduce
/// Tested  mesh/statistics_test
template <Axis... Axes, Communicator Comm, class X> [[nodiscard]] auto sum_over(Comm& comm, const X& x) {
  using Rule = Calling<CalledCollective::all_reduce, X, Axes...>;
  static_assert(sizeof(fired<Rule>) > 0);
  if constexpr (!Rule::found.ok() || was_refused(placements_in<X>())) {
    return refused(x);
  } else {
    auto held = own_copy(comm, x);
    (comm.all_reduce(Axes, floats_of(held), float_count(held)), ...);
    return DistributedValue<typename X::Value, placements_taken<Taken::sum, X, Axes...>()>{std::move(held)};
  }
}

template <class X, Axis... Axes> [[nodiscard]] constexpr Diagnosis mean_is_sound() {
  if constexpr (was_refused(placements_in<X>())) {
    return Diagnosis{};
  } else if constexpr (is_distributed<X>) {
    using Held = typename X::Value;
    if constexpr (!std::same_as<Held, WeightedSum> && !is_mean_of_rows<Held>)
      return Diagnosis{Code{'P', 16}, "mean_over"} << " is given " << type_name<Held>().view()
                                                   << ", which does not say over how many rows it was taken. Fix: give MeanOf<rows> or WeightedSum.";
    else if constexpr (may_call<CalledCollective::all_reduce, Axes...>(X::placements).ok())
      return is_whole("mean_over", placements_taken<Taken::mean, X, Axes...>());
    else
      return may_call<CalledCollective::all_reduce, Axes...>(X::placements);
  } else {
    return call_is_sound<CalledCollective::all_reduce, X, Axes...>();
  }
}
/// Holds what is wrong with mean_over: P16 where a value does not say its rows; or nothing.
template <class X, Axis... Axes> struct TakingTheMean { static constexpr Diagnosis found = mean_is_sound<X, Axes...>(); };

/// The mean over the rows of all ranks of the axes: of MeanOf<rows>, where every rank has as many, or of WeightedSum. The result is a Mean.
///
/// Errors  P16 at build if the value does not say its rows; P13, P14 if the axes are not those over which it is partial
/// Tested  mesh/statistics_test, fail/P16_mean_without_rows
template <Axis... Axes, Communicator Comm, class X> [[nodiscard]] auto mean_over(Comm& comm, const X& x) {
  using Rule = TakingTheMean<X, Axes...>;
  static_assert(sizeof(fired<Rule>) > 0);
  if constexpr (!Rule::found.ok() || was_refused(placements_in<X>())) {
    return refused(x);
  } else {
    auto held = own_copy(comm, x);
    (comm.all_reduce(Axes, held.data(), held.size()), ...);
    float mean = 0;
    if constexpr (std::same_as<typename X::Value, WeightedSum>)
      mean = held.sum() / held.weight();
    else
      mean = held.mean / static_cast<float>((1 * ... * comm.ranks(Axes)));
    return DistributedValue<float, placements_taken<Taken::mean, X, Axes...>()>{mean};
  }
}

}  // namespace heddle::mesh_room

namespace heddle::extending {
using mesh_room::MeanOf, mesh_room::WeightedSum, mesh_room::average, mesh_room::mean_over, mesh_room::sum_over;
}  // namespace heddle::extending
