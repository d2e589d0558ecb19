// SPDX-License-Identifier: MIT
// A simulated device that is driven by hand: compute(units), send(to, units), receive(from). A program for a device is a function of it; run() starts
// one thread a device, and each device has a clock of its own. A clock moves with what its device does and with the messages that it takes, so it
// shows the same in every run, whichever thread was faster. Nothing of Heddle is needed: this header and wires.hpp can be read alone.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <functional>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "wires.hpp"

namespace nd {

/// What a device did from one moment of its clock to another. "F2" from 0.3 to 0.4 s is a computation, its letters in the timeline; '>' is a send.
struct Event {
  double begin = 0, end = 0;
  int rank = 0;
  std::size_t position = 0;  ///< among the events of its rank
  char sign = ' ';           ///< '#' computes, '>' sends, '<' receives, '=' both at once
  std::string what;          ///< what the log says
  std::string label;         ///< how it begins in the timeline
};

/// What all devices did. Of two devices that end at 0.5 and 0.7 s the makespan is 0.7 s.
struct Run {
  int devices = 0;
  std::vector<Event> events;  ///< by time, then by rank
  double makespan = 0;        ///< until the last device has ended
  double passed = 0;          ///< seconds that really passed
};

/// One device: what it computes, what it sends and receives, and its clock. compute(4) moves the clock by 0.4 s.
class Device {
 public:
  Device(int rank, Wires& wires) : rank_(rank), wires_(wires) {}
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int devices() const { return wires_.devices(); }
  [[nodiscard]] double now() const { return now_; }
  [[nodiscard]] const std::vector<Event>& events() const { return events_; }

  /// Computes for a while; the timeline shows the label.
  void compute(double units, const std::string& label = "#") {
    check_units("computes", units);
    const double begin = now_;
    move_to(now_ + units * wires_.machine().compute);
    note(begin, '#', "compute " + number(units) + ": " + label, label);
  }
  /// Sends, and goes on when the acknowledgement is there.
  void send(int to, double units, Values values = {}) {
    const double begin = now_;
    put(to, units, std::move(values));
    wait_for_acknowledgements();
    note(begin, '>', "send " + number(units) + " to " + std::to_string(to), ">" + std::to_string(to));
  }
  /// Waits for the next message of a device, takes it and acknowledges it.
  Values receive(int from) {
    const double begin = now_;
    Message message = take(from);
    note(begin, '<', "receive " + number(message.units) + " from " + std::to_string(from), "<" + std::to_string(from));
    return std::move(message.values);
  }
  /// Sends and receives at once; a device that has both goes on.
  Values send_and_receive(int to, double units, int from, Values values = {}) {
    const double begin = now_;
    put(to, units, std::move(values));
    Message message = take(from);
    wait_for_acknowledgements();
    note(begin, '=', "send " + number(units) + " to " + std::to_string(to) + ", receive " + number(message.units) + " from " + std::to_string(from),
         "=" + std::to_string(to));
    return std::move(message.values);
  }
  /// Sends and goes on at once: the message leaves while the device computes.
  void start_send(int to, double units, Values values = {}) {
    put(to, units, std::move(values));
    note(now_, '>', "start to send " + number(units) + " to " + std::to_string(to));
  }
  /// Waits for the acknowledgements of all that was sent. A device that ends does so as well: no message is forgotten.
  void finish_sends() {
    if (unacknowledged_.empty()) return;
    const double begin = now_;
    wait_for_acknowledgements();
    note(begin, '>', "wait for acknowledgements");
  }

 private:
  void check_units(const char* does, double units) const {
    if (!(units >= 0 && units <= 1e9)) throw Refused(name_of(rank_) + " " + does + " " + number(units) + " units. Fix: give 0 to 1e9.");
  }
  void check_peer(const char* does, int peer) const {
    if (peer == rank_) throw Refused(name_of(rank_) + " " + does + " itself. Fix: keep the value, or name another rank.");
    if (peer < 0 || peer >= devices())
      throw Refused(name_of(rank_) + " " + does + " " + name_of(peer) + ", but the ranks are 0 to " + std::to_string(devices() - 1) +
                    ". Fix: name one of them.");
  }
  void put(int to, double units, Values values) {
    check_peer("sends to", to);
    check_units("sends", units);
    const Machine& machine = wires_.machine();
    const double slower = machine.slower(rank_, to), begin = std::max(now_, out_free_);
    out_free_ = begin + slower * machine.per_unit * units;
    wires_.put({rank_, to, false}, {begin + slower * machine.latency, units, std::move(values)});
    unacknowledged_.push_back(to);
  }
  /// Units of two messages come in one after another, in the order in which they are received.
  Message take(int from) {
    check_peer("receives from", from);
    Message message = wires_.take({from, rank_, false});
    const Machine& machine = wires_.machine();
    const double slower = machine.slower(from, rank_);
    in_free_ = std::max(message.first, in_free_) + slower * machine.per_unit * message.units;
    move_to(std::max(now_, in_free_));
    wires_.put({rank_, from, true}, {now_ + slower * machine.acknowledgement, 0, {}});
    return message;
  }
  void wait_for_acknowledgements() {
    double last = now_;
    for (const int to : unacknowledged_) last = std::max(last, wires_.take({to, rank_, true}).first);
    unacknowledged_.clear();
    move_to(last);
  }
  void move_to(double moment) {
    now_ = moment;
    if (const double pause = wires_.machine().pause; pause > 0)
      std::this_thread::sleep_until(wires_.start() +
                                    std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(pause * now_)));
  }
  void note(double begin, char sign, const std::string& what, const std::string& label = "") {
    if (wires_.machine().pause > 0) {
      std::printf("%8.2f s  %s  %s\n", now_, name_of(rank_).c_str(), what.c_str());
      std::fflush(stdout);
    }
    events_.push_back({begin, now_, rank_, events_.size(), sign, what, label});
  }

  int rank_;
  Wires& wires_;
  double now_ = 0, out_free_ = 0, in_free_ = 0;  // the clock; until when the wire out and the wire in have units to carry
  std::vector<int> unacknowledged_;              // to whom, in order
  std::vector<Event> events_;
};

/// Runs a program on so many devices, each a thread, and says what they did.
///
/// Errors  Refused: what a device cannot do; who waits for whom if none goes on
/// Tested  oracle/simulated_device_test
inline Run run(const Machine& machine, int devices, const std::function<void(Device&)>& program) {
  if (devices < 1 || devices > 1024) throw Refused(std::to_string(devices) + " devices. Fix: ask for 1 to 1024.");
  using Constant = std::pair<const char*, double>;
  for (const auto& [name, value] :
       {Constant{"compute", machine.compute}, Constant{"latency", machine.latency}, Constant{"per_unit", machine.per_unit},
        Constant{"acknowledgement", machine.acknowledgement}, Constant{"between", machine.between}, Constant{"pause", machine.pause}})
    if (!(value >= 0 && value <= 1e6)) throw Refused("A machine whose " + std::string(name) + " is " + number(value) + ". Fix: give 0 to 1e6.");
  Wires wires(machine, devices);
  std::vector<Device> all;
  for (int rank = 0; rank < devices; ++rank) all.emplace_back(rank, wires);
  std::vector<std::exception_ptr> failed(all.size());
  {
    std::vector<std::jthread> threads;
    for (Device& device : all)
      threads.emplace_back([&] {
        try {
          program(device);
          device.finish_sends();
        } catch (const Wires::GivenUp&) {
        } catch (...) {
          failed[static_cast<std::size_t>(device.rank())] = std::current_exception();
        }
        wires.end();
      });
  }
  for (const std::exception_ptr& failure : failed)
    if (failure) std::rethrow_exception(failure);
  if (const std::string who = wires.deadlock(); !who.empty()) throw Refused(who);
  Run result{devices, {}, 0, std::chrono::duration<double>(std::chrono::steady_clock::now() - wires.start()).count()};
  for (const Device& device : all) {
    result.makespan = std::max(result.makespan, device.now());
    result.events.insert(result.events.end(), device.events().begin(), device.events().end());
  }
  const auto place = [](const Event& event) { return std::tuple(std::llround(1e9 * event.begin), event.rank, event.position); };
  std::sort(result.events.begin(), result.events.end(), [&](const Event& a, const Event& b) { return place(a) < place(b); });
  return result;
}

/// What some ranks did, by time and then by rank, a line each; without ranks what all of them did. After so many lines it says how many follow.
inline void print_log(const Run& run, const std::vector<int>& ranks, std::size_t most) {
  std::size_t lines = 0;
  std::printf("   begin      end\n");
  for (const Event& event : run.events) {
    if (!ranks.empty() && std::find(ranks.begin(), ranks.end(), event.rank) == ranks.end()) continue;
    if (++lines <= most) std::printf("%8.2f %8.2f  %s  %s\n", event.begin, event.end, name_of(event.rank).c_str(), event.what.c_str());
  }
  if (lines > most) std::printf("and %zu more lines\n", lines - most);
}

/// Rows are devices, columns are time, the whole line has 100 columns. What is shorter than a column has no sign.
inline void print_timeline(const Run& run, const std::string& title) {
  const std::size_t name_width = std::max<std::size_t>(7, name_of(run.devices - 1).size()), columns = 97 - name_width;
  const auto column = [&](double at) {
    return run.makespan > 0 ? static_cast<std::size_t>(std::lround(static_cast<double>(columns) * at / run.makespan)) : 0;
  };
  std::printf("%s: %.2f s\n", title.c_str(), run.makespan);
  for (int rank = 0; rank < run.devices; ++rank) {
    std::string row(columns, '.');
    for (const Event& event : run.events) {
      if (event.rank != rank) continue;
      const std::size_t first = column(event.begin), width = column(event.end) - first;
      const std::string sign(columns, event.sign == '#' ? '-' : event.sign);
      row.replace(first, width, ((event.label.size() <= width ? event.label : event.label.substr(0, 1)) + sign).substr(0, width));
    }
    std::printf("%-*s |%s|\n", static_cast<int>(name_width), name_of(rank).c_str(), row.c_str());
  }
}
inline void print_legend() {
  std::puts("Rows are devices, columns are time. F0--- computes F0; >1>>> sends to rank 1, until it has");
  std::puts("acknowledged; <1<<< waits for rank 1; =1=== sends to rank 1 and receives at once; . is done.\n");
}

}  // namespace nd
