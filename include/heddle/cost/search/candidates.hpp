// SPDX-License-Identifier: MIT
// Room: cost. What a search is asked for, and every product of axes and options that could answer it.
// Sees: cost/search/searched_model, policy/timed_cut, core.  Does not see: programs, processes, threads.
// In: Wishes.  Out: each_candidate, check_wishes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "heddle/core/rule.hpp"
#include "heddle/core/units.hpp"
#include "heddle/cost/machine_check.hpp"
#include "heddle/cost/search/searched_model.hpp"
#include "heddle/policy/timed_cut.hpp"

namespace heddle::cost_room {

/// What a plan is to be for: 64 devices of 80 GB and batches of 512 rows.
struct Wishes {
  int devices = 1;
  int batch = 1;           ///< rows of a step over all devices
  Bytes memory{0};         ///< of a device; 0: what the machine says, which may be no limit
  int most_tensor = 8;     ///< ranks of axis tensor, which talk in every layer: as many as share a node
  int stages = 0;          ///< of a pipeline; 0: any number, also none
  bool may_round = false;  ///< Mixed<BFloat16> may be named
  bool has_to_round = false;
  bool may_run_again = true;  ///< Recompute<EveryBlock> may be named
};

/// M19: the name of a wish and its value.
[[nodiscard]] constexpr Diagnosis check_wishes(const Wishes& w) {
  /// A number that must be at least 1: {"devices", 0}.
  struct Number {
    const char* name;
    std::int64_t is;
  };
  for (const Number& n : {Number{"devices", w.devices}, Number{"rows of a batch", w.batch}, Number{"ranks of axis tensor at most", w.most_tensor}})
    if (n.is < 1) return Diagnosis{Code{'M', 19}, ""} << "a plan is searched for " << n.is << ' ' << n.name << ". Fix: name at least 1.";
  if (w.stages < 0)
    return Diagnosis{Code{'M', 19}, ""} << "a plan is searched for " << w.stages << " stages. Fix: name at least 1, or 0 for any number.";
  if (w.stages > 0 && w.devices % w.stages != 0)
    return Diagnosis{Code{'M', 19}, ""} << "a plan is searched for " << w.stages << " stages, which do not divide " << w.devices
                                        << " devices. Fix: name a number that does.";
  if (w.memory.value < 0)
    return Diagnosis{Code{'M', 19}, ""} << "a plan is searched for a memory of " << w.memory.value
                                        << " bytes. Fix: name what a device has, or 0 for no limit.";
  return {};
}
/// M16, M17, M19: of a search on a machine.
[[nodiscard]] constexpr Diagnosis check_wishes(const Wishes& w, const Machine& machine) {
  if (const Diagnosis found = check_wishes(w); !found.ok()) return found;
  if (const Diagnosis found = check(machine); !found.ok()) return found;
  if (machine.devices == 0 || w.devices <= machine.devices) return {};
  return Diagnosis{Code{'M', 17}, "a plan is searched for "} << w.devices << " devices, the Machine has " << machine.devices
                                                             << ". Fix: ask for at most as many, or name a larger Machine.";
}

[[nodiscard]] constexpr int chunks_of(const PlanChoice& c) { return c.stages * chunks_a_device(c.order); }
/// The same plan, cut where measured times have it. Its chunks are at most as many as there are places to cut.
[[nodiscard]] inline PlanChoice cut_by_times(PlanChoice c, TimedCuts& cuts) {
  const std::vector<int> first = cuts.first_node(chunks_of(c));
  c.cuts = chunks_of(c) - 1;
  std::copy_n(first.begin() + 1, static_cast<std::size_t>(c.cuts), c.before.begin());
  return c;
}

/// Calls visit(choice) for every product of axes that has the devices and divides the batch, with every number of micro-batches or rounds that
/// divides the rows of a replica: fewer micro-batches than stages leave stages idle. Of a model whose layers were measured each pipeline is cut by
/// counted operations, and by those times. 8 devices and Batch<16> of a model with blocks have some hundred.
///
/// Tested  cost/search/candidates_test
template <class Visit> class Candidates {
 public:
  Candidates(const SearchedModel& model, const Wishes& wishes, Visit visit) : model_(model), w_(wishes), visit_(visit) {
    for (int n = 1; n <= w_.batch / n; ++n)
      if (w_.batch % n == 0) {
        divisors_.push_back(n);
        if (n != w_.batch / n) divisors_.push_back(w_.batch / n);
      }
    std::sort(divisors_.begin(), divisors_.end());
    if (!model.times.layers.empty()) cuts_.emplace(*model.graph, by_layer(*model.graph, model.times));
  }

  void run() {
    for (int t = 1; t <= w_.most_tensor && t <= w_.devices; ++t)
      if (w_.devices % t == 0)
        for (const bool sequences : {false, true})
          if (!sequences || t > 1) with_tensor({.tensor = t, .splits_sequences = sequences});
  }

 private:
  void with_tensor(PlanChoice c) {
    const int left = w_.devices / c.tensor;
    for (int s = 1; s <= left && s <= Layout::most_chunks && s <= model_.graph->node_count; ++s) {
      if (left % s != 0 || (w_.stages > 0 && s != w_.stages)) continue;
      c.stages = s;
      const int replicas = left / s;
      if (w_.batch % replicas != 0) continue;
      for (int shard = 1; shard <= replicas && shard <= Layout::unit_parts; ++shard) {
        if (replicas % shard != 0 || Layout::unit_parts % shard != 0) continue;
        c.shard = shard;
        c.data = replicas / shard;
        with_slices(c);
      }
    }
  }
  void with_slices(PlanChoice c) {
    c.slices = SearchedSlices::parameters;
    c.slices_inside = false;
    if (c.shard == 1) return with_rows(c);
    for (const SearchedSlices what : every_slices)
      for (const bool inside : {false, true}) {
        if (inside && c.stages == 1) continue;
        c.slices = what;
        c.slices_inside = inside;
        with_rows(c);
      }
  }
  void with_rows(PlanChoice c) {
    const int rows = w_.batch / c.batch_ranks();
    if (c.stages == 1) {
      for (const int rounds : divisors_)
        if (rows % rounds == 0) {
          c.rounds = rounds;
          with_options(c);
        }
      return;
    }
    for (const SearchedOrder order : every_order) {
      if (c.stages * chunks_a_device(order) > Layout::most_chunks) continue;
      c.order = order;
      for (const int m : divisors_)
        if (m >= c.stages && rows % m == 0 && (chunks_a_device(order) == 1 || m % c.stages == 0)) {
          c.micro_batches = m;
          with_options(c);
          if (cuts_ && chunks_of(c) <= cuts_->most()) with_options(cut_by_times(c, *cuts_));
        }
    }
  }
  void with_options(PlanChoice c) {
    for (const bool again : {false, true}) {
      if (again && (!w_.may_run_again || !model_.has_blocks)) continue;
      c.again = again;
      for (const bool rounds_values : {false, true}) {
        if (rounds_values ? !(w_.may_round || w_.has_to_round) : w_.has_to_round) continue;
        c.rounds_values = rounds_values;
        visit_(c);
      }
    }
  }

  const SearchedModel& model_;
  const Wishes& w_;
  Visit visit_;
  std::vector<int> divisors_;      // of the batch
  std::optional<TimedCuts> cuts_;  // of a model whose layers were measured
};
template <class Visit> void each_candidate(const SearchedModel& model, const Wishes& wishes, Visit visit) {
  Candidates<Visit>{model, wishes, visit}.run();
}

}  // namespace heddle::cost_room

namespace heddle::extending {
using cost_room::Wishes, cost_room::check_wishes;
}  // namespace heddle::extending
