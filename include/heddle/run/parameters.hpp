// SPDX-License-Identifier: MIT
// Room: run. Parameters and gradients by their state_dict names, wherever their ranks live: in this process or in others.
// Sees: plan, run/executor, run/initialize.  Does not see: steps, any backend by name.
// In: a session, the executors of the ranks of this process.  Out: the same tensors in every process.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "heddle/plan/plan.hpp"
#include "heddle/run/error.hpp"
#include "heddle/run/executor.hpp"
#include "heddle/run/initialize.hpp"

namespace heddle::inline run_room {

/// The tensors of a trainer. Where ranks are processes every process makes the same calls in the same order: the owner of a tensor shares it.
///
/// Errors  R05 a parameter, replica or number of elements that does not exist
/// Tested  run/parameters_test
template <class ThePlan, class Session> class Parameters {
 public:
  using Request = typename ThePlan::Request;
  using RankExecutor = Executor<typename Session::Endpoint>;
  using Buffer = float* (RankExecutor::*)();

  Parameters(Session& session, std::vector<std::unique_ptr<RankExecutor>>& executors) : session_(session), executors_(executors) {}

  [[nodiscard]] static std::vector<std::string> names() {
    std::vector<std::string> all;
    for (int p = 0; p < Request::graph.parameter_count; ++p) all.emplace_back(name(p).view());
    return all;
  }
  [[nodiscard]] static int find(const std::string& wanted) {
    for (int p = 0; p < Request::graph.parameter_count; ++p)
      if (name(p).view() == wanted) return p;
    throw Error(Code{'R', 5}, std::string{Request::graph.model.view()} + " has no parameter '" + wanted + "'. Fix: use a name of parameter_names().");
  }

  /// Tensor p of one of the flat buffers as a replica holds it.
  [[nodiscard]] std::vector<float> read(int p, int replica, Buffer buffer) {
    const ParameterPlace& place = training.parameters[p];
    const Rank owner = rank_of(place.role, replica);
    std::vector<float> values(static_cast<std::size_t>(place.elements));
    if (RankExecutor* const executor = local(owner))
      std::memcpy(values.data(), (executor->*buffer)() + place.offset / 4, values.size() * sizeof(float));
    session_.share(owner, std::as_writable_bytes(std::span{values}));
    return values;
  }
  /// Sets a parameter on every rank of this process that holds it; the other processes do the same.
  void write(int p, std::span<const float> values) {
    const ParameterPlace& place = training.parameters[p];
    if (std::ssize(values) != place.elements)
      throw Error(Code{'R', 5}, "parameter '" + std::string{name(p).view()} + "' has " + std::to_string(place.elements) + " elements but is given " +
                                    std::to_string(values.size()) + ". Fix: give as many.");
    for (auto& executor : executors_)
      if (executor != nullptr && executor->role() == place.role)
        std::memcpy(executor->parameters() + place.offset / 4, values.data(), values.size_bytes());
  }
  void initialize_all(Seed seed) {
    for (int p = 0; p < Request::graph.parameter_count; ++p) {
      const ParameterPlace& place = training.parameters[p];
      std::vector<float> values(static_cast<std::size_t>(place.elements));
      initialize(Request::graph.leaf(place.node).parameters[place.index], seed, p, values.data());
      write(p, values);
    }
  }
  /// FNV-1a over the bytes of all parameters in the order of the model.
  [[nodiscard]] std::uint64_t hash(int replica) {
    std::uint64_t hash = 0xcbf29ce484222325U;
    for (int p = 0; p < Request::graph.parameter_count; ++p)
      for (const float value : read(p, replica, &RankExecutor::parameters)) {
        std::uint32_t bits = 0;
        std::memcpy(&bits, &value, sizeof bits);
        for (int byte = 0; byte < 4; ++byte) hash = (hash ^ (bits >> (8 * byte) & 0xffU)) * 0x100000001b3U;
      }
    return hash;
  }
  [[nodiscard]] static int replicas() { return training.batch.ranks; }

  /// The rank of a role at one position among those that split the batch.
  [[nodiscard]] static Rank rank_of(int role, int replica) {
    for (int r = 0; r < training.mesh.ranks(); ++r)
      if (training.mesh.coordinate(Rank{r}, Axis::stage) == role && batch_position(training, Rank{r}) == replica) return Rank{r};
    throw Error(Code{'R', 5},
                "replica " + std::to_string(replica) + " of " + std::to_string(replicas()) + " does not exist. Fix: count replicas from 0.");
  }

 private:
  static constexpr const Program& training = ThePlan::training;
  [[nodiscard]] static Text<96> name(int p) { return Request::graph.parameter_name(training.parameters[p].node, training.parameters[p].index); }
  [[nodiscard]] RankExecutor* local(Rank rank) { return executors_[static_cast<std::size_t>(rank.value)].get(); }

  Session& session_;
  std::vector<std::unique_ptr<RankExecutor>>& executors_;  // by rank; null where the rank lives in another process
};

}  // namespace heddle::inline run_room
