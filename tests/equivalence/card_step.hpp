// SPDX-License-Identifier: MIT
// Room: tests. What a step of a GPT on one card launches, read off its Program: every kernel, how often, the bytes it reads and writes, its
// operations. Sees: plan/program, graph.  Does not see: cards, what kernels do. In: a Program of one device, one micro-batch and one grain.  Out:
// CardStep, Launched, stepped_elements.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heddle/heddle.hpp"
#include "heddle/plan/read/work.hpp"

namespace card_step {

using namespace heddle;
using extending::BodyOp, extending::ListOp;
using graph_room::Leaf;
using plan_room::Entry, plan_room::Program;

/// By what rate a launch is timed: a product of cuBLASLt that makes outputs, gradients of inputs or of weights; attention; or bytes of memory.
enum class Work : std::uint8_t { output_product, input_product, weight_product, attention_forward, attention_backward, memory };

/// All launches of one kernel for one purpose by one sort of call in a step: MapElements of 12 GELU reads and writes 12 times 4096 x 3072 values.
struct Launched {
  std::string kernel, purpose, call;
  Work work = Work::memory;
  int launches = 0;
  double bytes = 0;  ///< read and written once, whatever caches have
  double flops = 0;  ///< of products and of attention
};
/// How often a step has one sort of call: "GELUTanh forward" of 12 blocks 12 times.
struct Called {
  std::string call;
  int times = 0;
};

/// The launches of a step as kernels of compute/cuda queue them. A test counts what the emulator is asked for, so that this list cannot differ.
///
/// Tested  equivalence/cuda_card_step_test
class CardStep {
 public:
  explicit CardStep(const Program& p) : p_(p), rows_(p.batch.grain_rows), value_(bytes_of(p.graph->values)), rounds_(value_ < float_bytes) {
    if (p.roles != 1 || p.mesh.ranks() != 1 || p.batch.rank_grains() != 1) throw std::invalid_argument("a CardStep is of one device and one grain");
    if (rounds_) {
      begin("rounding of parameters");
      launch("ConvertAll", "parameters to bfloat16", (float_bytes + value_) * static_cast<double>(p.arenas[0].flat_elements()));
    }
    for (int i = p.lists[0].begin; i < p.lists[0].end; ++i) line(p.instructions[i]);
  }
  [[nodiscard]] const std::vector<Launched>& all() const { return all_; }
  /// In the order in which they come first.
  [[nodiscard]] const std::vector<Called>& calls() const { return calls_; }
  /// Kernels of Heddle, and products of cuBLASLt.
  [[nodiscard]] int kernels() const { return count(false); }
  [[nodiscard]] int products() const { return count(true); }

 private:
  static constexpr double float_bytes = 4, statistic_bytes = 4;
  static bool is_product(Work work) { return work <= Work::weight_product; }
  [[nodiscard]] int count(bool products) const {
    int sum = 0;
    for (const Launched& l : all_) sum += is_product(l.work) == products ? l.launches : 0;
    return sum;
  }
  /// What is launched from here on belongs to a call of this sort.
  void begin(std::string call) {
    const auto known = std::find_if(calls_.begin(), calls_.end(), [&](const Called& c) { return c.call == call; });
    ++(known != calls_.end() ? *known : calls_.emplace_back(Called{call})).times;
    call_ = std::move(call);
  }
  void launch(std::string_view kernel, std::string_view purpose, double bytes, Work work = Work::memory, double flops = 0) {
    const auto known =
        std::find_if(all_.begin(), all_.end(), [&](const Launched& l) { return l.kernel == kernel && l.purpose == purpose && l.call == call_; });
    Launched& to = known != all_.end() ? *known : all_.emplace_back(Launched{std::string{kernel}, std::string{purpose}, call_, work});
    ++to.launches;
    to.bytes += bytes;
    to.flops += flops;
  }

  // ---- lines of the list
  void line(const plan_room::Instruction& line) {
    const auto elements = [&] { return static_cast<double>(p_.buckets[line.bucket].elements); };
    switch (line.op) {
      case ListOp::forward:
      case ListOp::backward:
        for (int e = p_.body(line).begin; e < p_.body(line).end; ++e)
          e += entry(p_.entries[e], e + 1 < p_.body(line).end ? &p_.entries[e + 1] : nullptr);
        return;
      case ListOp::tie: begin("sum of tied gradients"); return launch("AddArrays", "gradients of tied parameters", 3 * float_bytes * elements());
      case ListOp::step:
        if (!p_.buckets[line.bucket].steps()) return;
        if (p_.clips) {
          begin("clipping of gradients");
          launch("ClipAll", "gradients times the factor of their norm", 2 * float_bytes * elements());
        }
        begin("step of AdamW");
        return launch("UpdateElements", "AdamW", 7 * float_bytes * elements());
      case ListOp::norm: return norm();
      case ListOp::clip: return launch("TakeNorm", "norm of gradients", 0);
      case ListOp::report: return;
      default: throw std::invalid_argument("a CardStep has no line of operation " + std::to_string(static_cast<int>(line.op)));
    }
  }
  /// A use of tied parameters beside their owner's has gradients that do not count.
  void norm() {
    begin("norm of gradients");
    for (int u = 0; u < p_.unit_count; ++u) {
      if (!p_.units[u].counts) continue;
      launch("SumSquares", "norm of gradients", float_bytes * static_cast<double>(p_.units[u].elements));
      launch("TreeOfParts", "norm of gradients", 0);
    }
  }
  /// How many entries behind it run with it.
  int entry(const Entry& e, const Entry* next) {
    switch (e.what) {
      case BodyOp::leaf_forward: forward(e, false); return 0;
      case BodyOp::leaf_backward: backward(e); return 0;
      case BodyOp::add:
        if (e.fused && next != nullptr) {
          forward(*next, true);
          return 1;
        }
        begin("sum of values");
        launch("AddArrays", e.node >= 0 ? "sums of residuals" : "sums of gradients", 3 * values(e.features));
        return 0;
      case BodyOp::loss: {
        const double classes = static_cast<double>(p_.graph->output().shape.last());
        begin("CrossEntropy");
        launch("CrossEntropyPositions", "loss and its gradient", (classes > 8192 ? 3 : 2) * values(e.features));
        launch("FinishLoss", "loss and its gradient", 0);
        launch("TreeOfLosses", "loss and its gradient", 0);
        return 0;
      }
      case BodyOp::load_input:
      case BodyOp::load_targets: return 0;  // copies from pinned memory
      case BodyOp::copy:
        if (e.type == core_room::ElementType::int32) return 0;  // of token ids, by the runtime
        throw std::invalid_argument("a CardStep copies no values");
      default: throw std::invalid_argument("a CardStep has no entry of operation " + std::to_string(static_cast<int>(e.what)));
    }
  }

  // ---- layers
  [[nodiscard]] double values(std::int64_t of_a_row) const { return value_ * static_cast<double>(rows_ * of_a_row); }
  [[nodiscard]] double vectors(const Leaf& leaf) const { return static_cast<double>(rows_ * (leaf.in.elements() / leaf.in.shape.last())); }
  [[nodiscard]] double statistics(const Leaf& leaf) const { return statistic_bytes * static_cast<double>(rows_ * leaf.statistics_elements()); }
  static std::string purpose(const Leaf& leaf) {
    return std::string{leaf.parameter_count > 0 && leaf.vocabulary == 0 ? leaf.spelled.view() : leaf.kind.view()};
  }
  void forward(const Entry& e, bool sums) {
    const Leaf& leaf = p_.graph->leaf(e.node);
    begin(std::string{leaf.spelled.view()} + (sums ? " forward, with a sum" : " forward"));
    const double in = values(leaf.in.elements()), out = values(leaf.out.elements());
    const std::string_view kind = leaf.kind.view();
    if (kind == "Linear") return launch("product", purpose(leaf), in + out + weight(leaf, value_), Work::output_product, product(leaf));
    if (kind == "LayerNorm")
      return launch("NormForward", sums ? "norms, with the sums of residuals" : "norms", (sums ? 4 : 2) * in + statistics(leaf));
    if (kind == "GELUTanh" || kind == "GELU") return launch("MapElements", "GELU", in + out);
    if (kind == "SelfAttention")
      return launch("AttentionForward", "attention", in + out + statistics(leaf), Work::attention_forward, attention(leaf));
    if (kind == "Embedding") return launch("LookUpRows", "table", 2 * out + float_bytes * vectors(leaf));
    if (kind == "LearnedPositions") return launch("AddPositions", "positions", in + out);
    throw std::invalid_argument("a CardStep has no " + std::string{kind});
  }
  void backward(const Entry& e) {
    const Leaf& leaf = p_.graph->leaf(e.node);
    begin(std::string{leaf.spelled.view()} + " backward");
    const double in = values(leaf.in.elements()), out = values(leaf.out.elements());
    const std::string_view kind = leaf.kind.view();
    if (kind == "Linear") {
      launch("product", "gradient of the weight, " + purpose(leaf), in + out + weight(leaf, float_bytes), Work::weight_product, product(leaf));
      if (leaf.parameter_count == 2) column_sums("sums of the gradients of biases", leaf.out.shape.last(), vectors(leaf), 1, out);
      if (e.d.set())
        launch("product", "gradient of the input, " + purpose(leaf), in + out + weight(leaf, value_), Work::input_product, product(leaf));
    } else if (kind == "LayerNorm") {
      column_sums("sums of the gradients of norms", leaf.in.shape.last(), vectors(leaf), leaf.parameter_count, 2 * in + statistics(leaf));
      if (e.d.set()) launch("NormBackward", "gradients of norms", 3 * in + statistics(leaf));
    } else if (kind == "GELUTanh" || kind == "GELU") {
      launch("PullBackElements", "gradients of GELU", 3 * in);
    } else if (kind == "SelfAttention") {
      const double read = in + 2 * out + statistics(leaf);
      launch("AttentionQueryGradients", "attention, backward", read + in / 3, Work::attention_backward, attention(leaf));
      launch("AttentionKeyGradients", "attention, backward", read + in * 2 / 3, Work::attention_backward, 1.5 * attention(leaf));
    } else if (kind == "Embedding") {
      const double table = float_bytes * static_cast<double>(leaf.parameters[0].shape.elements());
      launch("SumTokens", "gradient of the table, and zeros before it", out + table + 2 * std::min(table, out * float_bytes / value_));
    } else if (kind == "LearnedPositions") {
      launch("SumPositions", "gradient of positions", e.d.set() && !(e.d == e.c) ? in + out : out);
    } else {
      throw std::invalid_argument("a CardStep has no " + std::string{kind});
    }
  }
  [[nodiscard]] static double weight(const Leaf& leaf, double each) { return each * static_cast<double>(leaf.parameters[0].shape.elements()); }
  /// 2 m n k.
  [[nodiscard]] double product(const Leaf& leaf) const { return 2 * vectors(leaf) * weight(leaf, 1); }
  /// Of a causal one half: two products of positions by positions for each head forward, five backward, of which AttentionQueryGradients has the
  /// first two fifths.
  [[nodiscard]] double attention(const Leaf& leaf) const {
    const auto positions = static_cast<double>(leaf.in.shape.sizes[leaf.in.shape.dimensions - 2]);
    return 4 * vectors(leaf) * positions * static_cast<double>(leaf.out.shape.last()) / 2;
  }
  /// As SumExtents of compute/cuda/column_sums has it: whether several blocks share the rows of a column.
  void column_sums(std::string_view purpose, std::int64_t columns, double rows, int sums, double bytes) {
    launch("SumColumns", purpose, bytes);
    const std::int64_t across = columns % 4 == 0 ? columns / 4 : columns;
    std::int64_t lanes = 1;
    while (lanes < 32 && lanes < across) lanes *= 2;
    if (sums > 1 || static_cast<std::int64_t>(rows) / (8 * (256 / lanes)) > 1) launch("AddShares", purpose, 0);
  }

  const Program& p_;
  std::int64_t rows_;
  double value_;
  bool rounds_;
  std::string call_;
  std::vector<Launched> all_;
  std::vector<Called> calls_;
};

/// Elements of each call of the optimizer in a step, in their order: a step of GPT-2 has 14, for 124,475,904
/// parameters in as many buckets, which are filled up to 124,479,488.
///
/// Tested  equivalence/gpt2_on_cards_test
[[nodiscard]] inline std::vector<std::int64_t> stepped_elements(const Program& p) {
  std::vector<std::int64_t> elements;
  for (int i = p.lists[0].begin; i < p.lists[0].end; ++i) {
    const plan_room::Instruction& line = p.instructions[i];
    if (line.op == ListOp::step && p.buckets[line.bucket].steps()) elements.push_back(p.buckets[line.bucket].elements);
  }
  return elements;
}

}  // namespace card_step
