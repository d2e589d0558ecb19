// SPDX-License-Identifier: MIT
// Room: report. A plan as a table that a person reads: devices, layers, memory, what moves.
// Sees: plan, cost.  Does not see: processes, threads, kernels.
// In: a Plan.  Out: text.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>

#include "heddle/cost/simulate.hpp"
#include "heddle/plan/plan.hpp"

namespace heddle::inline report_room {

[[nodiscard]] inline std::string padded(std::string word, std::size_t width) {
  if (word.size() < width) word.insert(0, width - word.size(), ' ');
  return word;
}

[[nodiscard]] inline std::string kibibytes(std::int64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", static_cast<double>(bytes) / 1024);
  return text;
}

/// Layers of one device as "0-2, 5": the nodes of its chunks.
[[nodiscard]] inline std::string layers_of(const Program& p, int role) {
  std::string words;
  for (int c = 0; c < p.chunks; ++c) {
    if (p.device_of_chunk[c] != role) continue;
    if (!words.empty()) words += ", ";
    words += std::to_string(p.first_node[c]);
    if (p.first_node[c + 1] - 1 > p.first_node[c]) words += '-' + std::to_string(p.first_node[c + 1] - 1);
  }
  return words;
}

/// What a step moves, as "25600 bytes between stages and 318080 bytes of gradients over axis data": the numbers add up to Traffic::total().
[[nodiscard]] inline std::string moved_words(const Program& p, const Traffic& moved) {
  std::string words;
  const auto add = [&](const Volume& volume, const std::string& what) {
    if (volume.total_payload.value > 0) words += (words.empty() ? "" : " and ") + std::to_string(volume.total_payload.value) + " bytes " + what;
  };
  add(moved.activations(), "between stages");
  add(moved.ties(), "of tied gradients between their owners");
  add(moved.values(), "of values over axis tensor");
  for (const Axis a : batch_axes) {
    add(moved.gradients().on(a), "of gradients over axis " + std::string{name_of(a)});
    add(moved.parameters().on(a), "of gathered parameters over axis " + std::string{name_of(a)});
  }
  add(moved.norm(), p.clips ? "for the norm" : "for the overflow flag");
  return words.empty() ? "nothing" : words;
}

/// "64 = 2 shares x 4 micro-batches x 8 rows": a stage or a tensor rank takes no share of its own, so 4 devices may have 2. Unequal shares:
/// "128 = 2 shares x 1 micro-batch x 96 or 32 rows". Parts that do not make up the batch: "9 in room for 16 = 8 shares x 1 micro-batch x 2 rows".
[[nodiscard]] inline std::string describe_batch(const BatchDivision& d) {
  std::string out = std::to_string(d.batch);
  if (d.capacity() > d.batch) out += " in room for " + std::to_string(d.capacity());
  if (d.capacity() < d.batch) out += ", of which " + std::to_string(d.capacity()) + " are taken";
  const auto counted = [](int count, const char* one, const char* more) { return std::to_string(count) + (count == 1 ? one : more); };
  out += " = " + counted(d.ranks, " share x ", " shares x ") + counted(d.total_micro_batches(), " micro-batch x ", " micro-batches x ");
  if (d.share_count == 0) return out + counted(d.micro_rows, " row", " rows");
  if (const auto [least, most] = std::minmax_element(d.shares, d.shares + d.share_count); d.share_count > 4)
    return out + std::to_string(d.share_rows * *least) + " to " + std::to_string(d.share_rows * *most) + " rows";
  for (int i = 0; i < d.share_count; ++i) out += (i == 0 ? "" : i + 1 == d.share_count ? " or " : ", ") + std::to_string(d.share_rows * d.shares[i]);
  return out + " rows";
}

/// One row per pipeline position, then what a step moves and how long stages stand idle if work alone counts.
///
/// Errors  the plan's own
/// Tested  report/table_test
template <class ThePlan> [[nodiscard]] std::string table() {
  heard(Refusal<ThePlan>{});
  const Program& p = lower<ThePlan>();
  const int ranks = p.mesh.ranks();
  std::string out = std::string{p.graph->model.view()} + ": " + std::to_string(ranks) + (ranks == 1 ? " device (" : " devices (");
  for (int i = 0; i < p.mesh.count; ++i) out += (i > 0 ? " x " : "") + std::string{name_of(p.mesh.axes[i])} + ' ' + std::to_string(p.mesh.sizes[i]);
  out += p.mesh.count == 0 ? "no axis)" : ")";
  out += ", batch " + describe_batch(p.batch) + '\n';
  out += "stage     layers   parameters KiB   gradients KiB   optimizer KiB   activations KiB   arena KiB\n";
  for (int r = 0; r < p.roles; ++r) {
    const ArenaMap& map = p.arenas[r];
    out += padded(std::to_string(r), 5) + padded(layers_of(p, r), 11) + padded(kibibytes(map.gradients - map.parameters), 17) +
           padded(kibibytes(map.states - map.gradients), 16) + padded(kibibytes(map.losses - map.states), 16) +
           padded(kibibytes(map.total - map.pools), 18) + padded(kibibytes(map.total), 12) + '\n';
  }
  out += "over all ranks, one step moves " + moved_words(p, traffic<ThePlan>());
  if (const Flops again = flops_run_again(p); again.value > 0)
    out += "; the backward runs " + std::to_string(again.value) + " operations of a row's forward again";
  char bubble[32];
  std::snprintf(bubble, sizeof bubble, "%.1f", 100 * simulate(p, Machine{}).bubble());
  out += std::string{"; stages idle "} + bubble + " % if only work takes time";
  if (p.batch.share_count > 0) out += " and devices are as fast as their shares are large";
  if (p.batch.share_count == 0 && p.batch.capacity() > p.batch.batch) out += " and all ranks have all their rows";
  return out + '\n';
}

}  // namespace heddle::inline report_room
