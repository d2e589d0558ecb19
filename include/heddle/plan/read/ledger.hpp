// SPDX-License-Identifier: MIT
// Room: plan. Messages and bytes of one step, per rank, axis and kind, read off the Program.
// Sees: plan/program, plan/read/each_collective, mesh, core.  Does not see: policies, processes, threads.
// In: a Program.  Out: Traffic.
#pragma once

#include <cstdint>

#include "heddle/core/ring_volume.hpp"
#include "heddle/core/units.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/plan/read/each_collective.hpp"

namespace heddle::plan_room {

/// Bytes that one kind of transfer moves in one step. `payload` leaves out the padding of flat buffers and grains: words with *moved* are without it,
/// words with *sent* have it.
/// DataParallel<2> of Linear<16, 16> moves 2,176 bytes of gradients in 4 messages, 8,192 bytes with padding.
struct Volume {
  Bytes total_payload;  ///< over all ranks
  Bytes total_with_padding;
  std::int64_t messages = 0;
  int ranks = 1;
  /// Mean over ranks, without padding: 2 (N-1)/N x gradient bytes for DataParallel<N>.
  [[nodiscard]] constexpr Bytes moved_per_rank() const { return total_payload / ranks; }
  [[nodiscard]] constexpr Bytes padding() const { return total_with_padding - total_payload; }
};

/// The collectives of a step for which `wanted` is true, over all ranks: of each the passes round a ring, (N-1)/N of it, in all groups of its axis.
template <class Wanted> [[nodiscard]] constexpr Volume volume_of(const Program& p, Wanted wanted) {
  Volume v;
  v.ranks = p.mesh.ranks();
  each_collective(p, [&](int role, const Collective& c, std::int64_t times) {
    if (!wanted(c) || (c.axis == Axis::stage && role > 0)) return;  // a group along axis stage has a rank of each role
    const int n = p.mesh.size(c.axis);
    const std::int64_t groups = p.mesh.ranks() / n / (c.axis == Axis::stage ? 1 : p.roles);
    const std::int64_t passes = groups * times * c.halves() * (n - 1);
    v.total_payload += Bytes{passes * c.payload * bytes_of(c.wire()) / c.slices};
    v.total_with_padding += Bytes{passes * c.floats() * float_bytes};
    v.messages += passes * n;
  });
  return v;
}
[[nodiscard]] constexpr Volume volume_along(const Program& p, Purpose purpose, Axis a) {
  return volume_of(p, [=](const Collective& c) { return c.purpose == purpose && c.axis == a; });
}
/// Bytes that one rank sends in them, padding included; in an all-reduce the lines that it owns depend on its position.
template <class Wanted> [[nodiscard]] constexpr Bytes sent_by(const Program& p, Rank rank, Wanted wanted) {
  Bytes bytes;
  each_collective(p, [&](int role, const Collective& c, std::int64_t times) {
    if (role != p.mesh.coordinate(rank, Axis::stage) || !wanted(c)) return;
    const int n = p.mesh.size(c.axis);
    bytes += times * (c.halves() == 2 ? ring_bytes_sent(c.floats(), n, p.mesh.coordinate(rank, c.axis)) : half_ring_bytes_sent(c.floats(), n));
  });
  return bytes;
}
/// What an entry of this kind moves between ranks of axis tensor.
[[nodiscard]] constexpr bool is_moved_by(BodyOp what, const Collective& c) {
  if (c.purpose == Purpose::parameter_term) return what == BodyOp::reduce_parameter;
  if (c.purpose != Purpose::value) return false;
  return what == (c.kind == CollectiveKind::all_reduce   ? BodyOp::reduce_value
                  : c.kind == CollectiveKind::all_gather ? BodyOp::gather_value
                                                         : BodyOp::scatter_value);
}

/// What a plan moves in one step.
///
/// Source  sources.md#allreduce
/// Tested  plan/read/ledger_test
struct Traffic {
  const Program* program = nullptr;

  /// Reductions of gradients, by the axis they run along.
  struct Gradients {
    const Program* program;
    /// Shape   ring volume: reduce-scatter and all-gather of every bucket; the reduce-scatter alone along the axis that slices units
    [[nodiscard]] constexpr Volume on(Axis a) const { return volume_along(*program, Purpose::gradient, a); }
  };
  [[nodiscard]] constexpr Gradients gradients() const { return {program}; }

  /// Gathers of parameters, by the axis that slices them.
  struct ParameterGathers {
    const Program* program;
    /// Shape   once after the step, or before every forward and backward, or once before the first forward if they are kept
    [[nodiscard]] constexpr Volume on(Axis a) const { return volume_along(*program, Purpose::parameters, a); }
  };
  [[nodiscard]] constexpr ParameterGathers parameters() const { return {program}; }

  /// Values and their gradients between stages.
  [[nodiscard]] constexpr Volume activations() const {
    Volume v;
    v.ranks = program->mesh.ranks();
    const std::int64_t replicas = program->mesh.ranks() / program->roles;
    const std::int64_t rows = replicas / program->batch.ranks * program->batch.capacity();  // unequal shares fill their messages unequally
    for (int t = 0; t < program->transfer_count; ++t) {
      if (program->transfers[t].use >= 0) continue;
      const std::int64_t times = replicas * program->batch.total_micro_batches();
      const Transfer& sent = program->transfers[t];
      v.total_payload += Bytes{sent.payload / program->batch.micro_rows * rows * bytes_of(program->type_of(sent))};
      v.total_with_padding += times * program->bytes(sent);
      v.messages += times;
    }
    return v;
  }
  /// Gradients of tied parameters between the stages that use them: a slice of every use to every other of these stages.
  [[nodiscard]] constexpr Volume ties() const {
    Volume v;
    v.ranks = program->mesh.ranks();
    const std::int64_t replicas = program->mesh.ranks() / program->roles;
    for (int t = 0; t < program->transfer_count; ++t) {
      if (program->transfers[t].use < 0) continue;
      const Transfer& sent = program->transfers[t];
      v.total_payload += Bytes{replicas * sent.payload * bytes_of(program->type_of(sent)) / program->storage.state_parts()};
      v.total_with_padding += replicas * program->bytes(sent);
      v.messages += replicas;
    }
    return v;
  }
  /// What the ranks of axis tensor sum, scatter and gather in bodies: values, their gradients, gradients of whole parameters.
  [[nodiscard]] constexpr Volume values() const {
    return volume_of(*program, [](const Collective& c) { return c.purpose == Purpose::value || c.purpose == Purpose::parameter_term; });
  }
  /// Collectives of one kind over axis tensor in one step, of one rank of a role: forward and backward, all micro-batches.
  [[nodiscard]] constexpr std::int64_t value_collectives(int role, BodyOp kind) const {
    std::int64_t sum = 0;
    each_collective(*program, [&](int of, const Collective& c, std::int64_t times) {
      if (of == role && is_moved_by(kind, c)) sum += times;
    });
    return sum;
  }
  /// What the ranks that split the batch tell each other between the phases of layers.
  [[nodiscard]] constexpr Volume phases() const {
    return volume_of(*program, [](const Collective& c) { return c.purpose == Purpose::phase; });
  }
  [[nodiscard]] constexpr Bytes sent_in_phases(Rank rank) const {
    return sent_by(*program, rank, [](const Collective& c) { return c.purpose == Purpose::phase; });
  }
  [[nodiscard]] constexpr Bytes sent_in_phases(Rank rank, Axis a) const {
    return sent_by(*program, rank, [=](const Collective& c) { return c.purpose == Purpose::phase && c.axis == a; });
  }
  /// The loss, in a step that reports it.
  [[nodiscard]] constexpr Volume loss() const {
    return volume_of(*program, [trains = program->training](const Collective& c) { return trains && c.purpose == Purpose::loss; });
  }
  /// The norm of a plan that clips and the flag of one that scales its loss, in one reduction along every axis on which parameters are split: one
  /// float a unit, and one.
  [[nodiscard]] constexpr Volume norm() const {
    return volume_of(*program, [](const Collective& c) { return c.purpose == Purpose::norm; });
  }
  [[nodiscard]] constexpr Bytes sent_in_norm(Rank rank) const {
    return sent_by(*program, rank, [](const Collective& c) { return c.purpose == Purpose::norm; });
  }
  [[nodiscard]] constexpr Bytes sent_in_norm(Rank rank, Axis a) const {
    return sent_by(*program, rank, [=](const Collective& c) { return c.purpose == Purpose::norm && c.axis == a; });
  }
  /// Bytes that one rank sends along one axis so that a step can report its loss.
  [[nodiscard]] constexpr Bytes sent_for_loss(Rank rank, Axis a) const {
    return sent_by(*program, rank,
                   [=, trains = program->training](const Collective& c) { return trains && c.purpose == Purpose::loss && c.axis == a; });
  }
  /// Point-to-point bytes that one rank sends in one step, padding included.
  [[nodiscard]] constexpr Bytes sent_to_peers(Rank rank) const {
    const int role = program->mesh.coordinate(rank, Axis::stage);
    Bytes sent;
    for (int i = program->lists[role].begin; i < program->lists[role].end; ++i)
      if (program->instructions[i].op == ListOp::send_start) sent += program->bytes(program->transfers[program->instructions[i].transfer]);
    return sent;
  }
  /// Bytes that one rank sends in all-reduces of gradients in one step, padding included; the lines it owns depend on its position.
  [[nodiscard]] constexpr Bytes sent_in_reductions(Rank rank) const {
    Bytes bytes;
    for (const Axis a : batch_axes) bytes += sent_in_reductions(rank, a);
    return bytes;
  }
  [[nodiscard]] constexpr Bytes sent_in_reductions(Rank rank, Axis a) const {
    return sent_by(*program, rank,
                   [=](const Collective& c) { return c.purpose == Purpose::gradient && c.kind == CollectiveKind::all_reduce && c.axis == a; });
  }
  /// Bytes that one rank sends in reduce-scatters of gradients in one step, padding included: all but its own slice.
  [[nodiscard]] constexpr Bytes sent_in_reduce_scatters(Rank rank) const {
    return sent_by(*program, rank, [](const Collective& c) { return c.purpose == Purpose::gradient && c.kind == CollectiveKind::reduce_scatter; });
  }
  /// Bytes that one rank sends in all-gathers of parameters in one step, padding included: its slice to all others.
  [[nodiscard]] constexpr Bytes sent_in_gathers(Rank rank) const {
    return sent_by(*program, rank, [](const Collective& c) { return c.purpose == Purpose::parameters; });
  }
  /// All three together.
  [[nodiscard]] constexpr Bytes sent_in_collectives(Rank rank) const {
    return sent_in_reductions(rank) + sent_in_reduce_scatters(rank) + sent_in_gathers(rank);
  }
  /// Bytes that one rank sends over axis tensor in one step, padding included: in collectives of one kind, or in all.
  [[nodiscard]] constexpr Bytes sent_in_values(Rank rank, BodyOp kind) const {
    return sent_by(*program, rank, [=](const Collective& c) { return is_moved_by(kind, c); });
  }
  [[nodiscard]] constexpr Bytes sent_in_values(Rank rank) const {
    Bytes bytes;
    for (const BodyOp kind : {BodyOp::reduce_value, BodyOp::reduce_parameter, BodyOp::gather_value, BodyOp::scatter_value})
      bytes += sent_in_values(rank, kind);
    return bytes;
  }
  /// Bytes that one rank sends in one step, padding included and without the loss.
  [[nodiscard]] constexpr Bytes sent(Rank rank) const {
    return sent_to_peers(rank) + sent_in_values(rank) + sent_in_phases(rank) + sent_in_collectives(rank) + sent_in_norm(rank);
  }
  /// Messages of a step over all ranks, without those of the loss.
  [[nodiscard]] constexpr std::int64_t messages() const {
    std::int64_t sum = activations().messages + values().messages + phases().messages + ties().messages + norm().messages;
    for (const Axis a : batch_axes) sum += gradients().on(a).messages + parameters().on(a).messages;
    return sum;
  }
  /// Everything a step moves over all ranks, without padding and without the loss.
  [[nodiscard]] constexpr Bytes total() const {
    Bytes sum = activations().total_payload + values().total_payload;
    for (const Axis a : batch_axes) sum += gradients().on(a).total_payload + parameters().on(a).total_payload;
    sum += norm().total_payload + ties().total_payload + phases().total_payload;
    return sum;
  }
};

}  // namespace heddle::plan_room
