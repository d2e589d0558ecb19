// SPDX-License-Identifier: MIT
// Room: cost. A step as it would go by on a Machine: every compute, message and collective in time, and the chain of them that decides.
// Sees: plan, plan/read/timeline, cost/{simulate, step_events, memory_in_time}.  Does not see: processes, threads, kernels.
// In: a Program, a Machine.  Out: Prediction.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "heddle/cost/memory_in_time.hpp"
#include "heddle/cost/simulate.hpp"
#include "heddle/cost/step_events.hpp"
#include "heddle/plan/read/timeline.hpp"

namespace heddle::cost_room {

/// Which rows a timeline has: one for all ranks that do the same at the same time, or one for each rank.
enum class TimelineRows : std::uint8_t { roles, ranks };

/// The estimate of a step with its spans. On 2 stages with 4 micro-batches there are 16 computes and 16 spans of transfers, both ends of 8.
///
/// Tested  cost/predict_test
struct Prediction {
  Estimate estimate;
  Timeline timeline;
  std::vector<int> critical_path;  ///< of spans, in the order of time: each waited for the one before it, and the last ends the step. A
                                   ///< collective that starts inside a compute begins before that one ends
};

/// The chain that ends last: each span names the one after which it began.
[[nodiscard]] inline std::vector<int> critical_path_of(const std::vector<Span>& spans, const std::vector<int>& after) {
  std::vector<int> path;
  for (std::size_t i = 0; i < spans.size(); ++i)
    if (path.empty() || spans[i].end.value > spans[static_cast<std::size_t>(path[0])].end.value) path = {static_cast<int>(i)};
  while (!path.empty() && after[static_cast<std::size_t>(path.back())] >= 0) path.push_back(after[static_cast<std::size_t>(path.back())]);
  std::reverse(path.begin(), path.end());
  return path;
}

/// "rank 3", "stage 1", or "every rank" where all do the same.
[[nodiscard]] inline std::string device_name(const Program& p, bool by_rank, int device) {
  if (!by_rank && p.roles == 1 && p.mesh.ranks() > 1) return "every rank";
  return (by_rank || p.roles == 1 ? "rank " : "stage ") + std::to_string(device);
}

/// What `simulate` finds, with everything that takes time, and the bytes that each device has in use meanwhile. On a machine whose devices differ the
/// rows are ranks, whatever is asked. By rank each has its own share of the batch; by role the largest stands for all.
///
/// Errors  M16, M17 as Prediction::estimate.fault; the timeline is then empty
/// Tested  cost/predict_test
[[nodiscard]] inline Prediction predict(const Program& program, const Machine& machine, TimelineRows rows = TimelineRows::roles) {
  Prediction found;
  if (const Diagnosis fault = check(machine, program); !fault.ok()) {
    found.estimate = refused_estimate(fault);
    return found;
  }
  const bool by_rank = rows == TimelineRows::ranks || machine.unequal();
  StepEvents events{program, by_rank};
  StepWalk<StepEvents> walk{program, machine, by_rank, events};
  walk.run();
  found.estimate = estimate_of(walk, machine);
  found.timeline.title = std::string{program.graph->model.view()};
  for (int d = 0; d < walk.count(); ++d) found.timeline.devices.push_back(device_name(program, by_rank, d));
  found.critical_path = critical_path_of(events.spans(), events.after());
  found.timeline.spans = std::move(events.spans());
  found.timeline.memory = memory_in_time(program, found.timeline, by_rank);
  return found;
}

}  // namespace heddle::cost_room

namespace heddle::extending {
using cost_room::Prediction, cost_room::TimelineRows, cost_room::predict;
}  // namespace heddle::extending
