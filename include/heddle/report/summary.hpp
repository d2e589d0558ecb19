// SPDX-License-Identifier: MIT
// Room: report. A model or a plan for a terminal: every layer with its shapes, parameters and place, then totals, memory and traffic.
// Sees: plan, graph, report/table.  Does not see: threads, kernels.
// In: a Plan or a model.  Out: text of at most 100 columns.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heddle/core/grouped_digits.hpp"
#include "heddle/core/not_included.hpp"
#include "heddle/graph/model_facts.hpp"
#include "heddle/plan/plan.hpp"
#include "heddle/report/table.hpp"

namespace heddle::core_room {

template <class... Given> inline constexpr bool is_included<SummaryHeader, Given...> = true;

}  // namespace heddle::core_room

namespace heddle::report_room {

/// "13,731,392 bytes (13.1 MiB)"
[[nodiscard]] inline std::string bytes_words(Bytes bytes) {
  constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB"};
  double size = static_cast<double>(bytes.value) / 1024;
  int unit = 0;
  for (; size >= 1024 && unit < 3; ++unit) size /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, " bytes (%.1f %s)", size, units[unit]);
  return grouped_digits(bytes.value) + text;
}

/// Numbers as "0 to 3", "0 and 2" or "0, 2, 4 and 6"; of many the first, the last and how many there are.
[[nodiscard]] inline std::string numbers_words(const std::vector<int>& numbers) {
  const std::size_t n = numbers.size();
  if (n == 0) return "none";
  if (n > 2 && numbers.back() - numbers.front() == static_cast<int>(n) - 1)
    return std::to_string(numbers.front()) + " to " + std::to_string(numbers.back());
  std::string out = std::to_string(numbers.front());
  if (n > 6) return out + ", " + std::to_string(numbers[1]) + ", ... " + std::to_string(numbers.back()) + " (" + std::to_string(n) + ")";
  for (std::size_t i = 1; i < n; ++i) out += (i + 1 == n ? " and " : ", ") + std::to_string(numbers[i]);
  return out;
}

[[nodiscard]] inline std::string shapes_words(const Leaf& leaf) {
  return said(leaf.in.shape, leaf.operands == 2 && !leaf.sums ? said(" and ", leaf.other.shape) : "", " -> ", leaf.out.shape);
}

/// Ranks that hold a pipeline position: each replica has one.
[[nodiscard]] inline std::vector<int> ranks_of(const Program& p, int role) {
  std::vector<int> ranks;
  for (int r = 0; r < p.mesh.ranks(); ++r)
    if (p.mesh.coordinate(Rank{r}, Axis::stage) == role) ranks.push_back(r);
  return ranks;
}
[[nodiscard]] inline std::string devices_words(const std::vector<int>& ranks) {
  return (ranks.size() == 1 ? "device " : "devices ") + numbers_words(ranks);
}

/// The layers of a model as rows. Blocks that repeat the one before them, on the same stage, are one row. Where rows would be longer than a line,
/// parameters are told by their shapes alone.
class LayerRows {
 public:
  /// `program` is null for a model alone.
  LayerRows(const Graph& whole, const Program* program, bool names) : whole_(whole), program_(program), names_(names) {
    for (int n = 0; n < whole.node_count && program != nullptr; ++n) splits_ = splits_ || shapes_words(local(n)) != shapes_words(whole.leaf(n));
    for (int c = 0; program != nullptr && c < program->chunks; ++c) stage_.resize(static_cast<std::size_t>(program->first_node[c + 1]), c);
    stage_.resize(static_cast<std::size_t>(whole.node_count), 0);
    grid_.add({"layer", "name", "type", "in -> out", splits_ ? "on each rank" : "", "parameters", "number", has_stages() ? "stage" : ""});
    add(0, whole.node_count);
  }
  [[nodiscard]] static std::string text(const Graph& whole, const Program* program) {
    const LayerRows named{whole, program, true};
    return named.grid_.fits() ? named.grid_.text() : LayerRows{whole, program, false}.grid_.text();
  }

 private:
  [[nodiscard]] bool has_stages() const { return program_ != nullptr && program_->chunks > 1; }
  [[nodiscard]] const Leaf& local(int node) const { return program_->graph->leaf(node); }
  [[nodiscard]] int stage(int node) const { return stage_[static_cast<std::size_t>(node)]; }
  /// The same place of a Repeat, run again on the same stage.
  [[nodiscard]] bool alike(int a, int b) const {
    return whole_.nodes[a].leaf == whole_.nodes[b].leaf && stage(a) == stage(b) && whole_.nodes[a].tied_to == whole_.nodes[b].tied_to;
  }
  /// How often the `length` nodes from `begin` on stand there one after another.
  [[nodiscard]] int times(int begin, int length, int end) const {
    int n = begin + length;
    while (n < end && alike(n, n - length)) ++n;
    return (n - begin) / length;
  }
  void add(int begin, int end) {
    while (begin < end) {
      int length = 1;
      int repeats = 1;
      for (int k = 1; begin + 2 * k <= end; ++k)
        if (const int found = times(begin, k, end); found > 1 && found * k > repeats * length) {
          length = k;
          repeats = found;
        }
      if ((repeats - 1) * length < 2) {
        add_layer(begin++);
        continue;
      }
      add(begin, begin + length);
      add_repeats(begin, length, repeats);
      begin += length * repeats;
    }
  }
  void add_layer(int n) {
    const Leaf& leaf = whole_.leaf(n);
    const int owner = whole_.nodes[n].tied_to;
    std::string parameters;
    for (int p = 0; p < leaf.parameter_count && owner < 0; ++p)
      parameters += (p > 0 ? ", " : "") + (names_ ? said(leaf.parameters[p].name.view(), ' ') : std::string{}) + said(leaf.parameters[p].shape);
    if (whole_.frozen(n)) parameters += ", frozen";
    if (owner >= 0) parameters = "tied to " + said(whole_.name(owner).view());
    grid_.add({std::to_string(n), said(whole_.name(n).view()), said(leaf.spelled.view()), of_a_layer(leaf), splits_ ? shapes_words(local(n)) : "",
               parameters, owner < 0 && leaf.parameter_count > 0 ? grouped_digits(whole_.parameter_elements(n)) : "",
               has_stages() ? std::to_string(stage(n)) : ""});
  }
  /// "(20) -> (500)"; of long shapes what it gives, since what it takes stands a row above.
  [[nodiscard]] static std::string of_a_layer(const Leaf& leaf) {
    constexpr std::size_t most = 24;
    const std::string both = shapes_words(leaf);
    return both.size() <= most ? both : "-> " + said(leaf.out.shape);
  }
  void add_repeats(int begin, int length, int repeats) {
    std::int64_t elements = 0;
    const int first = begin + length;
    const int end = begin + length * repeats;
    for (int n = first; n < end; ++n) elements += whole_.nodes[n].tied_to < 0 ? whole_.parameter_elements(n) : 0;
    grid_.add({said(first, "-", end - 1), said(repeats - 1, " more like ", begin) + (length > 1 ? said(" to ", begin + length - 1) : "") +
                                              (elements > 0 ? said(", together ", elements, " parameters") : "")});
  }

  const Graph& whole_;
  const Program* program_;
  bool names_;
  bool splits_ = false;
  std::vector<int> stage_;  // by node
  Grid grid_{"rlllllrr"};
};

inline constexpr std::size_t totals_indent = 12;

[[nodiscard]] inline std::string parameters_line(const Graph& graph) {
  const std::int64_t elements = graph.parameter_elements();
  const auto share = [](std::int64_t part, const char* what) { return part > 0 ? ", of which " + grouped_digits(part) + what : std::string{}; };
  return wrapped("parameters",
                 grouped_digits(elements) + ", " + bytes_words(Bytes{float_bytes * elements}) + share(graph.frozen_elements(), " frozen") +
                     share(graph.tracked_elements(), " tracked"),
                 totals_indent);
}

/// "device 0: 6,811,136 bytes (6.5 MiB)"; devices that need the same stand in one line.
[[nodiscard]] inline std::string memory_lines(const Program& p) {
  std::string out;
  std::vector<bool> told(static_cast<std::size_t>(p.roles));
  for (int role = 0; role < p.roles; ++role) {
    if (told[static_cast<std::size_t>(role)]) continue;
    std::vector<int> ranks;
    for (int r = 0; r < p.mesh.ranks(); ++r)
      if (const int other = p.mesh.coordinate(Rank{r}, Axis::stage); p.arenas[other].total == p.arenas[role].total) {
        told[static_cast<std::size_t>(other)] = true;
        ranks.push_back(r);
      }
    out += wrapped(out.empty() ? "memory" : "",
                   devices_words(ranks) + ": " + bytes_words(Bytes{p.arenas[role].total}) + (ranks.size() > 1 ? " each" : ""), totals_indent);
  }
  return out;
}

/// "stage 0 on device 0, stage 1 on device 1"; nothing of a plan without stages.
[[nodiscard]] inline std::string stages_lines(const Program& p) {
  std::string words;
  for (int c = 0; c < p.chunks; ++c) words += (c > 0 ? ", " : "") + said("stage ", c, " on ") + devices_words(ranks_of(p, p.device_of_chunk[c]));
  return p.chunks > 1 ? wrapped("stages", words, totals_indent) : "";
}

/// "0: int32 (8) on device 0, 1: uint8 (28, 28) on device 1": who loads what; nothing of a model of one input.
[[nodiscard]] inline std::string inputs_lines(const Graph& graph, const Program* p) {
  std::string words;
  for (int i = 0; i < graph.input_count && graph.input_count > 1; ++i) {
    words += (i > 0 ? ", " : "") + said(i, ": ", name_of(given_as(graph.input_of(i).type)), ' ', graph.input_of(i).shape);
    std::vector<int> ranks;
    for (int r = 0; p != nullptr && r < p->mesh.ranks(); ++r) {
      bool loads = false;
      for (int c = 0; c < p->chunks; ++c)
        for (int e = p->forward_bodies[c].begin; e < p->forward_bodies[c].end && p->device_of_chunk[c] == p->mesh.coordinate(Rank{r}, Axis::stage);
             ++e)
          loads = loads || (p->entries[e].what == BodyOp::load_input && p->entries[e].operand == i);
      if (loads) ranks.push_back(r);
    }
    if (!ranks.empty()) words += " on " + devices_words(ranks);
  }
  return words.empty() ? words : wrapped("inputs", words, totals_indent);
}

/// " and loss CrossEntropy", " and losses digit, angle".
template <class Loss> [[nodiscard]] std::string loss_words() {
  if constexpr (requires { Loss::said; }) {
    std::string words = " and losses ";
    for (int k = 0; k < Loss::count; ++k) words += (k > 0 ? ", " : "") + said(Loss::said[k].label);
    return words;
  } else {
    return " and loss " + said(type_name<Loss>().view());
  }
}

/// What a plan is, in at most 100 columns: a row a layer, its shapes for one row of the batch, parameters and devices; then totals, the memory of
/// each device, what a step moves and how long stages stand idle. Blocks of a Repeat that are alike are one row. Of a model: its layers and totals.
///
/// Errors  the plan's own; L06 of what is neither; the fault of a model
/// Tested  report/summary_test
template <class Asked> [[nodiscard]] std::string summary() {
  if constexpr (Verdict<Asked>::found.code == Code{'L', 6} && part_of<Asked>() == PlanPart::model) {
    heard(ModelRefusal<Asked>{});
    const Graph& graph = graph_of<Asked>;
    return said(graph.model.view()) + '\n' + LayerRows::text(graph, nullptr) + parameters_line(graph) + inputs_lines(graph, nullptr);
  } else {
    heard(Refusal<Asked>{});
    if constexpr (Verdict<Asked>::found.ok()) {
      using Request = typename Asked::Request;
      const Graph& graph = Request::graph;
      const Program& p = lower<Asked>();
      std::string output = said(graph.output().shape) + " for each row";
      if constexpr (Request::trains) output += loss_words<typename Request::Loss>();
      std::string out = said(graph.model.view()) + '\n' + LayerRows::text(graph, &p) + parameters_line(graph);
      out += wrapped("devices", describe_devices(p.mesh), totals_indent) + stages_lines(p);
      out += wrapped("batch", describe_batch(p.batch), totals_indent);
      out += inputs_lines(graph, &p) + wrapped("output", output + " on " + devices_words(ranks_of(p, p.loss_role())), totals_indent);
      if (graph.values != ElementType::float32)
        out += wrapped("values", said(name_of(graph.values), " between layers; they compute in float32"), totals_indent);
      out += memory_lines(p) + wrapped("a step", "moves " + moved_words(p, traffic<Asked>()), totals_indent);
      if (const Flops again = flops_run_again(p); again.value > 0)
        out += wrapped("", "runs " + grouped_digits(again.value) + " operations of a row's forward again", totals_indent);
      return out + wrapped("idle", idle_words(p), totals_indent);
    } else {
      return {};
    }
  }
}

}  // namespace heddle::report_room

namespace heddle {
using report_room::summary;
}  // namespace heddle
