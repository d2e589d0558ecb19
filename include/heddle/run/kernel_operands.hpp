// SPDX-License-Identifier: MIT
// Room: run. What the kernels of one rank take of an entry: parameters where they lie, tensors of values as floats whatever they are kept as.
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
/// features 800 floats; and parameters are rounded once for all grains.
///
/// Tested  run/kernel_operands_test, equivalence/mixed_test
template <class Work> class KernelOperands {
 public:
  KernelOperands(const Program& training, RankTensors& tensors, Work& work)
      : t_(tensors), work_(work), part_(training.mesh.coordinate(tensors.rank(), Axis::tensor)), wide_(training, work) {}

  /// Finds the parameters of a layer; not where nothing reads them: they may not be gathered then.
  [[nodiscard]] const float* const* parameters(const Node& node, int number, const Leaf& leaf, bool read = true) {
    wide_.clear();
    for (int k = 0; k < node.parameter_count; ++k) read_[k] = read ? parameter(node, number, leaf, k) : nullptr;
    first_grain_ = wide_.used();
    return read_;
  }
  /// Before the tensors of a grain are asked for.
  void begin_grain() { wide_.clear(first_grain_); }
  /// Without a layer.
  void begin() {
    first_grain_ = 0;
    wide_.clear();
  }
  /// What lies there, of `rows` rows: floats that a layer gives, or their gradient.
  [[nodiscard]] float* read(const Place& place, std::int64_t features, int g, std::int64_t rows) {
    return wide_.read(value(place, features, g), rows * features);
  }
  [[nodiscard]] float* write(const Place& place, std::int64_t features, int g, std::int64_t rows) {
    return wide_.write(value(place, features, g), rows * features);
  }
  [[nodiscard]] float* update(const Place& place, std::int64_t features, int g, std::int64_t rows) {
    return wide_.update(value(place, features, g), rows * features);
  }
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
  [[nodiscard]] float* value(const Place& place, std::int64_t features, int g) { return t_.at_grain(place, features, g, t_.program().graph->values); }
  /// As layers read it: rounded where values are, but for what is tracked. What a gather has brought is rounded already.
  [[nodiscard]] const float* parameter(const Node& node, int number, const Leaf& leaf, int k) {
    const Program& p = t_.program();
    const ParameterPlace& place = p.parameters[node.first_parameter + k];
    const bool keeps = leaf.parameters[k].tracked();
    const auto rounded_of = [&](const float* floats) { return keeps ? floats : wide_.parameter(floats, place.elements); };
    if (part_ > 0 && p.graph->signature(number).parameters[k].partial()) return t_.zeros(place.elements);
    if (!p.storage.parameters)
      return rounded_of(t_.in_region(node.frozen_count > 0 ? RegionKind::frozen : RegionKind::parameters, place.values(), place.elements));
    const FlatBucket& unit = p.buckets[p.bucket_of_node[place.node]];
    float* const lies = t_.whole_parameter(unit, place);
    return unit.frozen || p.storage.gathered == ElementType::float32 ? rounded_of(lies) : wide_.read(lies, place.elements);
  }

  RankTensors& t_;
  Work& work_;
  int part_;  // coordinate on axis tensor; what is used as Partial is used on 0
  WideTensors<Work> wide_;
  std::int64_t first_grain_ = 0;
  const float* read_[Leaf::most_parameters]{};
};

}  // namespace heddle::run_room
