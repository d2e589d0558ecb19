// SPDX-License-Identifier: MIT
// Room: cost. What a step takes, device by device.
// Sees: core.  Does not see: programs, processes, threads.
// In: a walk through a step.  Out: Estimate.
#pragma once

#include <vector>

#include "heddle/core/rule.hpp"
#include "heddle/core/units.hpp"

namespace heddle::cost_room {

/// What a step takes. Devices are the roles of a pipeline, and the replicas of a role do the same at the same time: that of the largest share stands
/// for all, as if the devices of smaller shares were slower by as much. Batch<128> over WeightedDataParallel<3, 1> takes as long as 96 rows. On a
/// machine whose devices differ (Machine::speeds) each rank is a device, with its own share of the batch.
struct Estimate {
  Seconds step;                  ///< until the last device has done its last instruction; no number if there is a fault
  std::vector<Seconds> busy;     ///< computing, by device
  std::vector<Seconds> idle;     ///< step - busy, by device
  std::vector<Seconds> sending;  ///< by device, of a mean rank: all messages one after another, also those that leave while it computes
  std::vector<Bytes> levels;     ///< what all ranks send over the links of each level of the machine; the last is what no level joins
  bool by_rank = false;          ///< devices are ranks, else roles
  Diagnosis fault;               ///< M16 or M17: the machine cannot be, or the plan does not fit on it

  /// Share of the time of all devices that is not spent computing: (p-1)/(m+p-1) for GPipe and 1F1B of equal stages.
  [[nodiscard]] double bubble() const {
    double sum = 0;
    for (const Seconds& s : idle) sum += s.value;
    return step.value > 0 ? sum / (step.value * static_cast<double>(idle.size())) : 0;
  }
};

}  // namespace heddle::cost_room

namespace heddle::extending {
using cost_room::Estimate;
}  // namespace heddle::extending
