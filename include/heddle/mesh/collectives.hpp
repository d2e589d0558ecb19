// SPDX-License-Identifier: MIT
// Room: mesh. Collectives of user code: each takes one placement along an axis and gives another, in the type.
// Sees: core, mesh/collective_rules.  Does not see: processes, transports; a Communicator is whatever moves the numbers.
// In: a Communicator and a Distributed value.  Out: a Distributed value with another placement.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "heddle/core/fire.hpp"
#include "heddle/core/units.hpp"
#include "heddle/mesh/collective_rules.hpp"

namespace heddle::mesh_room {

/// What moves the numbers of a rank. Every rank of a group makes the same calls in the same order; each returns when it is done.
template <class C>
concept Communicator = requires(C& c, Axis a, const float* source, float* target, std::int64_t elements, int root) {
  { c.rank() } -> std::same_as<Rank>;
  { c.ranks(a) } -> std::same_as<int>;            // along the axis; 1 if the mesh does not have it
  c.all_reduce(a, target, elements);              // in place
  c.reduce_scatter(a, source, target, elements);  // `elements` of the whole; target has elements / ranks(a)
  c.all_gather(a, source, target, elements);      // source has elements / ranks(a)
  c.broadcast(a, root, target, elements);         // from the rank at coordinate `root`
};

template <class T> [[nodiscard]] constexpr float* floats_of(T& value) {
  if constexpr (std::same_as<T, float>)
    return &value;
  else
    return value.data();
}
template <class T> [[nodiscard]] constexpr std::int64_t float_count(const T& value) {
  if constexpr (std::same_as<T, float>)
    return 1;
  else
    return static_cast<std::int64_t>(value.size());
}

/// What this rank holds, to be changed; the value that it was copied from stays as it is.
///
/// Errors  P22 at run time, from the communicator, if both are one memory
template <class Comm, class X> [[nodiscard]] auto own_copy(Comm& comm, const X& x) {
  auto held = held_by(x);
  if constexpr (requires { comm.refuse(Diagnosis{}); })
    if (float_count(held) > 0 && floats_of(held) == floats_of(const_cast<decltype(held)&>(held_by(x))))
      comm.refuse(Diagnosis{Code{'P', 22}, ""} << "a copy of a distributed " << type_name<decltype(held)>().view()
                                               << " has the same memory as the value: a collective would change both. Fix: hold the numbers in a "
                                                  "type whose copies have memory of their own, as std::vector<float>.");
  return held;
}

/// Takes the sum over the axes: Partial becomes Replicate.
///
/// Shape   that of x, on every rank
/// Moves   2 (N-1)/N of the floats per rank and axis of N ranks                  [bytes]
/// Errors  P13 at build if x is no sum over an axis that is named, P16 if it is a mean, P18 if it cannot be moved
/// Tested  mesh/collectives_test, backend/spmd_threads_test, backend/spmd_mpi_test, fail/P13_all_reduce_of_a_whole_value
template <Axis... Axes, Communicator Comm, class X> [[nodiscard]] auto all_reduce(Comm& comm, const X& x) {
  using Rule = Calling<CalledCollective::all_reduce, X, Axes...>;
  static_assert(sizeof(fired<Rule>) > 0);
  if constexpr (!Rule::found.ok() || was_refused(placements_in<X>())) {
    return refused(x);
  } else {
    auto held = own_copy(comm, x);
    (comm.all_reduce(Axes, floats_of(held), float_count(held)), ...);
    return DistributedValue<typename X::Value, placements_after<CalledCollective::all_reduce, X, Axes...>()>{std::move(held)};
  }
}

/// Takes the sum over one axis and leaves each rank its part along dimension 0: Partial becomes Shard.
///
/// Shape   (n, ...) becomes (n / N, ...); N ranks must divide n
/// Moves   (N-1)/N of the floats per rank                                        [bytes]
/// Errors  as all_reduce
/// Tested  mesh/collectives_test, backend/spmd_threads_test, backend/spmd_mpi_test
template <Axis... Axes, Communicator Comm, class X> [[nodiscard]] auto reduce_scatter(Comm& comm, const X& x) {
  using Rule = Calling<CalledCollective::reduce_scatter, X, Axes...>;
  static_assert(sizeof(fired<Rule>) > 0);
  if constexpr (!Rule::found.ok() || was_refused(placements_in<X>())) {
    return refused(x);
  } else {
    auto held = own_copy(comm, x);
    const auto along = [&](Axis a) {
      auto part = held;
      part.resize(part.size() / static_cast<decltype(part.size())>(comm.ranks(a)));
      comm.reduce_scatter(a, held.data(), part.data(), float_count(held));
      held = std::move(part);
    };
    (along(Axes), ...);
    return DistributedValue<typename X::Value, placements_after<CalledCollective::reduce_scatter, X, Axes...>()>{std::move(held)};
  }
}

/// Joins the parts of one axis along dimension 0, in the order of the ranks: Shard becomes Replicate.
///
/// Shape   (n, ...) becomes (n N, ...)
/// Moves   (N-1)/N of the joined floats per rank                                 [bytes]
/// Errors  P13 at build if x is not split over the axis, or not along dimension 0; P18 if it cannot grow
/// Tested  mesh/collectives_test, backend/spmd_threads_test, backend/spmd_mpi_test
template <Axis... Axes, Communicator Comm, class X> [[nodiscard]] auto all_gather(Comm& comm, const X& x) {
  using Rule = Calling<CalledCollective::all_gather, X, Axes...>;
  static_assert(sizeof(fired<Rule>) > 0);
  if constexpr (!Rule::found.ok() || was_refused(placements_in<X>())) {
    return refused(x);
  } else {
    auto held = own_copy(comm, x);
    const auto along = [&](Axis a) {
      auto whole = held;
      whole.resize(whole.size() * static_cast<decltype(whole.size())>(comm.ranks(a)));
      comm.all_gather(a, held.data(), whole.data(), float_count(whole));
      held = std::move(whole);
    };
    (along(Axes), ...);
    return DistributedValue<typename X::Value, placements_after<CalledCollective::all_gather, X, Axes...>()>{std::move(held)};
  }
}

/// The value of the rank at coordinate `root`, on every rank of the axes. Takes a plain value too, which may be another on every rank: name
/// every axis along which it differs.
///
/// Moves   the floats once to each other rank of the axis                        [bytes]
/// Errors  P13 at build if the others hold parts or terms; P20 at run time for a root that is not there
/// Tested  mesh/collectives_test, backend/spmd_threads_test, backend/spmd_mpi_test
template <Axis... Axes, Communicator Comm, class X> [[nodiscard]] auto broadcast(Comm& comm, const X& x, int root = 0) {
  using Rule = Calling<CalledCollective::broadcast, X, Axes...>;
  static_assert(sizeof(fired<Rule>) > 0);
  if constexpr (!Rule::found.ok() || was_refused(placements_in<X>())) {
    return refused(x);
  } else {
    auto held = own_copy(comm, x);
    (comm.broadcast(Axes, root, floats_of(held), float_count(held)), ...);
    return DistributedValue<decltype(held), placements_in<X>()>{std::move(held)};
  }
}

/// Returns when every rank of the axes has called it: for what lies outside the program, as a file that one rank writes and the others read. It
/// moves no value, so nothing in a type changes; the axes say which ranks wait for each other, and an axis of one rank waits for nobody.
///
/// Moves   what an all_reduce of one float does, axis after axis                 [bytes]
/// Errors  P18 at build if it names no axis; RankLost where a rank does not come
/// Tested  mesh/collectives_test, backend/spmd_threads_test, backend/spmd_mpi_test, fail/P18_barrier_of_no_axis
template <Axis... Axes, Communicator Comm> void barrier(Comm& comm) {
  static_assert(sizeof(fired<Waiting<Axes...>>) > 0);
  float nothing = 0;
  (comm.all_reduce(Axes, &nothing, 1), ...);
}

/// Says, without communication, that a sum over the axes is taken already; the reason is for the reader and for grep.
///
/// Errors  P13 at build if x is no such sum; P18 without a reason
/// Tested  mesh/collectives_test, fail/P18_assume_without_a_reason
template <Axis... Axes, class X, std::size_t Length = 1> [[nodiscard]] constexpr auto assume_reduced(const X& x, const char (&why)[Length] = "") {
  using Rule = Assuming<(Length > 1), X, Axes...>;
  static_assert(sizeof(fired<Rule>) > 0);
  static_cast<void>(why);
  if constexpr (!Rule::found.ok() || was_refused(placements_in<X>()))
    return refused(x);
  else
    return DistributedValue<typename X::Value, placements_after<CalledCollective::assume_reduced, X, Axes...>()>{x.held_by_this_rank()};
}

}  // namespace heddle::mesh_room

namespace heddle::extending {
using mesh_room::Communicator, mesh_room::all_gather, mesh_room::all_reduce, mesh_room::assume_reduced, mesh_room::barrier, mesh_room::broadcast,
    mesh_room::reduce_scatter;
}  // namespace heddle::extending
