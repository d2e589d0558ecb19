// SPDX-License-Identifier: MIT
// Room: run. Starts parameters as PyTorch does; each element depends on seed, parameter and index only, never on the layout.
// Sees: graph, core/random.  Does not see: policies, threads, any backend.
// In: a Parameter, a Seed.  Out: its elements, or some of them.
#pragma once

#include <cmath>
#include <cstdint>

#include "heddle/core/random.hpp"
#include "heddle/graph/leaf.hpp"

namespace heddle::run_room {

/// Elements of a parameter that a trainer makes at a time.
inline constexpr std::int64_t initial_piece = 32 * 1024;

/// Writes `count` elements of parameter number `stream` of a model, from element `first` on.
///
/// Source  sources.md#pytorch-init
/// Tested  run/initialize_test
inline void initialize(const Parameter& parameter, Seed seed, std::int64_t stream, float* elements, std::int64_t first, std::int64_t count) {
  const auto bound = static_cast<float>(1 / std::sqrt(static_cast<double>(parameter.fan_in)));
  const auto wider = static_cast<float>(std::sqrt(6 / static_cast<double>(parameter.fan_in)));
  const auto key = static_cast<std::uint64_t>(stream);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<std::uint64_t>(first + i);
    if (parameter.in_padding_row(first + i)) {
      elements[i] = 0;
      continue;
    }
    switch (parameter.initial) {
      case Initial::zeros: elements[i] = 0; break;
      case Initial::ones: elements[i] = 1; break;
      case Initial::uniform_fan_in: elements[i] = uniform(seed, key, index, -bound, bound); break;
      case Initial::uniform_fan_in_and_out: elements[i] = uniform(seed, key, index, -wider, wider); break;
      case Initial::normal: elements[i] = normal(seed, key, index); break;
    }
  }
}
/// All of them.
inline void initialize(const Parameter& parameter, Seed seed, std::int64_t stream, float* elements) {
  initialize(parameter, seed, stream, elements, 0, parameter.shape.elements());
}

}  // namespace heddle::run_room
