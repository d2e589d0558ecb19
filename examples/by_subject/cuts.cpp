// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/by_subject/cuts.cpp -pthread -o cuts && ./cuts
// Where to cut a model in two? Equal parameters, equal operations and equal times choose different layers. Only times say how long a stage waits.
#include <cstdio>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <heddle/io/synthetic.hpp>
#include <heddle/run/profile.hpp>
#include <vector>
using namespace heddle;
using namespace heddle::extending;

template <int In, int Out> using Convolution = Conv2d<In, Out, KernelSize<3>, Padding<1>>;
struct Pictures : Sequential<Input<3, 32, 32>, Convolution<3, 16>, GELU, Convolution<16, 16>, GELU, MaxPool2d<KernelSize<2>>, Convolution<16, 32>,
                             GELU, Convolution<32, 32>, GELU, MaxPool2d<KernelSize<2>>, Flatten, Linear<32 * 8 * 8, 512>, ReLU, Linear<512, 10>> {};
using InTwo = Plan<Pictures, CrossEntropy, SGD, Batch<64>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;
constexpr const Graph& graph = graph_of<Pictures>;

using Weights = decltype(MeasuredCut::stages);  // of each layer: seconds, or whatever else is to be divided

template <class Count> Weights weigh(Count count) {
  Weights weights;
  for (int n = 0; n < graph.node_count; ++n) weights.push_back({static_cast<double>(count(n))});
  return weights;
}
Weights measure_layers() {
  const auto data = datasets::synthetic(Seed{1}, 64 * 12, 3 * 32 * 32, 10);
  Trainer<InTwo, CpuThreads> trainer{{.learning_rate = 1e-3}, Seed{1}};
  Profile profile{InTwo::training};
  for (const auto& batch : data.in_order().batches<InTwo>()) {
    trainer.step(batch);
    trainer.observe(&profile);  // from the second step on
  }
  trainer.observe(nullptr);
  return profile.layers();
}
double share_of_larger(const Weights& weights, const std::vector<int>& first_node) {
  const MeasuredCut cut = measure_cut(first_node, weights);
  return 100 * cut.slowest().value / (cut.stages[0].value + cut.stages[1].value);
}

int main() {
  return run_main([] {
    const Weights parameters = weigh([](int n) { return graph.parameter_elements(n); });
    const Weights operations = weigh([](int n) { return graph.work(n, graph.last_untrained()).total(); });
    const Weights times = measure_layers();
    std::printf("%-5s %-42s %10s %13s %16s\n", "layer", "", "parameters", "operations", "time a row, us");
    for (int n = 0; n < graph.node_count; ++n) {
      const auto i = static_cast<std::size_t>(n);
      std::printf("%-5d %-42.*s %10.0f %13.0f %16.2f\n", n, static_cast<int>(graph.leaf(n).spelled.view().size()),
                  graph.leaf(n).spelled.view().data(), parameters[i].value, operations[i].value, 1e6 * times[i].value / (64 * 11));
    }

    std::printf("\nshare of the larger of two stages\n%-16s %8s %11s %11s %11s\n", "cut by", "layer", "parameters", "operations", "times");
    const auto print_cut = [&](const char* by, const std::vector<int>& first_node, const char* where) {
      std::printf("%-16s %8s %9.1f %% %9.1f %% %9.1f %%\n", by, where, share_of_larger(parameters, first_node),
                  share_of_larger(operations, first_node), share_of_larger(times, first_node));
    };
    const auto by_parameters = best_cut(graph, parameters, 2).first_node, by_operations = best_cut(graph, operations, 2).first_node;
    print_cut("parameters", by_parameters, std::to_string(by_parameters[1]).c_str());
    print_cut("operations", by_operations, std::to_string(by_operations[1]).c_str());
    print_cut("measured times", best_cut(graph, times, 2).first_node, "by run");
    std::printf("Balanced<2> cuts by operations, before layer %d\n", InTwo::training.first_node[1]);
  });
}
