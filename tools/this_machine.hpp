// SPDX-License-Identifier: MIT
// What this machine costs, measured with the kernels and the transport of CpuThreads: a Machine for simulate().
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/compute/eigen/gemm.hpp>
#include <heddle/cost/simulate.hpp>
#include <heddle/heddle.hpp>
#include <heddle/run/profile.hpp>
#include <heddle/transport/threads.hpp>
#include <heddle/transport/workers.hpp>
#include <vector>

namespace this_machine {

using namespace heddle;
using namespace heddle::extending;

inline double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Of the best of many short rounds: what disturbs a round only makes it longer, and of a machine that others use as well some are left alone.
inline double seconds_of(double budget, const std::function<void()>& work) {
  work();
  double best = 1e9;
  for (const double end = now() + budget; now() < end;) {
    int calls = 0;
    const double begin = now();
    do work(), ++calls;
    while (now() - begin < std::min(budget / 20, 2e-3));
    best = std::min(best, (now() - begin) / calls);
  }
  return best;
}

struct Product {
  double flops, per_second;
};

/// The three products of a layer of `features` by `features` for `rows` rows, as its forward and backward have them.
inline Product product_rate(std::int64_t rows, std::int64_t features, double budget) {
  using Products = compute_room::EigenProducts;
  using compute_room::Into;
  const auto room = [](std::int64_t n) { return run_room::Arena{4 * n}; };
  run_room::Arena x = room(rows * features), w = room(features * features), y = room(rows * features), workspace{EigenCompute::workspace.value};
  for (auto* of : {&x, &w, &y}) std::fill_n(of->floats(0, 1), of == &w ? features * features : rows * features, 0.5F);
  float* const in = x.floats(0, 1);
  float* const weight = w.floats(0, 1);
  float* const out = y.floats(0, 1);
  void* const place = workspace.bytes(0);
  const double seconds = seconds_of(budget, [&] {
    Products::nt(rows, features, features, in, weight, out, Into::overwrite, static_cast<float*>(place));
    Products::nn(rows, features, features, out, weight, in, Into::overwrite, static_cast<float*>(place));
    Products::tn(features, features, rows, out, in, weight, Into::overwrite, static_cast<float*>(place));
    std::fill_n(weight, features * features, 1e-3F);
    std::fill_n(in, rows * features, 0.5F);
  });
  const double flops = 2.0 * static_cast<double>(rows * features * features);
  return {flops, 3 * flops / seconds};
}

/// Bytes read and written a second, of two arrays that have so many together.
inline double memory_rate(std::size_t bytes, double budget) {
  const std::vector<char> from(bytes / 2, 1);
  std::vector<char> to(bytes / 2);
  return static_cast<double>(bytes) / seconds_of(budget, [&] { std::memcpy(to.data(), from.data(), bytes / 2); });
}

/// Two ranks on two threads, as CpuThreads has them.
class Pair {
 public:
  explicit Pair(std::int64_t most) : here_(static_cast<std::size_t>(most), 1.0F), there_(here_) {}

  /// Seconds of one message of so many floats: half of a round.
  double message(std::int64_t floats, int rounds) {
    return timed(rounds, [this, floats](int rank, int round) {
      auto& endpoint = threads_.endpoint(Rank{rank});
      const bool sends = (round + rank) % 2 == 0;
      if (sends)
        endpoint.send_wait(1 - rank, endpoint.send_start(1 - rank, buffer(rank), floats));
      else
        endpoint.receive_wait(1 - rank, endpoint.receive_start(1 - rank, buffer(rank), floats));
    });
  }
  double all_reduce(std::int64_t floats, int rounds) {
    return timed(rounds, [this, floats](int rank, int) {
      auto& endpoint = threads_.endpoint(Rank{rank});
      endpoint.all_reduce_wait(0, endpoint.all_reduce_start(0, buffer(rank), floats));
    });
  }

 private:
  template <class Call> double timed(int rounds, Call call) {
    double best = 1e9;
    for (int repeat = 0; repeat < 40; ++repeat) {
      double seconds[2]{};
      workers_.run([&](int rank) {
        const double begin = now();
        for (int round = 0; round < rounds; ++round) call(rank, round);
        seconds[rank] = (now() - begin) / rounds;
      });
      best = std::min(best, std::max(seconds[0], seconds[1]));
    }
    return best;
  }
  float* buffer(int rank) { return rank == 0 ? here_.data() : there_.data(); }

  std::vector<float> here_, there_;
  transport_room::Threads threads_{2, {{0, 1}}, {}, std::chrono::minutes{1}};
  transport_room::Workers workers_{2};
};

struct Tiny : Sequential<Linear<4, 4>, Repeat<64, Sequential<Linear<4, 4>, ReLU>>> {};
using Calls = Plan<Tiny, MeanSquaredError, SGD, Batch<1>, Single>;

/// A step of layers so small that nothing but their calls takes time.
inline double seconds_a_call(double budget) {
  Trainer<Calls, CpuThreads> trainer{{.learning_rate = 0}, Seed{1}};
  const std::vector<float> row(4, 0.1F);
  const Examples<float, float> batch{row.data(), row.data(), 1, 4, 4};
  return seconds_of(budget, [&] { trainer.step(batch); }) / simulate(Calls::training, Machine{.per_flop = 0, .per_call = 1}).step.value;
}

/// A function of each element and attention, behind layers that let both make gradients.
struct Without : Sequential<Input<128>, Embedding<64, 256>, GELU, Linear<256, 768>, SelfAttention<Heads<8>, Causal>, Linear<256, 64>> {};
using Functions = Plan<Without, CrossEntropy, SGD, Batch<4>, Single>;

/// The efficiency of layers without parameters, from the seconds of two of them: of the best of several steps, forward and backward together.
inline Machine with_attention(Machine m, double budget) {
  constexpr int nodes[] = {2, 4};
  Trainer<Functions, CpuThreads> trainer{{.learning_rate = 0}, Seed{1}};
  trainer.on_step({}, Every::never());
  const std::vector<std::int32_t> rows(4 * 128, 1);
  double best[2] = {1e9, 1e9};
  for (const double end = now() + budget; now() < end;) {
    Profile profile{Functions::training};
    trainer.observe(&profile);
    trainer.step(examples(rows, rows, 128, 128));
    const auto layers = profile.layers();
    for (int i = 0; i < 2; ++i) best[i] = std::min(best[i], layers[static_cast<std::size_t>(nodes[i])].value);
  }
  trainer.observe(nullptr);
  m.attention = Efficiency{};
  for (int i = 0; i < 2; ++i) {
    const auto& leaf = Functions::training.graph->leaf(nodes[i]);
    const double forward = 4.0 * static_cast<double>(leaf.forward_flops), all = forward + 4.0 * static_cast<double>(leaf.backward_flops);
    m.attention.points[i] = {forward, all * m.per_flop / best[i]};
  }
  return m;
}

/// What is measured next, of how many parts, is told before it is.
using Tell = std::function<void(int part, int parts, const char* what)>;

/// Everything in about so many seconds; best on a machine that does nothing else.
inline Machine measured(double budget, const Tell& tell) {
  Machine m;
  tell(1, 5, "products of layers by size");
  std::vector<Product> products;
  for (const auto& [rows, features] : {std::pair{16, 16}, {16, 64}, {64, 64}, {64, 128}, {64, 256}, {128, 256}, {128, 512}, {256, 512}, {128, 1024}})
    products.push_back(product_rate(rows, features, budget / 24));
  const double peak = std::max_element(products.begin(), products.end(), [](auto& a, auto& b) { return a.per_second < b.per_second; })->per_second;
  m.per_flop = each_of(peak);
  for (std::size_t i = 0; i < products.size(); ++i) m.efficiency.points[i] = {products[i].flops, products[i].per_second / peak};
  tell(2, 5, "memory");
  constexpr std::size_t beyond_caches = 128 << 20;
  const double rate = memory_rate(beyond_caches, budget / 16);
  m.per_memory_byte = each_of(rate);
  int point = 0;
  for (std::size_t bytes = 512 << 10; bytes < beyond_caches; bytes *= 4)
    m.cached.points[point++] = {static_cast<double>(bytes), std::max(1.0, memory_rate(bytes, budget / 64) / rate)};
  m.cached.points[point] = {static_cast<double>(beyond_caches), 1};
  tell(3, 5, "messages between two threads");
  constexpr std::int64_t large = 1 << 20, small = 16;
  Pair pair{large};
  const double first = pair.message(small, 400);
  m.beta = std::max(0.0, (pair.message(large, 4) - first) / (4.0 * static_cast<double>(large - small)));
  m.alpha = first;
  const double sum = pair.all_reduce(small, 400);
  m.per_collective = std::max(0.0, sum - 2 * m.alpha);
  const double bytes = 4.0 * large;
  m.gamma = std::max(0.0, (pair.all_reduce(large, 4) - sum - bytes * m.beta) / (bytes / 2));
  m.overlaps = false;  // a collective of threads is done by those that wait for it
  tell(4, 5, "calls");
  m.per_call = seconds_a_call(budget / 8);
  tell(5, 5, "layers without parameters");
  return with_attention(m, budget / 8);
}

}  // namespace this_machine
