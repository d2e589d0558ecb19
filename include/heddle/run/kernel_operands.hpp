// SPDX-License-Identifier: MIT
// Room: run. What kernels of one rank take of an entry: parameters where they lie, values as floats, or as bfloat16 if they take those.
// Sees: plan/program, graph, run/rank_tensors, run/wide_tensors.  Does not see: policies, threads, transports, any backend.
// In: an entry's places and its layer.  Out: pointers for a call, and what was written back in its place.
#pragma once

#include <cstdint>

#include "heddle/graph/local_leaf.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/run/rank_tensors.hpp"
#include "heddle/run/wide_tensors.hpp"

namespace heddle::run_room {

/// Where values are float32 kernels read and write them where they lie. Under Mixed they have copies here, one grain at a time: of 16 rows of 50
/// features 800 floats; and parameters are rounded once for all grains. Kernels that take bfloat16 are given values where they lie: then pointers to
/// floats are addresses alone; and all parameters of the rank are rounded at once, when the first of them is read in a step.
///
/// Tested  run/kernel_operands_test, equivalence/mixed_test
template <class Work> class KernelOperands {
 public:
  using Leaves = LeafKernelsIn<typename Work::Space>;
  /// `leaves`, the kernels of the model, and whether that of the loss takes bfloat16. Without them none does.
  KernelOperands(const Program& training, RankTensors& tensors, Work& work, const Leaves* leaves = nullptr, bool loss_takes_bfloat16 = false)
      : t_(tensors), work_(work), leaves_(leaves), loss_takes_bfloat16_(loss_takes_bfloat16),
        part_(training.mesh.coordinate(tensors.rank(), Axis::tensor)), wide_(training, work, wide_bytes(training, leaves, loss_takes_bfloat16_)),
        rounded_room_(work.room(rounded_bytes(training, leaves, tensors.role()).value)) {}

  /// A step begins: parameters may have changed.
  void begin_step() { rounded_ = false; }

  /// Finds the parameters of a layer; not where nothing reads them: they may not be gathered then.
  [[nodiscard]] const float* const* parameters(const Node& node, int number, const Leaf& leaf, bool read = true) {
    wide_.clear();
    as_it_lies_ = wide_.on() && leaves_ != nullptr && leaves_[node.leaf].takes_bfloat16;
    for (int k = 0; k < node.parameter_count; ++k) read_[k] = read ? parameter(node, number, leaf, k) : nullptr;
    first_grain_ = wide_.used();
    return read_;
  }
  /// Before the tensors of a grain are asked for.
  void begin_grain() { wide_.clear(first_grain_); }
  /// Without a layer.
  void begin() {
    first_grain_ = 0;
    as_it_lies_ = false;
    wide_.clear();
  }
  /// For the kernel of a loss.
  void begin_loss() {
    begin();
    as_it_lies_ = wide_.on() && loss_takes_bfloat16_;
  }
  /// What lies there, of `rows` rows: floats that a layer gives, or their gradient.
  [[nodiscard]] float* read(const Place& place, std::int64_t features, int g, std::int64_t rows) {
    return as_it_lies_ ? value(place, features, g) : wide_.read(value(place, features, g), rows * features);
  }
  [[nodiscard]] float* write(const Place& place, std::int64_t features, int g, std::int64_t rows) {
    return as_it_lies_ ? value(place, features, g) : wide_.write(value(place, features, g), rows * features);
  }
  [[nodiscard]] float* update(const Place& place, std::int64_t features, int g, std::int64_t rows) {
    return as_it_lies_ ? value(place, features, g) : wide_.update(value(place, features, g), rows * features);
  }
  /// An address, whatever lies there.
  [[nodiscard]] float* value(const Place& place, std::int64_t features, int g) { return t_.at_grain(place, features, g, t_.program().graph->values); }
  /// The input of a layer: also token ids and bytes, as they lie.
  [[nodiscard]] float* input(const Place& place, const Leaf& leaf, int g, std::int64_t rows) {
    if (is_real(leaf.in.type)) return read(place, leaf.in.elements(), g, rows);
    return t_.at_grain(place, leaf.in.elements(), g, leaf.in.type);
  }
  void put_back() { wide_.put_back(); }

  // ---- of a sum over ranks: its terms, behind them the own part of what is scattered
  [[nodiscard]] float* widen_terms(const Collective& c) {
    begin();
    return wide_.read(t_.at(c.source, c.elements * bytes_of(c.type) / float_bytes), c.elements);
  }
  void round_to(const Address& end, ElementType type, const float* from, std::int64_t elements) {
    work_.round(t_.at(end, elements * bytes_of(type) / float_bytes), from, elements);
  }

  [[nodiscard]] bool on() const { return wide_.on(); }

 private:
  /// As layers read it: rounded where values are, but for what is tracked. What a gather has brought is rounded already.
  [[nodiscard]] const float* parameter(const Node& node, int number, const Leaf& leaf, int k) {
    const Program& p = t_.program();
    const ParameterPlace& place = p.parameters[node.first_parameter + k];
    const bool keeps = leaf.parameters[k].tracked();
    const auto rounded_of = [&](const float* floats) {
      if (keeps) return floats;
      return as_it_lies_ ? wide_.rounded_parameter(floats, place.elements) : wide_.parameter(floats, place.elements);
    };
    if (part_ > 0 && p.graph->signature(number).parameters[k].partial()) return t_.zeros(place.elements);
    if (as_it_lies_ && !keeps && rounded_together(p, number)) return in_rounded(place);
    if (!p.storage.parameters)
      return rounded_of(t_.in_region(node.frozen_count > 0 ? RegionKind::frozen : RegionKind::parameters, place.values(), place.elements));
    const FlatBucket& unit = p.buckets[p.bucket_of_node[place.node]];
    float* const lies = t_.whole_parameter(unit, place);
    if (unit.frozen || p.storage.gathered == ElementType::float32) return rounded_of(lies);
    return as_it_lies_ ? lies : wide_.read(lies, place.elements);
  }
  /// Of the parameters of the rank in bfloat16.
  [[nodiscard]] const float* in_rounded(const ParameterPlace& place) {
    if (const std::int64_t all = t_.map().flat_elements(); !rounded_) {
      work_.round(rounded_room_.floats(0, (all + 1) / 2), t_.in_region(RegionKind::parameters, 0, all), all);
      rounded_ = true;
    }
    return rounded_room_.floats(place.values() * bytes_of(ElementType::bfloat16), (place.elements + 1) / 2);
  }

  RankTensors& t_;
  Work& work_;
  const Leaves* leaves_;
  bool loss_takes_bfloat16_;
  bool as_it_lies_ = false;  // what the entry in hand is given
  int part_;                 // coordinate on axis tensor; what is used as Partial is used on 0
  WideTensors<Work> wide_;
  Arena rounded_room_;
  bool rounded_ = false;  // in this step
  std::int64_t first_grain_ = 0;
  const float* read_[Leaf::most_parameters]{};
};

}  // namespace heddle::run_room
