// SPDX-License-Identifier: MIT
// What lies between simulated devices: the seconds of a machine, messages under way, and who waits for whom. Programs include simulated_device.hpp.
#pragma once

#include <algorithm>
#include <chrono>
#include <compare>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace nd {

/// What cannot be done, in one sentence.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Seconds of the toy machine of tutorials on N-dimensional parallelism. Who sends 4 units knows after 0.05 + 4 x 0.01 + 0.05 = 0.14 s that they
/// came.
struct Machine {
  double compute = 0.1;           ///< for a unit of compute
  double latency = 0.05;          ///< until the first unit of a message is there
  double per_unit = 0.01;         ///< for each unit of data
  double acknowledgement = 0.05;  ///< until the sender knows that its message was received
  int node = 0;                   ///< devices in a node, 0 if all devices are in one
  double between = 10;            ///< a message between two nodes takes so many times as long
  double pause = 0;               ///< seconds that really pass for each second of a clock: 0 is virtual time

  [[nodiscard]] double slower(int from, int to) const { return node > 0 && from / node != to / node ? between : 1; }
};

inline std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}
inline std::string name_of(int rank) { return "rank " + std::to_string(rank); }

/// Values that a message carries, for programs that show what arrives.
using Values = std::vector<int>;

/// A message under way. If its 4 units begin to leave at 0.2 s, the first can be there at 0.25 s.
struct Message {
  double first = 0;  ///< when its first unit is there
  double units = 0;
  Values values;
};

/// Carries messages and acknowledgements between the threads of devices, and notices when all of them wait.
class Wires {
 public:
  /// Between two devices, in one direction.
  struct Line {
    int from = 0, to = 0;
    bool acknowledgements = false;  ///< else messages
    auto operator<=>(const Line&) const = default;
  };
  struct GivenUp {};  ///< ends the thread of a device that would wait forever

  Wires(const Machine& machine, int devices) : machine_(machine), waits_(static_cast<std::size_t>(devices)), awake_(devices) {}
  [[nodiscard]] const Machine& machine() const { return machine_; }
  [[nodiscard]] int devices() const { return static_cast<int>(waits_.size()); }
  [[nodiscard]] std::chrono::steady_clock::time_point start() const { return start_; }

  void put(const Line& line, Message message) {
    const std::lock_guard lock(mutex_);
    lines_[line].push_back(std::move(message));
    if (Wait& wait = waits_[static_cast<std::size_t>(line.to)]; wait.waiting && wait.line == line) {
      wait.waiting = false;
      ++awake_;
    }
    changed_.notify_all();
  }
  Message take(const Line& line) {
    std::unique_lock lock(mutex_);
    std::deque<Message>& queue = lines_[line];
    if (queue.empty()) {
      waits_[static_cast<std::size_t>(line.to)] = {true, line};
      fall_asleep();
      changed_.wait(lock, [&] { return !queue.empty() || stopped_; });
      if (queue.empty()) throw GivenUp{};
    }
    Message message = std::move(queue.front());
    queue.pop_front();
    return message;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    fall_asleep();
  }
  /// Who waits for whom, from the first rank that waits on; empty if every device has ended.
  [[nodiscard]] std::string deadlock() const {
    std::vector<bool> told(waits_.size());
    std::string chain;
    std::ptrdiff_t waiting = std::count_if(waits_.begin(), waits_.end(), [](const Wait& wait) { return wait.waiting; });
    std::size_t rank = 0;
    while (rank < waits_.size() && !waits_[rank].waiting) ++rank;
    if (rank == waits_.size()) return "";
    for (; waits_[rank].waiting && !told[rank]; rank = static_cast<std::size_t>(waits_[rank].line.from)) {
      told[rank] = true;
      const auto& [from, to, acknowledgements] = waits_[rank].line;
      chain += (chain.empty() ? "" : ", ") + name_of(to) + " waits until " + name_of(from) + (acknowledgements ? " receives" : " sends");
    }
    if (!waits_[rank].waiting) chain += ", which has ended";
    return std::to_string(waiting) + " of " + std::to_string(waits_.size()) + " devices wait and none goes on: " + chain +
           ". Fix: let a device receive before it sends, or call send_and_receive(), and receive each message once.";
  }

 private:
  struct Wait {
    bool waiting = false;
    Line line;
  };
  void fall_asleep() {
    if (--awake_ == 0) stopped_ = true;
    changed_.notify_all();
  }

  Machine machine_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Line, std::deque<Message>> lines_;
  std::vector<Wait> waits_;
  int awake_;
  bool stopped_ = false;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace nd
