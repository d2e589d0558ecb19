// SPDX-License-Identifier: MIT
// What this machine costs, measured with the kernels and the transport of CpuThreads: a Machine for simulate().
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/cost/collective_time.hpp>
#include <heddle/cost/simulate.hpp>
#include <heddle/heddle.hpp>
#include <heddle/transport/threads.hpp>
#include <heddle/transport/workers.hpp>
#include <utility>
#include <vector>

#include "rates_of_layers.hpp"

namespace this_machine {

using namespace heddle;
using namespace heddle::extending;

/// Of the middle one of many short rounds: as steps have it, whose moments are no better and no worse.
inline double seconds_of(double budget, const std::function<void()>& work) {
  work();
  std::vector<double> rounds;
  for (const double end = now() + budget; rounds.empty() || now() < end;) {
    int calls = 0;
    const double begin = now();
    do work(), ++calls;
    while (now() - begin < std::min(budget / 20, 2e-3));
    rounds.push_back((now() - begin) / calls);
  }
  return median(std::move(rounds));
}

/// Bytes that are read and written a second where numbers are added to others, of two arrays that have so many bytes together: as an optimizer does.
inline double memory_rate(std::size_t bytes, double budget) {
  const auto count = static_cast<Eigen::Index>(bytes / 8);
  const Eigen::ArrayXf from = Eigen::ArrayXf::Constant(count, 1e-6F);
  Eigen::ArrayXf to = Eigen::ArrayXf::Zero(count);
  return 12 * static_cast<double>(count) / seconds_of(budget, [&] { to += 0.5F * from; });
}

/// The memory of one device: bytes a second by the bytes that it has in all.
inline Machine with_memory(Machine m, double budget) {
  constexpr std::size_t beyond_caches = 128 << 20;
  const double rate = memory_rate(beyond_caches, budget / 3);
  m.per_memory_byte = each_of(rate);
  int point = 0;
  for (std::size_t bytes = 512 << 10; bytes < beyond_caches; bytes *= 4)
    m.cached.points[point++] = {static_cast<double>(bytes), std::max(1.0, memory_rate(bytes, budget / 6) / rate)};
  m.cached.points[point] = {static_cast<double>(beyond_caches), 1};
  return m;
}

/// A message and an all-reduce of two ranks that take turns. `Between` runs something on both, and times it: call(endpoint, rank, round), so many
/// rounds.
template <class Between> class Pair {
 public:
  Pair(Between& between, std::int64_t most) : between_(between), buffers_{std::vector<float>(static_cast<std::size_t>(most), 1.0F), {}} {
    buffers_[1] = buffers_[0];
  }
  /// Seconds of one message of so many floats: half of a round.
  [[nodiscard]] double message(std::int64_t floats, int rounds) {
    return timed(rounds, [this, floats](auto& endpoint, int rank, int round) {
      float* const data = buffers_[rank].data();
      if ((round + rank) % 2 == 0)
        endpoint.send_wait(1 - rank, endpoint.send_start(1 - rank, data, floats));
      else
        endpoint.receive_wait(1 - rank, endpoint.receive_start(1 - rank, data, floats));
    });
  }
  [[nodiscard]] double all_reduce(std::int64_t floats, int rounds) {
    return timed(rounds, [this, floats](auto& endpoint, int rank, int) {
      endpoint.all_reduce_wait(0, endpoint.all_reduce_start(0, buffers_[rank].data(), floats));
    });
  }

 private:
  template <class Call> double timed(int rounds, Call call) {
    constexpr int repeats = 40;
    std::vector<double> seconds;
    for (int repeat = 0; repeat < repeats; ++repeat) seconds.push_back(between_.timed(rounds, call));
    return median(std::move(seconds));
  }

  Between& between_;
  std::vector<float> buffers_[2];  // by rank
};

/// Two threads, as CpuThreads has them.
class BetweenThreads {
 public:
  static constexpr CollectiveAlgorithm collectives = CollectiveAlgorithm::shared_memory;
  template <class Call> double timed(int rounds, Call call) {
    double seconds[2]{};
    workers_.run([&](int rank) {
      const double begin = now();
      for (int round = 0; round < rounds; ++round) call(threads_.endpoint(Rank{rank}), rank, round);
      seconds[rank] = (now() - begin) / rounds;
    });
    return std::max(seconds[0], seconds[1]);
  }

 private:
  transport_room::Threads threads_{2, {{0, 1}}, {}, std::chrono::minutes{1}};
  transport_room::Workers workers_{2};
};

/// Seconds by bytes, and what they are to be beside: 1.2e-6 s for 16,384 bytes, as of 1.6e-6 in all.
struct Timed {
  double bytes, seconds, whole;
};

/// The line that is least off, as a share of the whole, in the mean of squares: seconds at no bytes, and a byte.
inline Link line_through(const std::vector<Timed>& points) {
  double w = 0, x = 0, y = 0, xx = 0, xy = 0;
  for (const Timed& p : points) {
    const double weight = 1 / (p.whole * p.whole);
    w += weight, x += weight * p.bytes, y += weight * p.seconds, xx += weight * p.bytes * p.bytes, xy += weight * p.bytes * p.seconds;
  }
  const double slope = std::max(0.0, (w * xy - x * y) / (w * xx - x * x));
  return {std::max(0.0, (y - slope * x) / w), slope};
}

/// What two ranks send each other and sum. Who waits for a collective does it, so nothing moves while a rank computes.
template <class Between> Machine with_messages(Machine m, Between& between) {
  constexpr std::int64_t sizes[] = {16, 256, 4096, 1 << 16, 1 << 18, 1 << 20};  // floats
  Pair<Between> pair{between, 1 << 20};
  std::vector<Timed> messages, sums;
  const auto rounds = [](std::int64_t floats) { return floats > 4096 ? 8 : 200; };
  for (const std::int64_t floats : sizes) {
    const double seconds = pair.message(floats, rounds(floats));
    messages.push_back({4.0 * static_cast<double>(floats), seconds, seconds});
  }
  const Link link = line_through(messages);
  m.alpha = link.alpha;
  m.beta = link.beta;
  m.overlaps = false;
  m.collectives = Between::collectives;
  const cost_room::GroupLevels both = cost_room::levels_of(m, Mesh{{axis::data}, {2}, 1}, axis::data);
  for (const std::int64_t floats : sizes) {
    const double bytes = 4.0 * static_cast<double>(floats), seconds = pair.all_reduce(floats, rounds(floats));
    sums.push_back({bytes, seconds - cost_room::collective_cost(m, both, plan_room::CollectiveKind::all_reduce, bytes).seconds, seconds});
  }
  const Link added = line_through(sums);
  m.per_collective = added.alpha;
  if (m.collectives != CollectiveAlgorithm::shared_memory) m.gamma = 2 * added.beta;  // half of the bytes are added on each rank
  return m;
}

struct Tiny : Sequential<Linear<4, 4>, Repeat<64, Sequential<Linear<4, 4>, ReLU>>> {};
using Calls = Plan<Tiny, MeanSquaredError, SGD, Batch<1>, Single>;

/// A step of layers so small that nothing but their calls takes time.
inline double seconds_a_call(double budget) {
  Trainer<Calls, CpuThreads> trainer{{.learning_rate = 0}, Seed{1}};
  const std::vector<float> row(4, 0.1F);
  const Examples<float, float> batch{row.data(), row.data(), 1, 4, 4};
  return seconds_of(budget, [&] { trainer.step(batch); }) / simulate(Calls::training, Machine{.per_flop = 0, .per_call = 1}).step.value;
}

/// What is measured next, of how many parts, is told before it is.
using Tell = std::function<void(int part, int parts, const char* what)>;

/// Everything but messages in about so many seconds; best on a machine that does nothing else.
inline Machine measured_device(Machine m, double budget, const Tell& tell) {
  tell(2, 5, "memory");
  m = with_memory(m, budget / 5);
  tell(3, 5, "calls");
  m.per_call = seconds_a_call(budget / 10);
  tell(4, 5, "products of layers by size");
  m = with_products(m, budget / 3);
  tell(5, 5, "kinds of layers");
  return with_layers(m, budget / 4);
}

/// A device, and what two threads send each other.
inline Machine measured(double budget, const Tell& tell) {
  tell(1, 5, "messages between two threads");
  BetweenThreads threads;
  return measured_device(with_messages(Machine{}, threads), budget, tell);
}

}  // namespace this_machine
