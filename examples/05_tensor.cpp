// SPDX-License-Identifier: MIT
// Tensor parallelism. New: the policy. Four devices share every product: one by columns, the next by rows, then one sum of values over them.
#include <algorithm>
#include <cmath>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <heddle/io/synthetic.hpp>
#include <iomanip>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

using namespace heddle;

// A model is a type. Derive from Sequential to give it a name: errors then say "Network".
struct Part1 : Sequential<Linear<20, 500>, ReLU, Linear<500, 500>, ReLU> {};
struct Part2 : Sequential<Linear<500, 500>, ReLU> {};
struct Part3 : Sequential<Linear<500, 10>> {};
struct Network : Sequential<Part1, Part2, Part3> {};

// A plan is a type as well. If this file compiles, the plan has passed every check.
template <class Policy> using Training = Plan<Network, CrossEntropy, Adam, Batch<128>, Grain<32>, Policy>;
using Mine = Training<TensorParallel<4>>;

/// What is constant: layers with their shapes, where they live, memory and traffic.
template <class ThePlan> void describe() {
  const Graph& graph = graph_of<Network>;
  const Program& program = ThePlan::training;
  std::cout << parameters<Network> << " parameters, " << devices<ThePlan> << " device(s)\n";
  for (int node = 0; node < graph.node_count; ++node) {
    Text<96> shapes;
    shapes << graph.leaf(node).in.shape << " -> " << graph.leaf(node).out.shape << ", on each device " << program.graph->leaf(node).in.shape << " -> "
           << program.graph->leaf(node).out.shape;
    std::cout << "  " << graph.describe(node).view() << ' ' << shapes.view() << '\n';
  }
  std::cout << "  output (" << program.batch.batch << ", " << graph.output().shape.last() << ") and loss on every device\n";
  const auto tell = []<int... Number>(std::integer_sequence<int, Number...>) {
    ((std::cout << "  device " << Number << ": " << peak_memory<ThePlan>(device<Number>).value << " bytes of memory; sends in each step "
                << traffic<ThePlan>().sent_to_peers(Rank{Number}).value << " bytes to other stages and "
                << traffic<ThePlan>().sent_in_values(Rank{Number}).value << " bytes in sums of values\n"),
     ...);
  };
  tell(std::make_integer_sequence<int, devices<ThePlan>>{});
}

/// Three epochs of ten steps; returns all parameters, put together from their parts.
template <class ThePlan> std::vector<float> train(const Dataset& data, bool report) {
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 1e-3}, Seed{1}};
  if (report)
    trainer.on_step([](const StepResult& r) { std::cout << "  step " << r.step << ", " << r.rows << " rows, loss " << *r.loss << '\n'; }, Every{10});
  for (int epoch = 0; epoch < 3; ++epoch)
    for (const auto& batch : data.shuffled(Seed{1}, epoch).batches<128>()) trainer.step(batch);
  const Evaluation evaluation = trainer.evaluate(*data.in_order().batches(data.size()).begin());
  if (report) std::cout << "  evaluation, " << evaluation.rows << " rows, loss " << evaluation.loss << '\n';
  std::vector<float> all;
  for (const std::string& name : trainer.parameter_names())
    for (const float value : trainer.parameter(name)) all.push_back(value);
  return all;
}

int main() {
  std::cout << std::fixed << std::setprecision(2);
  const Dataset data = synthetic(Seed{1}, 1280, 20, 10);
  describe<Mine>();
  const std::vector<float> mine = train<Mine>(data, true);
  const std::vector<float> single = train<Training<Single>>(data, false);
  float most = 0;  // a split product adds its terms in another order: here the last bits may differ, nothing more
  for (std::size_t i = 0; i < single.size(); ++i) most = std::max(most, std::fabs(mine[i] - single[i]));
  std::cout << "parameters within 0.0001 of Single: " << (most < 1e-4F ? "yes" : "no") << '\n';
  return most < 1e-4F ? 0 : 1;
}
