// SPDX-License-Identifier: MIT
// Room: report. A plan on its mesh as a picture: a column for each stage with its layers and memory, a row for each replica, a box for each rank.
// Sees: plan, graph, report/{svg, summary}.  Does not see: threads, kernels.
// In: a Plan.  Out: SVG 1.1 for light and dark pages.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/as_written.hpp"
#include "heddle/core/grouped_digits.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/plan/plan.hpp"
#include "heddle/report/fixed_point.hpp"
#include "heddle/report/summary.hpp"
#include "heddle/report/svg.hpp"

namespace heddle::report_room {

/// How much of a mesh is drawn. {.most_rows = 4} draws 4 of 16 replicas and says so.
struct MeshSvg {
  int most_stages = 8;
  int most_rows = 8;
  int most_parts = 8;   ///< ranks of axis tensor
  int most_layers = 6;  ///< names of a stage's layers
};

/// "1,015.8 KiB"
[[nodiscard]] inline std::string binary_words(Bytes bytes) {
  const std::string words = bytes_words(bytes);
  return words.substr(words.find('(') + 1, words.size() - words.find('(') - 2);
}

/// Draws a Program whose layers have their names from the whole graph: one of 2 stages, 2 replicas and 2 tensor ranks has 8 boxes.
///
/// Tested  report/mesh_svg_test
class MeshPicture {
 public:
  MeshPicture(const Graph& whole, const Program& p, const MeshSvg& how) : whole_(whole), p_(p), how_(how) {
    for (int i = 0; i < p.mesh.count; ++i)
      if (const Axis a = p.mesh.axes[i]; a != Axis::stage && a != Axis::tensor && p.mesh.sizes[i] > 1) row_axes_.push_back(a);
    parts_ = std::min(p.mesh.size(Axis::tensor), std::max(1, how.most_parts));
    stages_ = std::min(p.roles, std::max(1, how.most_stages));
    int rows = 1;
    for (const Axis a : row_axes_) rows *= p.mesh.size(a);
    rows_ = std::min(rows, std::max(1, how.most_rows));
    all_rows_ = rows;
    column_ = std::max(200.0, parts_ * 92.0);
    for (int r = 0; r < stages_; ++r) listed_ = std::max(listed_, std::min(layers(r).size(), most_layers() + 1));
    for (int r = 0; r < rows_; ++r) left_ = std::max(left_, margin + width_of(row_name(r), 12) + 12);
    for (int r = 0; r < p.roles; ++r) most_ = std::max(most_, p.arenas[r].total);
  }
  [[nodiscard]] std::string document(std::string_view policy) {
    const double width = std::max({640.0, left_ + stages_ * (column_ + gap) + margin, std::min(960.0, width_of(policy, 12) + 2 * margin)});
    const std::string title = std::string{p_.graph->model.view()} + ": " + describe_devices(p_.mesh);
    front_.words("h", margin, 28, fitted_words(title, 16, width - 2 * margin));
    front_.words("n dim", margin, 47, fitted_words(policy, 12, width - 2 * margin));
    front_.words("n dim", margin, 64, fitted_words("batch " + describe_batch(p_.batch), 12, width - 2 * margin));
    for (int s = 0; s < stages_; ++s) header(s, left_ + s * (column_ + gap));
    y_ = top + 15 * static_cast<double>(listed_) + 66;
    for (int r = 0; r < rows_; ++r) row(r);
    const std::string left_out = not_drawn();
    if (!left_out.empty()) front_.words("n dim", margin, y_ += 12, fitted_words(left_out, 12, width - 2 * margin));
    legend(width);
    return svg_document(width, y_ + margin, title, front_.text());
  }

 private:
  static constexpr double margin = 16, gap = 10, high = 42, top = 92;

  /// Coordinates along the axes that split the batch, of a row: "data 1, shard 0".
  [[nodiscard]] std::string row_name(int row) const {
    std::string words;
    for (const Axis a : row_axes_) {
      words += (words.empty() ? "" : ", ") + std::string{name_of(a)} + ' ' + std::to_string(row % p_.mesh.size(a));
      row /= p_.mesh.size(a);
    }
    return words;
  }
  [[nodiscard]] Rank rank_of(int row, int stage, int tensor) const {
    Rank rank = p_.mesh.moved(p_.mesh.moved(Rank{0}, Axis::stage, stage), Axis::tensor, tensor);
    for (const Axis a : row_axes_) {
      rank = p_.mesh.moved(rank, a, row % p_.mesh.size(a));
      row /= p_.mesh.size(a);
    }
    return rank;
  }
  [[nodiscard]] std::size_t most_layers() const { return static_cast<std::size_t>(std::max(1, how_.most_layers)); }
  [[nodiscard]] std::vector<int> layers(int role) const {
    std::vector<int> nodes;
    for (int c = 0; c < p_.chunks; ++c)
      for (int n = p_.first_node[c]; n < p_.first_node[c + 1] && p_.device_of_chunk[c] == role; ++n) nodes.push_back(n);
    return nodes;
  }
  void header(int role, double x) {
    const std::vector<int> nodes = layers(role);
    double y = top;
    front_.words("n", x, y, p_.roles > 1 ? "stage " + std::to_string(role) + ": layers " + layers_of(p_, role) : "layers " + layers_of(p_, role));
    std::int64_t elements = 0;
    for (const int n : nodes) elements += whole_.nodes[n].tied_to < 0 ? whole_.parameter_elements(n) : 0;
    const auto shown = nodes.size() <= listed_ ? nodes.size() : listed_ - 1;
    for (std::size_t i = 0; i < shown; ++i) {
      const std::string name{whole_.name(nodes[i]).view()};
      front_.words("s dim", x, y += 15, fitted_words(name + ": " + std::string{whole_.leaf(nodes[i]).spelled.view()}, 11, column_));
    }
    if (shown < nodes.size()) front_.words("s dim", x, y + 15, "and " + std::to_string(nodes.size() - shown) + " more");
    y = top + 15 * static_cast<double>(listed_) + 18;
    front_.words("s", x, y, fitted_words(grouped_digits(elements) + " parameters", 11, column_));
    front_.words("s", x, y + 15, fitted_words(grouped_digits(p_.arenas[role].total) + " bytes on each rank", 11, column_));
    bar(role, x, y + 22);
  }
  /// What the memory of a rank is for, as long as its share of the largest.
  void bar(int role, double x, double y) {
    const ArenaMap& map = p_.arenas[role];
    const std::int64_t bytes[] = {map.bytes(RegionKind::parameters, RegionKind::gradients), map.bytes(RegionKind::gradients, RegionKind::states),
                                  map.bytes(RegionKind::states, RegionKind::losses),
                                  map.total - map.bytes(RegionKind::parameters, RegionKind::losses)};
    for (int k = 0; k < kinds; ++k) {
      const double wide = column_ * static_cast<double>(bytes[k]) / static_cast<double>(std::max<std::int64_t>(1, most_));
      if (bytes[k] > 0) front_.box(styles_of[k], x, y, wide, 10, std::string{purposes[k]} + ": " + grouped_digits(bytes[k]) + " bytes");
      x += wide;
    }
  }
  void row(int number) {
    front_.words("n", left_ - 12, y_ + high / 2 + 4, row_name(number), "end");
    for (int s = 0; s < stages_; ++s)
      for (int t = 0; t < parts_; ++t) {
        const double each = column_ / parts_, x = left_ + s * (column_ + gap) + t * each, wide = each - (t + 1 < parts_ ? 6 : 0);
        const Rank rank = rank_of(number, s, t);
        const std::string name = "rank " + std::to_string(rank.value);
        front_.box("card", x, y_, wide, high, name + ", stage " + std::to_string(s) + (parts_ > 1 ? ", tensor " + std::to_string(t) : ""), 4);
        front_.words("n", x + wide / 2, y_ + 17, fitted_words(name, 12, wide), "middle");
        front_.words("s dim", x + wide / 2, y_ + 33, fitted_words(binary_words(Bytes{p_.arenas[s].total}), 11, wide), "middle");
      }
    y_ += high + 8;
  }
  [[nodiscard]] std::string not_drawn() const {
    std::string words;
    const auto add = [&](int shown, int all, const char* what) {
      if (shown < all) words += (words.empty() ? "drawn are " : ", ") + std::to_string(shown) + " of " + std::to_string(all) + what;
    };
    add(stages_, p_.roles, " stages");
    add(rows_, all_rows_, " replicas");
    add(parts_, p_.mesh.size(Axis::tensor), " ranks of axis tensor");
    return words;
  }
  void legend(double width) {
    double x = margin;
    y_ += 10;
    for (int k = 0; k < kinds; ++k) {
      const double wide = 36 + width_of(purposes[k], 11);
      if (x + wide > width) x = margin, y_ += 18;
      front_.box(styles_of[k], x, y_, 14, 10);
      front_.words("s", x + 19, y_ + 9, purposes[k]);
      x += wide;
    }
    y_ += 10;
  }

  static constexpr int kinds = 4;
  static constexpr std::string_view styles_of[kinds] = {"forward", "backward", "send", "update"};
  static constexpr std::string_view purposes[kinds] = {"parameters", "gradients", "optimizer states", "values and room to compute"};
  const Graph& whole_;
  const Program& p_;
  const MeshSvg& how_;
  std::vector<Axis> row_axes_;
  int parts_ = 1, stages_ = 1, rows_ = 1, all_rows_ = 1;
  double column_ = 0;
  double left_ = margin;
  double y_ = 0;
  std::size_t listed_ = 1;  // lines of layers
  std::int64_t most_ = 0;   // bytes of the largest rank
  Svg front_;
};

/// std::puts(mesh_svg<MyPlan>().c_str());
///
/// Errors  the plan's own
/// Tested  report/mesh_svg_test
template <class ThePlan> [[nodiscard]] std::string mesh_svg(const MeshSvg& how = {}) {
  heard(Refusal<ThePlan>{});
  if constexpr (Verdict<ThePlan>::found.ok()) {
    using Request = typename ThePlan::Request;
    return MeshPicture{Request::graph, lower<ThePlan>(), how}.document(as_written(long_type_name<typename Request::ThePolicy>().view()));
  } else {
    return {};
  }
}

}  // namespace heddle::report_room

namespace heddle::extending {
using report_room::mesh_svg, report_room::MeshSvg;
}  // namespace heddle::extending
