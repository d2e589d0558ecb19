// SPDX-License-Identifier: MIT
// Room: run. After an evaluation every process has all outputs: each rank that made some tells the others.
// Sees: plan/program, run/arena, run/slices, run/step_input.  Does not see: policies, threads, any backend.
// In: a session, the input of the run.  Out: StepInput::outputs, whole.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "heddle/core/host_device.hpp"
#include "heddle/core/shape.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/run/arena.hpp"
#include "heddle/run/slices.hpp"
#include "heddle/run/step_input.hpp"

namespace heddle::run_room {

/// R14, of the outputs of rows that are evaluated.
[[noreturn]] HEDDLE_COLD inline void refuse_outputs(std::int64_t rows, std::int64_t features) {
  refuse_memory("room for the outputs of " + std::to_string(rows) + " rows", float_bytes * counted_product(rows, features),
                "evaluate fewer rows at a time");
}

/// Room for the outputs of rows that are evaluated; of no rows none.
///
/// Errors  B05 rows below 0, as of a batch that is written by hand; R14 memory
/// Tested  run/shared_outputs_test
[[nodiscard]] inline std::vector<float> room_for_outputs(std::int64_t rows, std::int64_t features) {
  if (rows < 0) refuse_no_rows(rows);
  const std::int64_t elements = counted_product(rows, features);
  if (elements == most_countable) refuse_outputs(rows, features);
  try {
    return std::vector<float>(static_cast<std::size_t>(elements));
  } catch (const std::bad_alloc&) {
    refuse_outputs(rows, features);
  }
}

/// `whole` is the output of one row; maker(replica) the rank at coordinate 0 of axis tensor that made the rows of a replica. Where outputs lie in
/// parts along that axis, every rank of it tells its own.
///
/// Tested  run/shared_outputs_test
template <class Session, class Maker> void share_outputs(Session& session, const StepInput& input, const Shape& whole, Maker maker) {
  const Program& p = *input.program;
  const Laid lies = p.graph->laid_between(p.graph->node_count);
  const int parts = lies.sharded() ? p.graph->split.ranks : 1;
  for (int replica = 0; replica < p.batch.ranks; ++replica) {
    const std::int64_t first = first_row(p.batch, replica, 0, 0);
    const std::int64_t rows = std::min(input.rows, first_row(p.batch, replica + 1, 0, 0)) - first;
    if (rows <= 0) return;
    float* const made = input.outputs + first * whole.elements();
    if (parts == 1) session.share(maker(replica), std::as_writable_bytes(std::span{made, static_cast<std::size_t>(rows * whole.elements())}));
    for (int part = 0; parts > 1 && part < parts; ++part) {
      const std::int64_t own = whole.elements() / parts;
      std::vector<float> packed(static_cast<std::size_t>(rows * own));
      const auto each = [&](auto copy) {
        for (std::int64_t r = 0; r < rows; ++r)
          each_run(whole, lies, parts, part, [&](std::int64_t here, std::int64_t there, std::int64_t count) {
            copy(packed.data() + r * own + here, made + r * whole.elements() + there, count);
          });
      };
      each([](float* there, const float* here, std::int64_t count) { std::copy_n(here, count, there); });
      session.share(p.mesh.moved(maker(replica), Axis::tensor, part), std::as_writable_bytes(std::span{packed}));
      each([](const float* there, float* here, std::int64_t count) { std::copy_n(there, count, here); });
    }
  }
}

}  // namespace heddle::run_room
