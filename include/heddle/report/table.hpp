// SPDX-License-Identifier: MIT
// Room: report. A plan as a table that a person reads: devices, layers, memory, what moves.
// Sees: plan, cost.  Does not see: processes, threads, kernels.
// In: a Plan.  Out: text.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "heddle/core/grouped_digits.hpp"
#include "heddle/core/utf8.hpp"
#include "heddle/cost/simulate.hpp"
#include "heddle/plan/plan.hpp"

namespace heddle::report_room {

/// Words, numbers and shapes as a sentence writes them.
template <class... Parts> [[nodiscard]] std::string said(const Parts&... parts) {
  Text<240> text;
  ((text << parts), ...);
  return std::string{text.view()};
}

[[nodiscard]] inline std::string padded(std::string word, std::size_t width) {
  if (const std::size_t wide = characters_of(word); wide < width) word.insert(0, width - wide, ' ');
  return word;
}

/// The word, or its beginning and dots where it has more characters.
[[nodiscard]] inline std::string shortened(const std::string& word, std::size_t most) {
  if (characters_of(word) <= most) return word;
  const std::size_t dots = std::min<std::size_t>(most, 3);
  return std::string{first_characters(word, most - dots)} + std::string(dots, '.');
}

/// Widest line of what a terminal shows.
inline constexpr std::size_t most_columns = 100;

/// Rows of words in columns that are as wide as their words, two spaces apart. Where a line would be longer than most_columns, words of the widest
/// column end in dots. Columns named 'r' end at one place, as numbers do. The last word of a row that has fewer words than columns runs on.
class Grid {
 public:
  explicit Grid(std::string columns) : columns_(std::move(columns)) {}  ///< "rl": the first of two columns to the right
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] bool fits() const { return width_of(widths()) <= most_columns; }

  [[nodiscard]] std::string text() const {
    std::vector<std::size_t> wide = widths();
    while (width_of(wide) > most_columns) --*std::max_element(wide.begin(), wide.end());
    std::string out;
    for (const auto& row : rows_) {
      std::string line;
      for (std::size_t c = 0; c < row.size(); ++c) {
        if (wide[c] == 0 && !runs_on(row, c)) continue;
        if (!line.empty()) line += "  ";
        const std::size_t width = runs_on(row, c) ? most_columns - std::min(most_columns, characters_of(line)) : wide[c];
        const std::string word = shortened(row[c], width);
        line += columns_[c] == 'r' ? padded(word, width) : word + std::string(width - characters_of(word), ' ');
      }
      line.erase(line.find_last_not_of(' ') + 1);
      out += line + '\n';
    }
    return out;
  }

 private:
  [[nodiscard]] bool runs_on(const std::vector<std::string>& row, std::size_t column) const {
    return column + 1 == row.size() && row.size() < columns_.size();
  }
  [[nodiscard]] std::vector<std::size_t> widths() const {
    std::vector<std::size_t> wide(columns_.size());
    for (const auto& row : rows_)
      for (std::size_t c = 0; c < row.size(); ++c)
        if (!runs_on(row, c)) wide[c] = std::max(wide[c], characters_of(row[c]));
    return wide;
  }
  [[nodiscard]] static std::size_t width_of(const std::vector<std::size_t>& widths) {
    std::size_t sum = 0;
    for (const std::size_t w : widths) sum += w == 0 ? 0 : w + 2;
    return sum < 2 ? 0 : sum - 2;
  }
  std::string columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// A sentence in lines of at most most_columns, the second and further ones behind `indent` spaces, as the first one stands behind `label`.
[[nodiscard]] inline std::string wrapped(const std::string& label, std::string words, std::size_t indent) {
  const std::size_t labelled = characters_of(label);
  std::string out = label + std::string(labelled < indent ? indent - labelled : 0, ' ');
  for (;;) {
    const std::size_t room = first_characters(words, most_columns - indent).size();
    if (words.size() == room) return out + words + '\n';
    std::size_t end = words.rfind(' ', room);
    if (end == std::string::npos || end == 0) end = std::min(words.find(' '), words.size());
    out += words.substr(0, end) + '\n';
    words.erase(0, std::min(end + 1, words.size()));
    if (words.empty()) return out;
    out += std::string(indent, ' ');
  }
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

/// What a step moves, as "25,600 bytes between stages and 318,080 bytes of gradients over axis data": the numbers add up to Traffic::total().
[[nodiscard]] inline std::string moved_words(const Program& p, const Traffic& moved) {
  std::string words;
  const auto add = [&](const Volume& volume, const std::string& what) {
    if (volume.total_payload.value > 0) words += (words.empty() ? "" : " and ") + grouped_digits(volume.total_payload.value) + " bytes " + what;
  };
  add(moved.activations(), "between stages");
  add(moved.ties(), "of tied gradients between their owners");
  add(moved.values(), "of values over axis tensor");
  for (const Axis a : batch_axes) {
    add(moved.gradients().on(a), "of gradients over axis " + std::string{name_of(a)});
    add(moved.parameters().on(a), "of gathered parameters over axis " + std::string{name_of(a)});
  }
  add(moved.norm(), p.clips ? "for the norm" : p.scales_loss ? "for the overflow flag" : "for the flag of the loss");
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

/// "stages idle 49.0 % if only work takes time"
[[nodiscard]] inline std::string idle_words(const Program& p) {
  char bubble[32];
  std::snprintf(bubble, sizeof bubble, "%.1f", 100 * simulate(p, Machine{}).bubble());
  std::string out = std::string{"stages idle "} + bubble + " % if only work takes time";
  if (p.batch.share_count > 0) out += " and devices are as fast as their shares are large";
  if (p.batch.share_count == 0 && p.batch.capacity() > p.batch.batch) out += " and all ranks have all their rows";
  return out;
}

/// "4 devices (stage 2 x data 2)"
[[nodiscard]] inline std::string describe_devices(const Mesh& mesh) {
  const int ranks = mesh.ranks();
  std::string out = std::to_string(ranks) + (ranks == 1 ? " device (" : " devices (");
  for (int i = 0; i < mesh.count; ++i) out += (i > 0 ? " x " : "") + std::string{name_of(mesh.axes[i])} + ' ' + std::to_string(mesh.sizes[i]);
  return out + (mesh.count == 0 ? "no axis)" : ")");
}

/// One row per pipeline position, then what a step moves and how long stages stand idle if work alone counts.
///
/// Errors  the plan's own
/// Tested  report/table_test
template <class ThePlan> [[nodiscard]] std::string table() {
  heard(Refusal<ThePlan>{});
  const Program& p = lower<ThePlan>();
  std::string out = std::string{p.graph->model.view()} + ": " + describe_devices(p.mesh);
  out += ", batch " + describe_batch(p.batch) + '\n';
  out += "stage     layers   parameters KiB   gradients KiB   optimizer KiB   activations KiB   arena KiB\n";
  for (int r = 0; r < p.roles; ++r) {
    const ArenaMap& map = p.arenas[r];
    out += padded(std::to_string(r), 5) + padded(layers_of(p, r), 11) +
           padded(kibibytes(map.bytes(RegionKind::parameters, RegionKind::gradients)), 17) +
           padded(kibibytes(map.bytes(RegionKind::gradients, RegionKind::states)), 16) +
           padded(kibibytes(map.bytes(RegionKind::states, RegionKind::losses)), 16) + padded(kibibytes(map.value_bytes()), 18) +
           padded(kibibytes(map.total), 12) + '\n';
  }
  out += "over all ranks, one step moves " + moved_words(p, traffic<ThePlan>());
  if (const Flops again = flops_run_again(p); again.value > 0)
    out += "; the backward runs " + std::to_string(again.value) + " operations of a row's forward again";
  return out + "; " + idle_words(p) + '\n';
}

}  // namespace heddle::report_room

namespace heddle {
using report_room::table;
}  // namespace heddle
