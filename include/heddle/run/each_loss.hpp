// SPDX-License-Identifier: MIT
// Room: run. The mean of each of several losses over rows that are evaluated already.
// Sees: graph, run/examples, run/kernel_table, run/step_input.  Does not see: policies, threads, any backend by name.
// In: rows, their outputs, what counts of them.  Out: as many means and divisors as losses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/run/examples.hpp"
#include "heddle/run/kernel_table.hpp"
#include "heddle/run/results.hpp"
#include "heddle/run/step_input.hpp"

namespace heddle::run_room {

/// Adds to an evaluation, whose outputs are there, the mean of each of several losses, in their order and without their weights, and by what it was
/// divided. Of 8 rows with labels on 5 of them the first of two has the divisor 5, the second 8. `counted` has what counts of all rows.
///
/// Tested  run/each_loss_test, equivalence/several_losses_test
template <class Space, class Target, class Input>
void tell_each_loss(Evaluation& evaluation, const KernelTableIn<Space>& kernels, const Shape& output, const Examples<Target, Input>& examples,
                    const StepInput& counted) {
  const auto each_loss = kernels.on_host().each_loss;  // outputs of an evaluation lie there
  if (each_loss == nullptr) return;                    // a backend of any function, as the field
  evaluation.losses.resize(static_cast<std::size_t>(kernels.targets.count));
  evaluation.counted_of_losses.resize(evaluation.losses.size());
  std::vector<Target> targets;
  targets.reserve(static_cast<std::size_t>(examples.rows * examples.target_features));
  for (std::int64_t row = 0; row < examples.rows; ++row)
    targets.insert(targets.end(), examples.target(row), examples.target(row) + examples.target_features);
  LossCall call{examples.rows, output.elements(), examples.rows, evaluation.outputs.data(), targets.data()};
  call.positions = output.elements() / output.last();
  call.target_features = examples.target_features;
  call.class_weights = counted.class_weights;
  call.each = counted.counted.data();
  each_loss(call, evaluation.losses.data(), evaluation.counted_of_losses.data());
}

}  // namespace heddle::run_room
