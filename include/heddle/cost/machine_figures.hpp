// SPDX-License-Identifier: MIT
// Room: cost. Every figure of a Machine by its name, for whoever writes, reads or checks them all.
// Sees: cost/machine.  Does not see: plans, processes, threads.
// In: a Machine, a function.  Out: each_figure, each_part, words_of.
#pragma once

#include <cstddef>
#include <string_view>

#include "heddle/cost/machine.hpp"

namespace heddle::cost_room {

/// What files and C++ call a way to sum: "halving and doubling", "halving_doubling".
struct CollectiveWords {
  std::string_view in_files, in_code;
};
/// Empty behind the last one, so that a reader can try them all.
///
/// Tested  cost/machine_figures_test
[[nodiscard]] constexpr CollectiveWords words_of(CollectiveAlgorithm algorithm) {
  switch (algorithm) {
    case CollectiveAlgorithm::ring: return {"ring", "ring"};
    case CollectiveAlgorithm::recursive_doubling: return {"recursive doubling", "recursive_doubling"};
    case CollectiveAlgorithm::halving_doubling: return {"halving and doubling", "halving_doubling"};
    case CollectiveAlgorithm::hierarchical: return {"hierarchical", "hierarchical"};
    case CollectiveAlgorithm::fastest: return {"fastest", "fastest"};
    case CollectiveAlgorithm::shared_memory: return {"shared memory", "shared_memory"};
  }
  return {};
}

/// visit(name, member) for every figure of a Machine, in the order in which it has them.
///
/// Tested  cost/machine_figures_test
template <class M, class Visit> constexpr void each_figure(M& machine, Visit visit) {
  visit("alpha", machine.alpha);
  visit("beta", machine.beta);
  visit("per_flop", machine.per_flop);
  visit("per_bfloat16_flop", machine.per_bfloat16_flop);
  visit("per_memory_byte", machine.per_memory_byte);
  visit("per_call", machine.per_call);
  visit("per_message", machine.per_message);
  visit("per_collective", machine.per_collective);
  visit("gamma", machine.gamma);
  visit("acknowledgement", machine.acknowledgement);
  visit("memory_aside", machine.memory_aside);
  visit("overlaps", machine.overlaps);
  visit("efficiency", machine.efficiency.points);
  visit("narrow", machine.narrow.points);
  visit("attention", machine.attention.points);
  visit("cached", machine.cached.points);
  visit("collectives", machine.collectives);
  visit("levels", machine.levels);
  visit("speeds", machine.speeds);
  visit("layers", machine.layers);
  visit("memory", machine.memory);
  visit("devices", machine.devices);
}

/// The parts of an entry of a list, in their order: a point of {4096, 0.5} is [4096, 0.5].
template <class Entry, class Visit> constexpr void each_part(Entry& entry, Visit visit) {
  if constexpr (requires { entry.share; })
    visit(entry.flops), visit(entry.share);
  else if constexpr (requires { entry.ranks; })
    visit(entry.ranks), visit(entry.alpha), visit(entry.beta);
  else if constexpr (requires { entry.speed; })
    visit(entry.first), visit(entry.last), visit(entry.speed);
  else
    visit(entry.kind), visit(entry.forward), visit(entry.backward);
}

/// Entries of a list up to the last that says something.
template <class Entry, std::size_t Most> [[nodiscard]] constexpr std::size_t entries_of(const Entry (&list)[Most]) {
  std::size_t count = Most;
  while (count > 0 && list[count - 1] == Entry{}) --count;
  return count;
}

}  // namespace heddle::cost_room
