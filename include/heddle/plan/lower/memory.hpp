// SPDX-License-Identifier: MIT
// Room: plan. The arena of each role: regions one behind the other, of what training and evaluation need.
// Sees: plan/program, plan/lower/{units, slots}.  Does not see: instructions, processes, threads, kernels.
// In: parameters, pools, scratch.  Out: ArenaMap, the base of every pool.
#pragma once

#include <cstdint>

#include "heddle/core/units.hpp"
#include "heddle/plan/lower/slots.hpp"
#include "heddle/plan/lower/units.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// Adds the pools of one role behind each other; returns the end.
[[nodiscard]] constexpr std::int64_t place_pools(Pool* pools, int pool_count, int role, std::int64_t at) {
  for (int p = 0; p < pool_count; ++p) {
    Pool& pool = pools[p];
    if (pool.role != role) continue;
    pool.base = at;
    at += pool.slots * pool.slot_bytes;
  }
  return at;
}

/// What the arena of one role is made of.
/// Linear<16, 16> with Adam has 4,096 bytes of parameters, as many of gradients, and 8,192 of its 2 states.
struct ArenaInput {
  const Graph& graph;  // as one rank sees it
  const Layout& layout;
  const BatchDivision& batch;
  FlatPlaces flat;
  Storage storage;
  const FlatBucket* buckets = nullptr;
  int bucket_count = 0;
  int frozen_count = 0;                    ///< behind these
  const std::int64_t* tie_room = nullptr;  // by role
  int states = 0;
  BeforeStep before{};

  [[nodiscard]] constexpr std::int64_t greatest_scratch(const std::int64_t* by_chunk, int role) const {
    std::int64_t most = 0;
    for (int c = 0; c < layout.chunk_count; ++c)
      if (layout.device_of_chunk[c] == role && by_chunk[c] > most) most = by_chunk[c];
    return most;
  }
  /// Elements of the largest of `count` buckets from `first` on, if they are of the role.
  [[nodiscard]] constexpr std::int64_t largest(int role, int first, int count) const {
    std::int64_t most = 0;
    for (int b = first; b < first + count; ++b)
      if (buckets[b].role == role && buckets[b].elements > most) most = buckets[b].elements;
    return most;
  }
  /// Elements of the largest parameter that one coordinate of axis tensor adds and the others leave out.
  [[nodiscard]] constexpr std::int64_t most_zeros(int role) const {
    std::int64_t most = 0;
    for (int p = 0; graph.split.any() && p < graph.parameter_count; ++p) {
      const ParameterPlace& place = flat.parameters[p];
      if (place.role != role || place.elements <= most) continue;
      if (graph.signature(place.node).parameters[place.index].partial()) most = place.elements;
    }
    return most;
  }
};

/// Puts regions one behind the other: one of 256 bytes from 0 on, two copies of 128 from 256 on, the next from 512 on.
struct ArenaWriter {
  ArenaMap map{};
  std::int64_t end = 0;

  constexpr void put(RegionKind kind, Addressing how, std::int64_t slot_bytes, int copies = 1, int parts = 1,
                     ElementType type = ElementType::float32) {
    Region& region = map.regions[static_cast<int>(kind)];
    region.type = type;
    region.addressing = how;
    region.parts = static_cast<std::int16_t>(parts);
    region.copies = static_cast<std::int16_t>(copies);
    region.begin = end;
    region.slot_bytes = slot_bytes;
    end += copies * slot_bytes;
  }
  constexpr void put_list(RegionKind kind, std::int64_t bytes) { put(kind, Addressing::list, bytes); }
};

/// Regions of parameters, gradients and states. Rings have room for the largest bucket of the role.
constexpr void put_flat_regions(const ArenaInput& in, int role, ArenaWriter& to) {
  const Storage& kept = in.storage;
  const std::int64_t largest = in.largest(role, 0, in.bucket_count);
  const std::int64_t frozen = float_bytes * in.flat.frozen_elements[role];
  const std::int64_t own = float_bytes * in.flat.role_elements[role];
  const std::int64_t all = float_bytes * in.flat.gradient_elements[role];
  to.put(RegionKind::parameters, Addressing::flat, own / kept.parameter_parts(), 1, kept.parameter_parts());
  to.put(RegionKind::frozen, Addressing::flat, frozen / kept.parameter_parts(), 1, kept.parameter_parts());
  if (kept.parameters && kept.keeps) {
    to.put(RegionKind::gathered, Addressing::flat, all / float_bytes * bytes_of(kept.gathered), 1, 1, kept.gathered);
    to.put(RegionKind::thawed, Addressing::flat, float_bytes * in.flat.thawed_elements[role]);
  } else {
    to.put(RegionKind::gathered, Addressing::ring, bytes_of(kept.gathered) * largest, kept.parameters ? 2 : 0, 1, kept.gathered);
    to.put(RegionKind::thawed, Addressing::ring, float_bytes * in.largest(role, in.bucket_count, in.frozen_count), kept.parameters ? 2 : 0);
  }
  to.put(RegionKind::gradients, Addressing::flat, all / kept.gradient_parts(), in.batch.levels(), kept.gradient_parts());
  to.put(RegionKind::fresh, Addressing::ring, float_bytes * largest, kept.gradients ? 2 : 0);
  to.put(RegionKind::arrived, Addressing::ring, float_bytes * largest / kept.parts, kept.adds_slices ? 2 : 0, kept.parts);
  to.put_list(RegionKind::ties, in.tie_room[role]);
  to.put(RegionKind::states, Addressing::flat, own / kept.state_parts(), in.states, kept.state_parts());
}

/// Arenas hold the larger of what training and evaluation need; parameters lie at the same place in both. `training`, `evaluation`: pools, which get
/// their base; `scratch`: by chunk.
[[nodiscard]] constexpr ArenaMap place_arena(const ArenaInput& in, int role, Pool* training, Pool* evaluation, const std::int64_t* training_scratch,
                                             const std::int64_t* evaluation_scratch) {
  const int chunks = in.layout.chunk_count;
  ArenaWriter to;
  put_flat_regions(in, role, to);
  const bool has_loss = role == in.layout.device_of_chunk[chunks - 1];
  to.put_list(RegionKind::losses, has_loss ? rounded_up(float_bytes * (in.batch.rank_grains() + 1), line_bytes) : 0);
  to.put_list(RegionKind::norms, rounded_up(float_bytes * in.before.floats(in.flat.unit_count), line_bytes));
  to.put_list(RegionKind::zeros, rounded_up(float_bytes * in.most_zeros(role), line_bytes));
  const std::int64_t trained = place_pools(training, chunks * pool_kinds, role, to.end);
  const std::int64_t evaluated = place_pools(evaluation, chunks * pool_kinds, role, to.end);
  to.put_list(RegionKind::pools, (trained > evaluated ? trained : evaluated) - to.end);
  const std::int64_t a = in.greatest_scratch(training_scratch, role);
  const std::int64_t b = in.greatest_scratch(evaluation_scratch, role);
  to.put_list(RegionKind::scratch, a > b ? a : b);
  to.map.total = to.end;
  return to.map;
}

/// The arenas of an evaluation without what training needs: parameters, the zeros that stand for some of them, the pools of the forward, its scratch.
/// `scratch`: bytes that the forward of each chunk uses; `maps` by role and `pools` are of another owner.
constexpr void place_forward_arenas(const Program& p, const std::int64_t* scratch, ArenaMap* maps, Pool* pools) {
  const int count = p.chunks * pool_kinds;
  for (int k = 0; k < count; ++k) pools[k] = p.pools[k];
  for (int r = 0; r < p.roles; ++r) {
    ArenaWriter to{p.arenas[r], p.arenas[r][RegionKind::gradients].begin};
    for (RegionKind kind = RegionKind::gradients; kind < RegionKind::zeros; kind = static_cast<RegionKind>(static_cast<int>(kind) + 1)) {
      to.map[kind].begin = to.end;
      to.map[kind].copies = 0;
    }
    to.put_list(RegionKind::zeros, to.map[RegionKind::zeros].bytes());
    to.put_list(RegionKind::pools, place_pools(pools, count, r, to.end) - to.end);
    std::int64_t most = 0;
    for (int c = 0; c < p.chunks; ++c)
      if (p.device_of_chunk[c] == r && scratch[c] > most) most = scratch[c];
    to.put_list(RegionKind::scratch, most);
    to.map.total = to.end;
    maps[r] = to.map;
  }
}

}  // namespace heddle::plan_room
