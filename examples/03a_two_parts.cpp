// SPDX-License-Identifier: MIT
// Model parallelism, 32 rows a step. New: the policy. Two parts of the model live on two devices; values go forward between them, gradients back.
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <heddle/io/synthetic.hpp>
#include <iomanip>
#include <iostream>
#include <utility>

using namespace heddle;

// A model is a type. Derive from Sequential to give it a name: errors then say "Network".
struct Part1 : Sequential<Linear<20, 500>, ReLU, Linear<500, 500>, ReLU> {};
struct Part2 : Sequential<Linear<500, 500>, ReLU> {};
struct Part3 : Sequential<Linear<500, 10>> {};
struct Network : Sequential<Part1, Part2, Part3> {};

// A plan is a type as well. If this file compiles, the plan has passed every check.
template <class Policy> using Training = Plan<Network, CrossEntropy, Adam, Batch<32>, Grain<32>, Policy>;
using Mine = Training<Pipeline<Stage<Part1, On<0>>, Stage<Sequential<Part2, Part3>, On<1>>>>;

/// What is constant: layers with their shapes, where they live, memory and traffic.
template <class ThePlan> void describe() {
  const Graph& graph = graph_of<Network>;
  const Program& program = ThePlan::training;
  std::cout << parameters<Network> << " parameters, " << devices<ThePlan> << " device(s)\n";
  for (int stage = 0; stage < program.chunks; ++stage)
    for (int node = program.first_node[stage]; node < program.first_node[stage + 1]; ++node) {
      Text<64> shapes;
      shapes << graph.leaf(node).in.shape << " -> " << graph.leaf(node).out.shape;
      std::cout << "  stage " << stage << " on device " << program.device_of_chunk[stage] << " of each replica: " << graph.describe(node).view()
                << ' ' << shapes.view() << '\n';
    }
  std::cout << "  output (" << program.batch.batch << ", " << graph.output().shape.last() << ") and loss on device " << program.loss_role()
            << " of each replica; stages idle " << bubble_percent(program) << " % if only work takes time\n";
  const auto tell = []<int... Number>(std::integer_sequence<int, Number...>) {
    ((std::cout << "  device " << Number << ": " << peak_memory<ThePlan>(device<Number>).value << " bytes of memory; sends in each step "
                << traffic<ThePlan>().sent_to_peers(Rank{Number}).value << " bytes to other stages and "
                << traffic<ThePlan>().sent_in_collectives(Rank{Number}).value << " bytes in collectives\n"),
     ...);
  };
  tell(std::make_integer_sequence<int, devices<ThePlan>>{});
}

/// Three epochs of forty steps; returns a hash of all parameters.
template <class ThePlan> std::uint64_t train(const Dataset& data, bool report) {
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 1e-3}, Seed{1}};
  if (report)
    trainer.on_step([](const StepResult& r) { std::cout << "  step " << r.step << ", " << r.rows << " rows, loss " << *r.loss << '\n'; }, Every{40});
  for (int epoch = 0; epoch < 3; ++epoch)
    for (const auto& batch : data.shuffled(Seed{1}, epoch).batches<32>()) trainer.step(batch);
  const Evaluation evaluation = trainer.evaluate(*data.in_order().batches(data.size()).begin());
  if (report) std::cout << "  evaluation, " << evaluation.rows << " rows, loss " << evaluation.loss << '\n';
  return trainer.parameter_hash();
}

int main() {
  std::cout << std::fixed << std::setprecision(2);
  const Dataset data = synthetic(Seed{1}, 1280, 20, 10);
  describe<Mine>();
  const bool equal = train<Mine>(data, true) == train<Training<Single>>(data, false);
  std::cout << "parameters equal to Single, to the last bit: " << (equal ? "yes" : "no") << '\n';
  return equal ? 0 : 1;
}
