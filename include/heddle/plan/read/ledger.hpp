// SPDX-License-Identifier: MIT
// Room: plan. Messages and bytes of one step, per rank, axis and kind, read off the Program.
// Sees: plan/program, plan/read/collective_size, mesh, core.  Does not see: policies, processes, threads.
// In: a Program.  Out: Traffic.
#pragma once

#include <cstdint>

#include "heddle/core/ring_volume.hpp"
#include "heddle/core/units.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/plan/read/collective_size.hpp"

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

/// The collectives over axis tensor that stand in bodies. Before what uses it: clang instantiates its templates too late otherwise.
struct ValueCollectives {
  const Program* program = nullptr;

  /// visit(chunk, entry, size, times in a step) for every collective of the bodies.
  template <class Visit> constexpr void each_collective(Visit visit) const {
    if (program->mesh.size(Axis::tensor) == 1 || program->bucket_count == 0) return;  // nothing to do, or a refused plan
    for (const IndexRange* bodies : {program->forward_bodies, program->backward_bodies, program->weight_bodies})
      for (int c = 0; c < program->chunks; ++c)
        for (int e = bodies[c].begin; e < bodies[c].end; ++e) visit_collective(c, program->entries[e], visit);
  }
  template <class Visit> constexpr void visit_collective(int chunk, const Entry& entry, Visit visit) const {
    if (entry.what != BodyOp::reduce_value && entry.what != BodyOp::gather_value && entry.what != BodyOp::scatter_value &&
        entry.what != BodyOp::reduce_parameter)
      return;
    visit(chunk, entry, collective_size(*program, entry), times_in_a_step(*program, entry));
  }
};

/// The gathers of units that a step does.
struct UnitGathers {
  const Program* program = nullptr;

  /// visit(bucket, times in a step): after the step where parameters are whole, else as the bodies say.
  template <class Visit> constexpr void each(Visit visit) const {
    const Storage& storage = program->storage;
    for (int b = 0; b < program->bucket_count && program->training && storage.gathers_after_step(); ++b)
      if (program->buckets[b].steps()) visit(program->buckets[b], std::int64_t{1});
    if (!storage.parameters) return;
    for (const IndexRange* bodies : {program->forward_bodies, program->backward_bodies, program->weight_bodies})
      for (int c = 0; c < program->chunks; ++c)
        for (int e = bodies[c].begin; e < bodies[c].end; ++e) {
          const Entry& entry = program->entries[e];
          if (entry.what != BodyOp::gather_start) continue;
          visit(program->buckets[entry.bucket], times_in_a_step(*program, entry));
        }
  }
};

/// What a plan moves in one step.
///
/// Source  sources.md#allreduce
/// Tested  plan/read/ledger_test
struct Traffic {
  const Program* program = nullptr;

  /// Adds `halves` ring passes of (N-1)/N of a bucket over all groups of the axis; a reduction alone or a gather alone is one, both are two.
  constexpr void add_passes(Volume& v, Axis a, const FlatBucket& bucket, int slices, std::int64_t halves) const {
    const int n = program->mesh.size(a);
    const std::int64_t groups = program->mesh.ranks() / n / program->roles;  // per role
    v.total_payload += Bytes{groups * halves * (n - 1) * bucket.payload * 4 / slices};
    v.total_with_padding += Bytes{groups * halves * (n - 1) * bucket.elements * 4 / slices};
    v.messages += groups * n * halves * (n - 1);
  }
  [[nodiscard]] constexpr bool splits(Axis a) const { return program->batch_split[static_cast<int>(a)] && program->mesh.size(a) > 1; }
  [[nodiscard]] constexpr bool slices(Axis a) const { return program->storage.parts > 1 && a == program->storage.axis; }

  /// Reductions of gradients, by the axis they run along.
  struct Gradients {
    const Program* program;
    /// Shape   ring volume: reduce-scatter and all-gather of every bucket; the reduce-scatter alone along the axis that slices units
    [[nodiscard]] constexpr Volume on(Axis a) const {
      const Traffic traffic{program};
      Volume v;
      v.ranks = program->mesh.ranks();
      if (!program->training || !traffic.splits(a)) return v;
      const int reductions = program->storage.gradients ? program->batch.total_micro_batches() : 1;
      for (int b = 0; b < program->bucket_count; ++b)
        if (traffic.slices(a))
          traffic.add_passes(v, a, program->buckets[b], 1, reductions);
        else
          traffic.add_passes(v, a, program->buckets[b], program->storage.state_parts(), 2);
      return v;
    }
  };
  [[nodiscard]] constexpr Gradients gradients() const { return {program}; }

  /// Gathers of parameters, by the axis that slices them.
  struct ParameterGathers {
    const Program* program;
    /// Shape   once after the step, or before every forward and backward, or once before the first forward if they are kept
    [[nodiscard]] constexpr Volume on(Axis a) const {
      const Traffic traffic{program};
      Volume v;
      v.ranks = program->mesh.ranks();
      if (traffic.slices(a)) UnitGathers{program}.each([&](const FlatBucket& unit, std::int64_t times) { traffic.add_passes(v, a, unit, 1, times); });
      return v;
    }
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
    Volume v;
    v.ranks = program->mesh.ranks();
    const int n = program->mesh.size(Axis::tensor);
    const std::int64_t groups = program->mesh.ranks() / n / program->roles;
    ValueCollectives{program}.each_collective([&](int, const Entry&, const CollectiveSize& size, std::int64_t times) {
      v.total_payload += Bytes{groups * times * size.halves * (n - 1) * size.payload * 4};
      v.total_with_padding += Bytes{groups * times * size.halves * (n - 1) * size.elements * 4};
      v.messages += groups * times * n * size.halves * (n - 1);
    });
    return v;
  }
  /// Collectives of one kind over axis tensor in one step, of one rank of a role: forward and backward, all micro-batches.
  [[nodiscard]] constexpr std::int64_t value_collectives(int role, BodyOp kind) const {
    std::int64_t sum = 0;
    ValueCollectives{program}.each_collective([&](int chunk, const Entry& entry, const CollectiveSize&, std::int64_t times) {
      if (program->device_of_chunk[chunk] == role && entry.what == kind) sum += times;
    });
    return sum;
  }
  /// The loss, in a step that reports it.
  [[nodiscard]] constexpr Volume loss() const {
    Volume v;
    v.ranks = program->mesh.ranks();
    for (const Axis a : batch_axes) {
      const int n = program->mesh.size(a);
      if (!program->training || !program->batch_split[static_cast<int>(a)] || n == 1) continue;
      const std::int64_t groups = program->mesh.ranks() / n / program->roles;
      v.total_payload += Bytes{groups * 2 * (n - 1) * 4};
      v.messages += groups * n * 2 * (n - 1);
    }
    v.total_with_padding = v.total_payload;
    return v;
  }
  /// The norm of a plan that clips and the flag of one that scales its loss, in one reduction along every axis on which parameters are split: one
  /// float a unit, and one.
  [[nodiscard]] constexpr Volume norm() const {
    Volume v;
    v.ranks = program->mesh.ranks();
    for (const Axis a : norm_axes) {
      if (!program->training || !program->reduces_norm_along(a)) continue;
      const int n = program->mesh.size(a);
      v.total_payload += Bytes{program->mesh.ranks() / n * 2 * (n - 1) * program->norm_floats() * 4};
      v.messages += program->mesh.ranks() * 2 * (n - 1);
    }
    v.total_with_padding = v.total_payload;
    return v;
  }
  [[nodiscard]] constexpr Bytes sent_in_norm(Rank rank) const {
    Bytes bytes;
    for (const Axis a : norm_axes) bytes += sent_in_norm(rank, a);
    return bytes;
  }
  [[nodiscard]] constexpr Bytes sent_in_norm(Rank rank, Axis a) const {
    if (!program->training || !program->reduces_norm_along(a)) return {};
    return ring_bytes_sent(program->norm_floats(), program->mesh.size(a), program->mesh.coordinate(rank, a));
  }
  /// Bytes that one rank sends along one axis so that a step can report its loss.
  [[nodiscard]] constexpr Bytes sent_for_loss(Rank rank, Axis a) const {
    if (!program->training || !splits(a) || program->mesh.coordinate(rank, Axis::stage) != program->loss_role()) return {};
    return ring_bytes_sent(1, program->mesh.size(a), program->mesh.coordinate(rank, a));
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
    const int role = program->mesh.coordinate(rank, Axis::stage);
    Bytes bytes;
    if (!program->training || !splits(a) || slices(a)) return bytes;
    for (int b = 0; b < program->bucket_count; ++b)
      if (program->buckets[b].role == role)
        bytes +=
            ring_bytes_sent(program->buckets[b].elements / program->storage.state_parts(), program->mesh.size(a), program->mesh.coordinate(rank, a));
    return bytes;
  }
  /// Bytes that one rank sends in reduce-scatters of gradients in one step, padding included: all but its own slice.
  [[nodiscard]] constexpr Bytes sent_in_reduce_scatters(Rank rank) const {
    Bytes bytes;
    const std::int64_t times = program->storage.gradients ? program->batch.total_micro_batches() : 1;
    for (int b = 0; b < program->bucket_count && program->training; ++b) bytes += times * sent_in_pass(rank, program->buckets[b]);
    return bytes;
  }
  /// Bytes that one rank sends in all-gathers of parameters in one step, padding included: its slice to all others.
  [[nodiscard]] constexpr Bytes sent_in_gathers(Rank rank) const {
    Bytes bytes;
    UnitGathers{program}.each([&](const FlatBucket& unit, std::int64_t times) { bytes += times * sent_in_pass(rank, unit); });
    return bytes;
  }
  /// All three together.
  [[nodiscard]] constexpr Bytes sent_in_collectives(Rank rank) const {
    return sent_in_reductions(rank) + sent_in_reduce_scatters(rank) + sent_in_gathers(rank);
  }
  /// All slices of a unit but one.
  [[nodiscard]] constexpr Bytes sent_in_pass(Rank rank, const FlatBucket& unit) const {
    const int n = program->storage.parts;
    return unit.role == program->mesh.coordinate(rank, Axis::stage) ? Bytes{4 * unit.elements / n * (n - 1)} : Bytes{};
  }
  /// Bytes that one rank sends over axis tensor in one step, padding included: in collectives of one kind, or in all.
  [[nodiscard]] constexpr Bytes sent_in_values(Rank rank, BodyOp kind) const {
    const int n = program->mesh.size(Axis::tensor);
    Bytes bytes;
    ValueCollectives{program}.each_collective([&](int chunk, const Entry& entry, const CollectiveSize& size, std::int64_t times) {
      if (program->device_of_chunk[chunk] != program->mesh.coordinate(rank, Axis::stage) || entry.what != kind) return;
      bytes += times * (size.halves == 2 ? ring_bytes_sent(size.elements, n, program->mesh.coordinate(rank, Axis::tensor))
                                         : half_ring_bytes_sent(size.elements, n));
    });
    return bytes;
  }
  [[nodiscard]] constexpr Bytes sent_in_values(Rank rank) const {
    Bytes bytes;
    for (const BodyOp kind : {BodyOp::reduce_value, BodyOp::reduce_parameter, BodyOp::gather_value, BodyOp::scatter_value})
      bytes += sent_in_values(rank, kind);
    return bytes;
  }
  /// Bytes that one rank sends in one step, padding included and without the loss.
  [[nodiscard]] constexpr Bytes sent(Rank rank) const {
    return sent_to_peers(rank) + sent_in_values(rank) + sent_in_collectives(rank) + sent_in_norm(rank);
  }
  /// Messages of a step over all ranks, without those of the loss.
  [[nodiscard]] constexpr std::int64_t messages() const {
    std::int64_t sum = activations().messages + values().messages + ties().messages + norm().messages;
    for (const Axis a : batch_axes) sum += gradients().on(a).messages + parameters().on(a).messages;
    return sum;
  }
  /// Everything a step moves over all ranks, without padding and without the loss.
  [[nodiscard]] constexpr Bytes total() const {
    Bytes sum = activations().total_payload + values().total_payload;
    for (const Axis a : batch_axes) sum += gradients().on(a).total_payload + parameters().on(a).total_payload;
    sum += norm().total_payload + ties().total_payload;
    return sum;
  }
};

}  // namespace heddle::plan_room
