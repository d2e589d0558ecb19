// SPDX-License-Identifier: MIT
// What the threads transport costs against its limits: memcpy, and the same movement written by hand with spin barriers.
// Two ranks; every rank rewrites its buffers before each timed call, so that data must cross cores as gradients do.
// All variants run in one interleaved loop; the table gives best and median, and ratios within this run.
// usage: collectives [rounds at 64 MiB, 9]
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "heddle/transport/threads.hpp"
#include "heddle/transport/workers.hpp"

namespace {

using Floats = std::vector<float>;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// All ranks leave together: the start line of every timed call.
class StartLine {
 public:
  explicit StartLine(int ranks) : ranks_(ranks) {}
  void cross() {
    const int round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) == ranks_ - 1) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    for (int i = 0; round_.load(std::memory_order_acquire) == round; ++i) {
      if (i < 4000)
        heddle::transport_room::spin_pause();
      else
        std::this_thread::yield();
    }
  }

 private:
  int ranks_;
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<int> round_{0};
};

struct Times {
  std::vector<double> all;
  [[nodiscard]] double best() const { return *std::min_element(all.begin(), all.end()); }
  [[nodiscard]] double median() const {
    std::vector<double> sorted = all;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

struct Variant {
  std::string name;
  std::function<void(int rank)> call;
  Times times;
};

class Bench {
 public:
  explicit Bench(std::int64_t elements) : elements_(elements), data_(2, Floats(static_cast<std::size_t>(elements))), target_(data_) {
    variants_ = {{"memcpy, one rank",
                  [this](int rank) {
                    if (rank == 0) copy(0, 0, elements_);
                  },
                  {}},
                 {"memcpy, half each", [this](int rank) { copy(0, rank * (elements_ / 2), elements_ / 2); }, {}},
                 {"barrier sum (by hand)", [this](int rank) { barrier_sum(rank); }, {}},
                 {"all-reduce", [this](int rank) { all_reduce(rank); }, {}},
                 {"send/receive", [this](int rank) { send_receive(rank); }, {}}};
  }

  void run(int rounds) {
    for (int round = -1; round < rounds; ++round)
      for (Variant& variant : variants_) {
        double slowest[2]{};
        workers_.run([&](int rank) { slowest[rank] = one_call(variant, rank); });
        if (round >= 0) variant.times.all.push_back(std::max(slowest[0], slowest[1]));
      }
  }

  void print() const {
    const double bytes = 4.0 * static_cast<double>(elements_);
    for (const Variant& variant : variants_)
      std::printf("%10.0f B  %-22s best %10.2f us  median %10.2f us  %6.2f GB/s  memcpy/this %5.2f  by hand/this %5.2f\n", bytes,
                  variant.name.c_str(), variant.times.best() * 1e6, variant.times.median() * 1e6, bytes / variant.times.median() * 1e-9,
                  variants_[1].times.median() / variant.times.median(), variants_[2].times.median() / variant.times.median());
  }

 private:
  double one_call(Variant& variant, int rank) {
    std::fill(data_[static_cast<std::size_t>(rank)].begin(), data_[static_cast<std::size_t>(rank)].end(), 1.0F);
    std::fill(target_[static_cast<std::size_t>(rank)].begin(), target_[static_cast<std::size_t>(rank)].end(), 0.0F);
    line_.cross();
    line_.cross();
    const auto start = Clock::now();
    variant.call(rank);
    return seconds_since(start);
  }

  void copy(int from, std::int64_t first, std::int64_t elements) {
    std::memcpy(target_[1].data() + first, data_[static_cast<std::size_t>(from)].data() + first, static_cast<std::size_t>(elements) * sizeof(float));
  }
  void barrier_sum(int rank) {
    float* __restrict a = data_[0].data();
    float* __restrict b = data_[1].data();
    line_.cross();
    heddle::transport_room::tree_sum_of_two(a, b, rank * (elements_ / 2), (rank + 1) * (elements_ / 2));
    line_.cross();
  }
  void all_reduce(int rank) {
    auto& endpoint = transport_.endpoint(heddle::Rank{rank});
    endpoint.all_reduce_wait(0, endpoint.all_reduce_start(0, data_[static_cast<std::size_t>(rank)].data(), elements_));
  }
  void send_receive(int rank) {
    auto& endpoint = transport_.endpoint(heddle::Rank{rank});
    if (rank == 0)
      endpoint.send_wait(1, endpoint.send_start(1, data_[0].data(), elements_));
    else
      endpoint.receive_wait(0, endpoint.receive_start(0, target_[1].data(), elements_));
  }

  std::int64_t elements_;
  std::vector<Floats> data_;
  std::vector<Floats> target_;
  std::vector<Variant> variants_;
  StartLine line_{2};
  heddle::transport_room::Threads transport_{2, {{0, 1}}, {}, std::chrono::minutes{1}};
  heddle::transport_room::Workers workers_{2};
};

/// Latency of calls one after the other, without a start line in between: what a step sees.
void back_to_back() {
  constexpr int calls = 20000;
  heddle::transport_room::Threads transport{2, {{0, 1}}, {}, std::chrono::minutes{1}};
  heddle::transport_room::Workers workers{2};
  std::vector<Floats> data(2, Floats(256));
  Times reduce, ping;
  for (int round = 0; round < 11; ++round) {
    double spent[2]{};
    workers.run([&](int rank) {
      auto& endpoint = transport.endpoint(heddle::Rank{rank});
      Floats& mine = data[static_cast<std::size_t>(rank)];
      const auto start = Clock::now();
      for (int i = 0; i < calls; ++i) endpoint.all_reduce_wait(0, endpoint.all_reduce_start(0, mine.data(), 256));
      spent[rank] = seconds_since(start) / calls;
    });
    reduce.all.push_back(std::max(spent[0], spent[1]));
    workers.run([&](int rank) {
      auto& endpoint = transport.endpoint(heddle::Rank{rank});
      Floats& mine = data[static_cast<std::size_t>(rank)];
      const int peer = 1 - rank;
      const auto start = Clock::now();
      for (int i = 0; i < calls; ++i) {  // there and back again
        if (rank == 0) endpoint.send_wait(peer, endpoint.send_start(peer, mine.data(), 256));
        endpoint.receive_wait(peer, endpoint.receive_start(peer, mine.data(), 256));
        if (rank == 1) endpoint.send_wait(peer, endpoint.send_start(peer, mine.data(), 256));
      }
      spent[rank] = seconds_since(start) / (2 * calls);
    });
    ping.all.push_back(std::max(spent[0], spent[1]));
  }
  std::printf("back to back, 1024 B: all-reduce best %.3f us, median %.3f us; one way best %.3f us, median %.3f us\n", reduce.best() * 1e6,
              reduce.median() * 1e6, ping.best() * 1e6, ping.median() * 1e6);
}

void empty_run(int ranks) {
  heddle::transport_room::Workers workers{ranks};
  Times times;
  for (int i = 0; i < 5000; ++i) {
    const auto start = Clock::now();
    workers.run([](int) {});
    times.all.push_back(seconds_since(start));
  }
  std::printf("empty run of %d workers: best %.2f us, median %.2f us\n", ranks, times.best() * 1e6, times.median() * 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  const int large_rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 9;
  for (const auto& [elements, rounds] : {std::pair<std::int64_t, int>{256, 2001}, {262144, 401}, {16777216, large_rounds}}) {
    Bench bench(elements);
    bench.run(rounds);
    bench.print();
  }
  back_to_back();
  empty_run(1);
  empty_run(2);
}
