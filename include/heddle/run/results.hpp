// SPDX-License-Identifier: MIT
// Room: run. What steps and evaluations say, and how a trainer reports and waits.
// Sees: run/error.  Does not see: plans, threads, any backend.
// In: -.  Out: StepResult, Evaluation, Every, RunOptions.
#pragma once

#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "heddle/run/error.hpp"

namespace heddle::inline run_room {

/// What a step says. The loss is reduced only in steps that are reported.
struct StepResult {
  std::int64_t step = 0;         ///< from 1
  std::int64_t rows = 0;         ///< rows that counted; 0 if the batch was dropped
  std::optional<float> loss{};   ///< mean over the rows
  std::optional<float> norm{};   ///< of all gradients before clipping, of a plan that clips
  bool skipped = false;          ///< a gradient overflowed under the loss scale: nothing changed, and the next step has this number again
  std::optional<float> scale{};  ///< of the loss in this step, of a plan that scales it
};

/// What a plan with Clip<GlobalNorm> clips to; may change between steps.
struct ClipOptions {
  double max_norm = 1.0;
  void check() const {
    if (!(max_norm > 0))
      throw Error(Code{'O', 1}, "max_norm is " + std::to_string(max_norm) + ", so no gradient would be left. Fix: use a norm above 0.");
  }
};

/// What an evaluation says.
struct Evaluation {
  std::int64_t rows = 0;
  double loss = 0;             ///< mean over the rows
  std::vector<float> outputs;  ///< (rows, output features), in the order of the rows
};

/// FNV-1a over the bytes of floats: the same number for the same bits.
struct BitHash {
  std::uint64_t value = 0xcbf29ce484222325U;
  void add(const std::vector<float>& floats) {
    for (const float f : floats)
      for (int byte = 0; byte < 4; ++byte) value = (value ^ (std::bit_cast<std::uint32_t>(f) >> (8 * byte) & 0xffU)) * 0x100000001b3U;
  }
};

/// Steps between two reports.
struct Every {
  std::int64_t steps = 1;
};

/// How a trainer waits: no wait lasts longer than the deadline.
struct RunOptions {
  std::chrono::nanoseconds deadline = std::chrono::seconds{60};
};

}  // namespace heddle::inline run_room
