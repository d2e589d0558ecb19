// SPDX-License-Identifier: MIT
// Room: run. The mean of each of several losses over rows that are evaluated already.
// Sees: graph, run/examples, run/kernel_table, run/step_input.  Does not see: policies, threads, any backend by name.
// In: rows, their outputs, what counts of them.  Out: as many means as losses.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "heddle/run/examples.hpp"
#include "heddle/run/kernel_table.hpp"
#include "heddle/run/step_input.hpp"

namespace heddle::run_room {

/// In the order of Losses, without their weights; none where a backend does not say them one by one. `counted` has what counts of all rows.
///
/// Tested  equivalence/several_losses_test
template <class Space, class Target, class Input>
[[nodiscard]] std::vector<double> each_loss(const KernelTableIn<Space>& kernels, const Shape& output, const Examples<Target, Input>& examples,
                                            std::span<const float> outputs, const StepInput& counted) {
  std::vector<double> means;
  if constexpr (std::is_same_v<Space, HostMemory>) {
    if (kernels.each_loss == nullptr) return means;
    means.resize(static_cast<std::size_t>(kernels.targets.count));
    std::vector<Target> targets;
    targets.reserve(static_cast<std::size_t>(examples.rows * examples.target_features));
    for (std::int64_t row = 0; row < examples.rows; ++row)
      targets.insert(targets.end(), examples.target(row), examples.target(row) + examples.target_features);
    LossCall call{examples.rows, output.elements(), examples.rows, outputs.data(), targets.data()};
    call.positions = output.elements() / output.last();
    call.target_features = examples.target_features;
    call.class_weights = counted.class_weights;
    call.each = counted.counted;
    kernels.each_loss(call, means.data());
  }
  return means;
}

}  // namespace heddle::run_room
