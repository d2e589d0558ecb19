// SPDX-License-Identifier: MIT
// Plans that take turns: each beside what the clock predicts of it, with the share of time that its devices did not work.
#pragma once

#include <algorithm>
#include <chrono>
#include <heddle/cost/simulate.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "workloads.hpp"

namespace bench {

using namespace heddle::extending;

/// Seconds in which ranks compute or close a step, without those in which they wait for each other or move.
class Working : public Observer {
 public:
  explicit Working(int ranks) : by_rank_(static_cast<std::size_t>(ranks)) {}
  void finished(const Observation& seen) override {
    const double took = std::chrono::duration<double>(seen.end - seen.start).count();
    const auto& line = seen.program->instructions[seen.instruction];
    double& seconds = by_rank_[static_cast<std::size_t>(seen.rank.value)];
    if (seen.entry < 0)
      seconds += computes(line.op) || closes(line.op) ? took : 0;
    else if (seen.program->entries[seen.entry].collective >= 0)
      seconds -= took;
  }
  [[nodiscard]] double seconds() const {
    double sum = 0;
    for (const double s : by_rank_) sum += s;
    return sum;
  }

 private:
  static bool closes(ListOp op) {
    return op == ListOp::step || op == ListOp::norm || op == ListOp::unscale || op == ListOp::tie || op == ListOp::clip;
  }
  std::vector<double> by_rank_;
};

/// One plan under the clock, whatever its type.
struct Contender {
  std::string name;
  int devices = 1;
  Bytes memory, traffic;
  std::vector<double> times = {};  // seconds a step, by round
  std::vector<double> idle = {};   // share of the devices' time, by round

  Contender(std::string words, int of_devices, Bytes of_memory, Bytes of_traffic)
      : name(std::move(words)), devices(of_devices), memory(of_memory), traffic(of_traffic) {}
  Contender(const Contender&) = delete;
  Contender& operator=(const Contender&) = delete;
  virtual ~Contender() = default;
  virtual double seconds_per_step(int steps) = 0;
  virtual double idle_share(int steps) = 0;
  [[nodiscard]] virtual Estimate predicted(const Machine& machine) const = 0;
  [[nodiscard]] double best() const { return *std::min_element(times.begin(), times.end()); }
};

template <class ThePlan, class Backend = CpuThreads> struct ContenderOf final : Contender {
  explicit ContenderOf(const char* words) : Contender(words, heddle::devices<ThePlan>, peak_memory<ThePlan>(), heddle::traffic<ThePlan>().total()) {}
  double seconds_per_step(int steps) override { return running().seconds_per_step(steps); }
  double idle_share(int steps) override {
    Working working{devices};
    running().trainer.observe(&working);
    const double start = seconds();
    for (int i = 0; i < steps; ++i) running().step();
    const double all = (seconds() - start) * devices;
    running().trainer.observe(nullptr);
    return std::max(0.0, 1 - working.seconds() / all);
  }
  [[nodiscard]] Estimate predicted(const Machine& machine) const override { return simulate(ThePlan::training, machine); }

 private:
  Stepping<ThePlan, Backend>& running() {  // made when it is first run: a plan that is only predicted starts no thread
    if (!plan_) plan_ = std::make_unique<Stepping<ThePlan, Backend>>();
    return *plan_;
  }
  std::unique_ptr<Stepping<ThePlan, Backend>> plan_;
};

using Contenders = std::vector<std::unique_ptr<Contender>>;

/// Every turn of a round runs so many steps of another plan, and each round begins with the next one. `told` hears of each round.
template <class Told> void take_turns(Contenders& all, int rounds, const std::vector<int>& steps, bool with_idle, Told told) {
  for (int round = 0; round < rounds; ++round) {
    told(round + 1, rounds);
    for (std::size_t turn = 0; turn < all.size(); ++turn) {
      const std::size_t i = (turn + static_cast<std::size_t>(round)) % all.size();
      all[i]->times.push_back(all[i]->seconds_per_step(steps[i]));
      if (with_idle) all[i]->idle.push_back(all[i]->idle_share(steps[i]));
    }
  }
}
/// Steps of about so many seconds a turn. Short turns find moments in which nobody else has the cores, long ones tell what a step takes in the mean.
inline std::vector<int> turns_of(double seconds, Contenders& all) {
  std::vector<int> steps;
  for (auto& plan : all) steps.push_back(std::max(1, static_cast<int>(seconds / plan->seconds_per_step(3))));
  return steps;
}

inline std::string words(Bytes bytes) {
  char text[32];
  const double kib = static_cast<double>(bytes.value) / 1024;
  std::snprintf(text, sizeof text, bytes.value == 0 ? "0" : kib < 1024 ? "%.1f KiB" : "%.2f MiB", kib < 1024 ? kib : kib / 1024);
  return text;
}

}  // namespace bench
