// SPDX-License-Identifier: MIT
// Room: plan. Memory of a device: what is kept at the same time lies side by side, on lines of 64 bytes, and all of it within the arena.
// Sees: plan/check/flat, plan/program.  Does not see: lowering, policies, processes, threads.
// In: a Program.  Out: ok, or S19 with what overlaps and the bytes.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/plan/check/flat.hpp"
#include "heddle/plan/check/restated.hpp"
#include "heddle/plan/program/alignment.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// One device. Regions are visited in the order in which they lie, each as large as what is read and written there.
///
/// Linear<8, 6> on one device with SGD: parameters at byte 0, gradients at 4096, the loss at 8192, values behind it.
/// Tested  plan/check/arenas_test
struct ArenaCheck {
  const Program& p;
  int states;   ///< of the optimizer, for each parameter
  bool trains;  ///< false: nothing is kept for a training, and no loss is reported
  int role = 0;
  const ArenaMap& map = p.arenas[role];
  std::int64_t end = 0;
  Diagnosis fault{};

  constexpr void run() {
    const Storage& storage = p.storage;
    const std::int64_t flat = map[RegionKind::parameters].elements();
    const std::int64_t all = map[RegionKind::gradients].elements();
    region({RegionKind::parameters, "the parameters", Addressing::flat, float_bytes * flat / slices_of(storage, storage.parameters), 1,
            slices_of(storage, storage.parameters)});
    const int parts = slices_of(storage, storage.parameters);
    region({RegionKind::frozen, "the frozen parameters", Addressing::flat, 0, 1, parts});
    if (storage.parameters && storage.keeps) {
      region({RegionKind::gathered, "the gathered units", Addressing::flat, bytes_of(storage.gathered) * all, 1, 1, storage.gathered});
      region({RegionKind::thawed, "the gathered frozen units", Addressing::flat, float_bytes * map[RegionKind::frozen].elements()});
    } else if (storage.parameters) {
      region({RegionKind::gathered, "ring of gathered units, slot ", Addressing::ring, 0, 2, 1, storage.gathered});
      region({RegionKind::thawed, "ring of gathered frozen units, slot ", Addressing::ring, 0, 2});
    }
    if (trains) {
      region({RegionKind::gradients, "level ", Addressing::flat, float_bytes * all / slices_of(storage, storage.gradients), gradient_copies(p.batch),
              slices_of(storage, storage.gradients)});
      if (storage.gradients) region({RegionKind::fresh, "ring of unreduced units, slot ", Addressing::ring, 0, 2});
      if (storage.adds_slices) region({RegionKind::arrived, "ring of arrived slices, slot ", Addressing::ring, 0, 2, storage.parts});
      for (int t = 0; t < p.transfer_count && p.use_count > 0; ++t)
        if (const Transfer& sent = p.transfers[t]; sent.use >= 0 && sent.to_role == role)
          put("the room of transfer ", t, map[RegionKind::ties].begin + sent.target.offset, p.bytes(sent).value);
      region({RegionKind::states, "state ", Addressing::flat, float_bytes * flat / slices_of(storage, storage.states), states,
              slices_of(storage, storage.states)});
      if (role == p.loss_role()) put("the loss", 0, map[RegionKind::losses].begin, float_bytes * (grains_of_step(p.batch) + 1));
      put("the norms", 0, map[RegionKind::norms].begin, float_bytes * floats_of_norm(p));
    }
    for (const RegionKind list : {RegionKind::ties, RegionKind::losses, RegionKind::norms, RegionKind::zeros, RegionKind::pools, RegionKind::scratch})
      if (const ElementType type = map[list].type; type != ElementType::float32 && fault.ok())
        fault = noted_otherwise("the type of the elements of what a table places", "", name_of(type), name_of(ElementType::float32));
    put("the zeros", 0, map[RegionKind::zeros].begin, float_bytes * most_zeros());
    if (fault.ok() && map[RegionKind::pools].begin < end) fault = overlaps("the first pool", 0, role, map[RegionKind::pools].begin, end);
    if (fault.ok()) values();
  }
  /// Of one mode, behind all that is kept.
  constexpr void values() {
    end = map[RegionKind::pools].begin;
    for (int c = 0; c < p.chunks; ++c)
      for (int i = c * pool_kinds; p.device_of_chunk[c] == role && i < (c + 1) * pool_kinds; ++i) pool(i, c);
    put("the scratch", 0, map[RegionKind::scratch].begin, map[RegionKind::scratch].bytes());
    if (fault.ok() && end > map.total) outside("the arena", 0, end, map.total);
  }

 private:
  constexpr void outside(std::string_view what, std::int64_t number, std::int64_t at, std::int64_t room) {
    if (fault.ok()) fault = ends_outside(what, number, role, at, room);
  }
  /// What has no bytes may lie anywhere.
  constexpr void put(std::string_view what, std::int64_t number, std::int64_t begin, std::int64_t bytes) {
    if (bytes == 0 || !fault.ok()) return;
    if (begin < end || begin % line_bytes != 0 || bytes < 0) return void(fault = overlaps(what, number, role, begin, end));
    end = begin + bytes;
  }
  /// What follows for a region from what is sliced and how often: Linear<16, 16> with Adam has 2 states of 4,096 bytes, of one part.
  struct Expected {
    RegionKind kind;
    std::string_view what;
    Addressing addressing;
    std::int64_t slot_bytes;
    int copies = 1;
    int parts = 1;
    ElementType type = ElementType::float32;
  };
  /// A region is found as it must be, in so many slices, and each of its copies has the room for it.
  constexpr void region(const Expected& asked) {
    const Region& in = map[asked.kind];
    if (!fault.ok() || asked.copies == 0) return;
    if (in.addressing != asked.addressing)
      return void(fault = noted_otherwise<std::int64_t>("how tensors are found in ", asked.what, static_cast<int>(in.addressing),
                                                        static_cast<int>(asked.addressing)));
    if (in.type != asked.type)
      return void(fault = noted_otherwise<std::int64_t>("the element type of ", asked.what, static_cast<int>(in.type), static_cast<int>(asked.type)));
    if (in.parts != asked.parts) return void(fault = noted_otherwise<std::int64_t>("the number of slices of ", asked.what, in.parts, asked.parts));
    if (in.slot_bytes < asked.slot_bytes) return outside(asked.what, 0, asked.slot_bytes, in.slot_bytes);
    for (int c = 0; c < asked.copies; ++c) put(asked.what, c, in.begin + c * in.slot_bytes, in.slot_bytes);
  }
  constexpr void pool(int i, int chunk) {
    const Pool& in = p.pools[i];
    if (in.role != role) return void(fault = noted_otherwise<std::int64_t>("the device of a pool", "", in.role, role));
    if (in.chunk != chunk) return void(fault = noted_otherwise<std::int64_t>("the chunk of a pool", "", in.chunk, chunk));
    if (in.slots == 0) return;
    if (in.slot_bytes % line_bytes != 0) return outside("a slot of pool ", i, in.slot_bytes, rounded_up(in.slot_bytes, line_bytes));
    put("pool ", i, in.base, in.slots * in.slot_bytes);
  }
  /// Of parameters that one coordinate of axis tensor adds and the others leave out.
  [[nodiscard]] constexpr std::int64_t most_zeros() const {
    std::int64_t most = 0;
    if (!p.graph->split.any()) return most;
    for (int c = 0; c < p.chunks; ++c)
      for (int n = p.first_node[c]; p.device_of_chunk[c] == role && n < p.first_node[c + 1]; ++n) {
        const Node& node = p.graph->nodes[n];
        for (int k = 0; k < node.parameter_count; ++k)
          if (const std::int64_t elements = p.parameters[node.first_parameter + k].elements;
              elements > most && p.graph->split.signatures[node.leaf].parameters[k].partial())
            most = elements;
      }
    return most;
  }
};

/// S19 of all devices. Tensors of one slot, or of the scratch, are the matter of S17.
[[nodiscard]] constexpr Diagnosis check_arenas(const Program& p, int states, bool trains = true) {
  for (int r = 0; r < p.roles; ++r) {
    ArenaCheck check{p, states, trains, r};
    check.run();
    if (!check.fault.ok()) return check.fault;
  }
  return {};
}
/// Of an evaluation in the arenas of a training that is checked.
[[nodiscard]] constexpr Diagnosis check_arenas_of_evaluation(const Program& p) {
  for (int r = 0; r < p.roles; ++r) {
    ArenaCheck check{p, 0, false, r};
    check.values();
    if (!check.fault.ok()) return check.fault;
  }
  return {};
}

}  // namespace heddle::plan_room
