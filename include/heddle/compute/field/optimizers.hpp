// SPDX-License-Identifier: MIT
// Room: compute. Optimizer steps in the field, for every OptimizerDescription: any function of all that an update may read.
// Sees: graph/optimizer, seams/pledge, compute/field.  Does not see: policies, programs.
// In: Constants and flat arrays.  Out: FieldOptimizer<Optimizer>.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "heddle/compute/field/field.hpp"
#include "heddle/graph/optimizer.hpp"
#include "heddle/seams/pledge.hpp"

namespace heddle::compute_room {

/// The new parameter and each new state are hashes of the old parameter, its gradient, its states and the constants of the step. Where all of them
/// are 0 they stay so, as the padding of a unit does under every optimizer.
///
/// Tested  compute/field/optimizers_test
template <class Optimizer> struct FieldOptimizer {
  static void step(const typename Optimizer::Constants& constants, std::int64_t elements, float* parameters, const float* gradients,
                   float* const* states) {
    const std::uint64_t bits = hash_of_constants(constants);
    for (std::int64_t i = 0; i < elements; ++i) {
      const std::uint64_t old[] = {Field::read(parameters[i]), Field::read(gradients[i]), Optimizer::states > 0 ? Field::read(states[0][i]) : 0,
                                   Optimizer::states > 1 ? Field::read(states[1][i]) : 0};
      if (std::all_of(std::begin(old), std::end(old), [](std::uint64_t element) { return element == 0; })) continue;
      const std::uint64_t symbol = symbol_of<Optimizer>("update");
      parameters[i] = Field::write(Field::hash(symbol, {old[0], old[1], old[2], old[3]}, {bits, 0}));
      for (int s = 0; s < Optimizer::states; ++s)
        states[s][i] = Field::write(Field::hash_again(symbol, {old[0], old[1], old[2], old[3]}, {bits, static_cast<std::uint64_t>(s) + 1}));
    }
  }
};

}  // namespace heddle::compute_room
