// SPDX-License-Identifier: MIT
// Room: tests. The numbers of an arena by name, for tests that change or compare them.
#pragma once

#include <cstdint>

#include "heddle/plan/program/region.hpp"

namespace heddle::tests {

/// The begin of a region, or the bytes of one of its copies.
struct ArenaNumber {
  const char* name;
  plan_room::RegionKind kind;
  std::int64_t plan_room::Region::*field;
  [[nodiscard]] std::int64_t& of(plan_room::ArenaMap& map) const { return map[kind].*field; }
};

inline constexpr ArenaNumber arena_numbers[] = {{"arena.parameters", plan_room::RegionKind::parameters, &plan_room::Region::begin},
                                                {"arena.frozen", plan_room::RegionKind::frozen, &plan_room::Region::begin},
                                                {"arena.gathered", plan_room::RegionKind::gathered, &plan_room::Region::begin},
                                                {"arena.thawed", plan_room::RegionKind::thawed, &plan_room::Region::begin},
                                                {"arena.gradients", plan_room::RegionKind::gradients, &plan_room::Region::begin},
                                                {"arena.fresh", plan_room::RegionKind::fresh, &plan_room::Region::begin},
                                                {"arena.arrived", plan_room::RegionKind::arrived, &plan_room::Region::begin},
                                                {"arena.ties", plan_room::RegionKind::ties, &plan_room::Region::begin},
                                                {"arena.states", plan_room::RegionKind::states, &plan_room::Region::begin},
                                                {"arena.losses", plan_room::RegionKind::losses, &plan_room::Region::begin},
                                                {"arena.norms", plan_room::RegionKind::norms, &plan_room::Region::begin},
                                                {"arena.zeros", plan_room::RegionKind::zeros, &plan_room::Region::begin},
                                                {"arena.scratch", plan_room::RegionKind::scratch, &plan_room::Region::begin},
                                                {"arena.parameters of a copy", plan_room::RegionKind::parameters, &plan_room::Region::slot_bytes},
                                                {"arena.frozen of a copy", plan_room::RegionKind::frozen, &plan_room::Region::slot_bytes},
                                                {"arena.gathered of a copy", plan_room::RegionKind::gathered, &plan_room::Region::slot_bytes},
                                                {"arena.thawed of a copy", plan_room::RegionKind::thawed, &plan_room::Region::slot_bytes},
                                                {"arena.gradients of a copy", plan_room::RegionKind::gradients, &plan_room::Region::slot_bytes},
                                                {"arena.fresh of a copy", plan_room::RegionKind::fresh, &plan_room::Region::slot_bytes},
                                                {"arena.arrived of a copy", plan_room::RegionKind::arrived, &plan_room::Region::slot_bytes},
                                                {"arena.states of a copy", plan_room::RegionKind::states, &plan_room::Region::slot_bytes},
                                                {"arena.scratch of a copy", plan_room::RegionKind::scratch, &plan_room::Region::slot_bytes}};

}  // namespace heddle::tests
