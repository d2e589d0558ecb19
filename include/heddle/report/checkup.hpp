// SPDX-License-Identifier: MIT
// Room: report. What doctor read and found, as a page that a person reads: machine, launcher, placement, findings.
// Sees: run/doctor, plan.  Does not see: threads, any backend.
// In: a Checkup.  Out: text.
#pragma once

#include <string>

#include "heddle/core/utf8.hpp"
#include "heddle/report/table.hpp"
#include "heddle/run/doctor.hpp"
#include "heddle/run/step_input.hpp"

namespace heddle::report_room {

[[nodiscard]] inline std::string decimals(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}
[[nodiscard]] inline std::string mebibytes(Bytes bytes) { return decimals(static_cast<double>(bytes.value) / (1024 * 1024), 1) + " MiB"; }

[[nodiscard]] inline std::string describe_machine(const Checkup& c) {
  const MachineFacts& m = c.machine;
  std::string out = "cores      " + std::to_string(m.allowed_cores.size()) + " of " + std::to_string(m.cores_online) + " may be used";
  if (m.quota_cores > 0) out += ", processor time of " + decimals(m.quota_cores, 2) + " by the control group";
  out += "\nmemory     " + mebibytes(m.memory) + ", " + mebibytes(m.available_memory) + " available";
  if (m.memory_limit.value > 0) out += "; limit of the control group " + mebibytes(m.memory_limit) + ", used " + mebibytes(m.used_memory);
  out += "\nGPUs       " + std::to_string(m.gpus.size()) + ", visible " + std::to_string(m.visible_gpus.size());
  for (const int g : m.visible_gpus) out += (g == m.visible_gpus.front() ? ": " : ", ") + printable(m.gpus[static_cast<std::size_t>(g)].name);
  if (m.nvidia_smi_hangs) out += "; nvidia-smi -L had not ended after " + std::to_string(run_room::patience_with_nvidia_smi.count()) + " s";
  if (m.visible_devices) out += "; CUDA_VISIBLE_DEVICES=" + printable(*m.visible_devices);
  out += "\nprocesses  ";
  if (c.world.launcher.empty())
    out += c.backend.processes ? "one, no launcher" : "one, no launcher: ranks are threads";
  else
    out += std::to_string(c.world.size) + ", this is " + std::to_string(c.world.rank) + ", by " + std::string{c.world.launcher} + " (" +
           std::string{c.world.variable} + ")";
  for (const std::string_view other : c.world.other_answers) out += "; " + std::string{other} + " says otherwise and is not used";
  return out + '\n';
}

/// "0-15" of the batch; "none" for a rank that has none.
[[nodiscard]] inline std::string rows_of(const Program& p, Rank rank) {
  const int position = batch_position(p, rank);
  const int first = p.batch.first_row_of(position);
  const int rows = p.batch.rows_of(position);
  return rows == 0 ? "none" : std::to_string(first) + '-' + std::to_string(first + rows - 1);
}

/// Where each rank of this machine runs, what it holds and computes. At most 32 lines.
[[nodiscard]] inline std::string describe_placement(const Checkup& c) {
  constexpr int most_lines = 32;
  const Program& p = *c.program;
  std::string out = "rank       runs on";
  for (int i = 0; i < p.mesh.count; ++i) out += padded(std::string{name_of(p.mesh.axes[i])}, 8);
  out += "      layers   rows of a batch   kiloflops a step   arena KiB\n";
  for (int r = 0; r < c.local_ranks() && r < most_lines; ++r) {
    const Rank rank{c.first_local_rank().value + r};
    const int role = p.mesh.coordinate(rank, Axis::stage);
    std::string where = c.on_gpus() ? "no GPU" : "any core";
    const auto cores = static_cast<int>(c.machine.allowed_cores.size());
    const auto gpus = static_cast<int>(c.machine.visible_gpus.size());
    if (c.on_gpus() && gpus > 0)
      where = "GPU " + std::to_string(r % gpus);
    else if (!c.on_gpus() && c.world.size == 1 && cores > 0)
      where = "core " + std::to_string(c.machine.allowed_cores[static_cast<std::size_t>(r % cores)]);
    const double flops = static_cast<double>(stage_flops(p, role)) * p.batch.rows_of(batch_position(p, rank));
    out += padded(std::to_string(rank.value), 4) + padded(where, 14);
    for (int i = 0; i < p.mesh.count; ++i) out += padded(std::to_string(p.mesh.coordinate(rank, p.mesh.axes[i])), 8);
    out += padded(layers_of(p, role), 12) + padded(rows_of(p, rank), 18) + padded(std::to_string(static_cast<std::int64_t>(flops / 1000)), 19) +
           padded(kibibytes(c.arena(rank).value), 12) + '\n';
  }
  if (c.local_ranks() > most_lines) out += "... and " + std::to_string(c.local_ranks() - most_lines) + " more on this machine\n";
  return out;
}

/// The page that ./heddle doctor prints.
///
/// Tested  report/checkup_test
[[nodiscard]] inline std::string describe(const Checkup& c) {
  const Program& p = *c.program;
  std::string out = describe_machine(c) + "plan       " + std::string{p.graph->model.view()} + ", " + c.policy + ", batch " +
                    std::to_string(p.batch.batch) + ": " + std::to_string(c.ranks()) + (c.ranks() == 1 ? " rank, " : " ranks, ") +
                    std::to_string(c.local_ranks()) + " on this machine, which need " + mebibytes(c.needed_memory()) + "\n";
  if (!c.on_gpus() && c.machine.usable_cores() > 0)
    out += "load       " + decimals(c.local_ranks() / c.machine.usable_cores(), 2) + " ranks a core\n";
  out += '\n' + describe_placement(c) + '\n';
  for (const Finding& f : c.findings) out += (f.cannot_work ? "cannot work  " : "note         ") + printable(f.what.sentence().view()) + '\n';
  if (!c.can_work()) return out + "This plan cannot run here.\n";
  if (c.backend.name.empty())
    return out + "Nothing was found that keeps this plan from running. Name its backend to know, as in extending::doctor<MyPlan, CpuThreads>().\n";
  return out + "This plan can run here with " + c.backend.name + ".\n";
}

}  // namespace heddle::report_room

namespace heddle::extending {
using report_room::describe;
}  // namespace heddle::extending
