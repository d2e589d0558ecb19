// SPDX-License-Identifier: MIT
// What reproducible sums cost: the same accumulating plan with and without Reproducible, in interleaved rounds. Both compute the same grains; only
// the tree along which their gradients are added differs. Each line: ratio of the times of a step, with Reproducible / without.
// usage: reproducible [ROUNDS]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <random>
#include <vector>

using namespace heddle;

namespace {

template <std::int64_t Width> struct Stack : Sequential<Linear<Width, Width>, ReLU, Linear<Width, Width>, ReLU, Linear<Width, 10>> {};

// Every micro-batch of 16 rows is one grain.
template <std::int64_t Width, int Grains, class... More>
using Accumulating = Plan<Stack<Width>, CrossEntropy, SGD, Batch<16 * Grains>, Accumulate<Grains>, Single, More...>;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

template <class Step> double seconds_per_step(const Step& step, int steps) {
  const double start = seconds();
  for (int i = 0; i < steps; ++i) step();
  return (seconds() - start) / steps;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

template <std::int64_t Width, int Grains> void compare(int rounds) {
  using Plain = Accumulating<Width, Grains>;
  using Tree = Accumulating<Width, Grains, Reproducible>;
  static_assert(!plan_room::is_reproducible<Plain> && plan_room::is_reproducible<Tree>);
  std::mt19937 generator(0);
  std::normal_distribution<float> normal(0, 1);
  std::vector<float> inputs(static_cast<std::size_t>(16 * Grains * Width));
  for (float& x : inputs) x = normal(generator);
  std::vector<std::int32_t> labels(16 * Grains);
  for (std::int32_t& y : labels) y = static_cast<std::int32_t>(generator() % 10);
  const auto batch = examples(inputs, labels, Width);
  Trainer<Plain, CpuThreads> plain{{}, Seed{1}};
  Trainer<Tree, CpuThreads> tree{{}, Seed{1}};
  plain.on_step({}, Every::never());
  tree.on_step({}, Every::never());
  const auto step_plain = [&] { plain.step(batch); };
  const auto step_tree = [&] { tree.step(batch); };
  seconds_per_step(step_tree, 2);
  const int steps = std::max(1, static_cast<int>(5e-3 / seconds_per_step(step_plain, 3)));
  std::vector<double> with, without, ratios;
  for (int i = 0; i < rounds; ++i) {
    without.push_back(seconds_per_step(step_plain, steps));
    with.push_back(seconds_per_step(step_tree, steps));
    ratios.push_back(with.back() / without.back());
  }
  std::printf("%5lld | %6d | %6.3f | %6.3f | %d\n", static_cast<long long>(Width), Grains, median(ratios),
              *std::min_element(with.begin(), with.end()) / *std::min_element(without.begin(), without.end()),
              Tree::training.batch.levels() - Plain::training.batch.levels());
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::max(1, std::atoi(arguments[1])) : 41;
  std::printf("width | grains | median |   best | extra gradient buffers\n");
  compare<50, 4>(rounds);
  compare<50, 8>(rounds);
  compare<1024, 4>(rounds);
  compare<1024, 8>(rounds);
}
