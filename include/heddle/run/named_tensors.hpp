// SPDX-License-Identifier: MIT
// Room: run. Parameters and gradients by their state_dict names, wherever their ranks live: in this process or in others.
// Sees: seams, plan/program, run/executor, run/initialize.  Does not see: plans as types, steps, any backend by name.
// In: a session, the executors of the ranks of this process.  Out: the same tensors in every process.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "heddle/core/host_device.hpp"
#include "heddle/core/written.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/run/executor.hpp"
#include "heddle/run/initialize.hpp"
#include "heddle/run/results.hpp"
#include "heddle/run/slices.hpp"
#include "heddle/run/strict_load.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// The tensors of a trainer. Where ranks are processes every process makes the same calls in the same order: the owner of a tensor shares it.
///
/// Errors  R05 a parameter, replica or number of elements that does not exist
/// Tested  run/named_tensors_test
template <class Session> class NamedTensors {
 public:
  using RankExecutor = ExecutorOf<Session>;
  using PartOf = HeldPart (RankExecutor::*)(int);

  /// `whole` is the model as users know it, whole on every rank.
  NamedTensors(const Program& training, const Graph& whole, Session& session, std::vector<std::unique_ptr<RankExecutor>>& executors)
      : training_(training), graph_(whole), session_(session), executors_(executors) {}

  [[nodiscard]] HEDDLE_COLD std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (int p = 0; p < graph_.parameter_count; ++p)
      if (owner_of(p) == p) all.emplace_back(name(p).view());
    return all;
  }
  /// The other names of tied parameters.
  [[nodiscard]] std::vector<TiedName> ties() const {
    std::vector<TiedName> all;
    for (int p = 0; p < graph_.parameter_count; ++p)
      if (owner_of(p) != p) all.push_back({std::string{name(p).view()}, std::string{name(owner_of(p)).view()}});
    return all;
  }
  /// Of a tied parameter that of its owner, under whose name it is saved.
  [[nodiscard]] int owner_of(int p) const {
    const int node = training_.parameters[p].node;
    return graph_.nodes[graph_.owner(node)].first_parameter + training_.parameters[p].index;
  }
  [[nodiscard]] HEDDLE_COLD int find(const std::string& wanted) const {
    for (int p = 0; p < graph_.parameter_count; ++p)
      if (name(p).view() == wanted) return owner_of(p);
    const std::vector<std::string> all = names();
    throw Error(Code{'R', 5}, written({graph_.model.view(), " has no parameter '", wanted, "'", nearest_names(wanted, all),
                                       ". Fix: use a name of parameter_names()."}));
  }

  /// In which users know it; ranks of axis tensor hold parts.
  [[nodiscard]] const Shape& shape(int p) const { return graph_.leaf(training_.parameters[p].node).parameters[training_.parameters[p].index].shape; }
  [[nodiscard]] std::vector<float> parameter(int p, int replica) {
    return read(owner_of(p), replica, &RankExecutor::held_parameter, training_.storage.parameters);
  }
  [[nodiscard]] std::vector<float> gradient(int p, int replica) {
    if (frozen(p))
      throw Error(Code{'R', 5},
                  written({"parameter '", name(p).view(), "' is frozen, so it has no gradient. Fix: ask for one of a layer outside of Frozen."}));
    return read(owner_of(p), replica, &RankExecutor::held_gradient, training_.storage.states);
  }
  /// Every parameter as the first replica holds it, by number.
  [[nodiscard]] HEDDLE_COLD std::vector<Floats> everything() {
    std::vector<Floats> all(static_cast<std::size_t>(graph_.parameter_count));
    for (int p = 0; p < graph_.parameter_count; ++p) {
      const std::vector<float> values = parameter(p, 0);
      Floats& kept = all[static_cast<std::size_t>(p)];
      kept.resize(values.size());
      std::copy(values.begin(), values.end(), kept.begin());
    }
    return all;
  }
  void refuse_other_size(int p, std::span<const float> values) const {
    if (std::ssize(values) != shape(p).elements())
      throw Error(Code{'R', 5}, written({"parameter '", name(p).view(), "' has ", shape(p).elements(), " elements but is given ", values.size(),
                                         ". Fix: give as many."}));
  }
  /// Sets a parameter on every rank of this process that holds it; the other processes do the same.
  void write(int p, std::span<const float> values) {
    refuse_other_size(p, values);
    write_range(p, 0, values);
  }
  /// Piece by piece: a whole tensor may be larger than all that a rank holds.
  HEDDLE_COLD void initialize_all(Seed seed) {
    std::vector<float> piece(initial_piece);
    for (int p = 0; p < graph_.parameter_count; ++p) {
      if (owner_of(p) != p) continue;
      const ParameterPlace& place = training_.parameters[p];
      for (std::int64_t first = 0; first < shape(p).elements(); first += initial_piece) {
        const std::int64_t count = std::min(initial_piece, shape(p).elements() - first);
        initialize(graph_.leaf(place.node).parameters[place.index], seed, p, piece.data(), first, count);
        write_range(p, first, std::span{piece}.first(static_cast<std::size_t>(count)));
      }
    }
  }
  /// FNV-1a over the bytes of all parameters in the order of the model.
  [[nodiscard]] std::uint64_t hash(int replica) {
    BitHash hash;
    for (int p = 0; p < graph_.parameter_count; ++p)
      if (owner_of(p) == p) hash.add(parameter(p, replica));
    return hash.value;
  }
  [[nodiscard]] int replicas() const { return training_.batch.ranks; }

  /// The rank of a role at one position among those that split the batch.
  [[nodiscard]] HEDDLE_COLD Rank rank_of(int role, int replica) const {
    for (int r = 0; r < training_.mesh.ranks(); ++r)
      if (training_.mesh.coordinate(Rank{r}, Axis::stage) == role && batch_position(training_, Rank{r}) == replica) return Rank{r};
    throw Error(Code{'R', 5}, written({"replica ", replica, " of ", replicas(), " does not exist. Fix: count replicas from 0."}));
  }

 private:
  [[nodiscard]] bool frozen(int p) const { return graph_.frozen(training_.parameters[p].node); }
  /// Elements `first` .. of the whole, into every copy: tied parameters have one on every role that uses them.
  HEDDLE_COLD void write_range(int p, std::int64_t first, std::span<const float> values) {
    for (int q = 0; q < graph_.parameter_count; ++q)
      if (q == p || (owner_of(q) == owner_of(p) && training_.parameters[q].owner_begin < 0)) write_copy(q, first, values);
  }
  HEDDLE_COLD void write_copy(int p, std::int64_t first, std::span<const float> values) {
    const ParameterPlace& place = training_.parameters[p];
    for (auto& executor : executors_) {
      if (executor == nullptr || executor->role() != place.role) continue;
      const HeldPart part = executor->held_parameter(p);
      each_run(shape(p), place.split, tensor_ranks(), training_.mesh.coordinate(executor->rank(), Axis::tensor),
               [&](std::int64_t here, std::int64_t there, std::int64_t count) {
                 const std::int64_t begin = std::max({here, part.begin, here + first - there});
                 const std::int64_t end = std::min({here + count, part.begin + part.elements, here + first + std::ssize(values) - there});
                 if (begin < end)
                   executor->device().upload(part.values + (begin - part.begin), values.data() + (there + begin - here - first), end - begin);
               });
    }
  }
  [[nodiscard]] Text<160> name(int p) const { return graph_.parameter_name(training_.parameters[p].node, training_.parameters[p].index); }
  [[nodiscard]] int tensor_ranks() const { return training_.mesh.size(Axis::tensor); }
  /// As a replica holds it: from one rank, or put together from the parts of the ranks of axis tensor.
  [[nodiscard]] HEDDLE_COLD std::vector<float> read(int p, int replica, PartOf held, bool sliced) {
    const ParameterPlace& place = training_.parameters[p];
    const Rank owner = rank_of(place.role, replica);
    if (!place.split.sharded()) return read_part(p, owner, held, sliced);
    std::vector<float> values(static_cast<std::size_t>(shape(p).elements()));
    for (int part = 0; part < tensor_ranks(); ++part) {
      const std::vector<float> local = read_part(p, training_.mesh.moved(owner, Axis::tensor, part), held, sliced);
      each_run(shape(p), place.split, tensor_ranks(), part,
               [&](std::int64_t here, std::int64_t there, std::int64_t count) { std::copy_n(local.data() + here, count, values.data() + there); });
    }
    return values;
  }
  /// What the ranks that share a copy with `owner` have of it: from one of them, or put together from their slices.
  [[nodiscard]] HEDDLE_COLD std::vector<float> read_part(int p, Rank owner, PartOf held, bool sliced) {
    const ParameterPlace& place = training_.parameters[p];
    std::vector<float> values(static_cast<std::size_t>(place.elements));
    for (int slice = 0; slice < (sliced ? training_.storage.parts : 1); ++slice) {
      const SliceRange range = sliced ? slice_range(training_, place, slice) : SliceRange{0, 0, place.elements, 0};
      if (range.elements == 0) continue;
      const Rank holder = sliced ? slice_holder(training_, owner, slice) : owner;
      const auto part = std::span{values}.subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(range.elements));
      if (RankExecutor* const executor = local(holder)) executor->device().download(part.data(), (executor->*held)(p).values, range.elements);
      session_.share(holder, std::as_writable_bytes(part));
    }
    return values;
  }
  [[nodiscard]] RankExecutor* local(Rank rank) { return executors_[static_cast<std::size_t>(rank.value)].get(); }

  const Program& training_;
  const Graph& graph_;
  Session& session_;
  std::vector<std::unique_ptr<RankExecutor>>& executors_;  // by rank; null where the rank lives in another process
};

}  // namespace heddle::run_room
