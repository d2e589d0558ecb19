// SPDX-License-Identifier: MIT
// What a rank has sent in one step, by axis and kind of collective, beside what the plan states; and its memory. On threads and on processes.
#pragma once

#include <doctest/doctest.h>

#include "heddle/backend/cpu.hpp"
#include "heddle/transport/movement.hpp"

namespace equivalence {

using namespace heddle;

inline constexpr Movement every_movement[] = {Movement::point_to_point, Movement::all_reduce, Movement::reduce_scatter, Movement::all_gather};

/// Bytes that the plan states for one rank along one axis.
[[nodiscard]] inline Bytes stated_bytes(const Program& p, Rank rank, Axis a, Movement kind, bool reported) {
  const Traffic stated{&p};
  const bool tensor = a == Axis::tensor;
  const bool slices = a == p.storage.axis;
  switch (kind) {
    case Movement::point_to_point: return a == Axis::stage ? stated.sent_to_peers(rank) : Bytes{};
    case Movement::all_reduce:
      return stated.sent_in_reductions(rank, a) + stated.sent_in_norm(rank, a) + stated.sent_in_phases(rank, a) +
             (reported ? stated.sent_for_loss(rank, a) : Bytes{}) +
             (tensor ? stated.sent_in_values(rank, BodyOp::reduce_value) + stated.sent_in_values(rank, BodyOp::reduce_parameter) : Bytes{});
    case Movement::reduce_scatter:
      return (tensor ? stated.sent_in_values(rank, BodyOp::scatter_value) : Bytes{}) + (slices ? stated.sent_in_reduce_scatters(rank) : Bytes{});
    case Movement::all_gather:
      return (tensor ? stated.sent_in_values(rank, BodyOp::gather_value) : Bytes{}) + (slices ? stated.sent_in_gathers(rank) : Bytes{});
  }
  return {};
}

/// What the transport counted of one rank since clear_traffic; the groups of an axis are its own.
template <class Transport> [[nodiscard]] Bytes counted_bytes(const Program& p, const Transport& transport, Rank rank, Axis a, Movement kind) {
  if (kind == Movement::point_to_point) return a == Axis::stage ? transport.sent(rank, kind).bytes : Bytes{};
  const int group = GroupNumbers{p, p}.of(p.mesh, rank, a);  // evaluation has no collective along an axis where training has none
  return group != GroupNumbers::none ? transport.sent(rank, kind, group).bytes : Bytes{};
}

/// Of one rank, along every axis, in every collective.
template <class Transport> void check_sent(const Program& p, const Transport& transport, Rank rank, bool reported) {
  CAPTURE(reported);
  CAPTURE(rank.value);
  for (const Movement kind : every_movement) {
    CAPTURE(name_of(kind));
    Bytes along_axes;
    for (const Axis a : group_axes) {
      CAPTURE(name_of(a));
      const Bytes counted = counted_bytes(p, transport, rank, a, kind);
      CHECK(counted == stated_bytes(p, rank, a, kind, reported));
      along_axes += counted;
    }
    CHECK(transport.sent(rank, kind).bytes == along_axes);
  }
}

/// What the plan states of its ranks sums up to what it states of itself, axis by axis.
inline void check_statement(const Program& p) {
  const Traffic stated{&p};
  Bytes norm, phases;
  for (const Axis a : group_axes) {
    CAPTURE(name_of(a));
    Bytes of_ranks;
    for (int r = 0; r < p.mesh.ranks(); ++r) {
      for (const Movement kind : every_movement) of_ranks += stated_bytes(p, Rank{r}, a, kind, false);
      of_ranks = Bytes{of_ranks.value - stated.sent_in_norm(Rank{r}, a).value - stated.sent_in_phases(Rank{r}, a).value};
      norm += stated.sent_in_norm(Rank{r}, a);
      phases += stated.sent_in_phases(Rank{r}, a);
    }
    Bytes of_plan = stated.gradients().on(a).total_with_padding + stated.parameters().on(a).total_with_padding;
    if (a == Axis::stage) of_plan += stated.activations().total_with_padding + stated.ties().total_with_padding;
    if (a == Axis::tensor) of_plan += stated.values().total_with_padding;
    CHECK(of_ranks == of_plan);
  }
  CHECK(norm == stated.norm().total_with_padding);
  CHECK(phases == stated.phases().total_with_padding);
}

/// After a step and an evaluation of every size of batch: a rank has used its whole arena, which is what its role needs.
inline void check_arena(const Program& p, Rank rank, const Arena& arena) {
  CAPTURE(rank.value);
  CHECK(arena.size() == Bytes{p.arenas[p.mesh.coordinate(rank, Axis::stage)].total});
  CHECK(arena.high_water() == arena.size());
}
/// Every rank that lives here; the largest is what the plan states.
inline void check_peak(const Program& p, Bytes stated) {
  Bytes most;
  for (int role = 0; role < p.roles; ++role) most = std::max(most, Bytes{p.arenas[role].total}, [](Bytes a, Bytes b) { return a.value < b.value; });
  CHECK(most == stated);
}
template <class AnyCalls> void check_arenas(AnyCalls& trainer, const Program& p, Bytes stated) {
  check_peak(p, stated);
  for (int r = 0; r < p.mesh.ranks(); ++r)
    if (trainer.local(Rank{r})) check_arena(p, Rank{r}, trainer.executor(Rank{r}).arena());
}

}  // namespace equivalence
