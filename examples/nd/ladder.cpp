// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include examples/nd/ladder.cpp -o ladder && ./ladder
// From 0D to 4D with plans of Heddle instead of devices that are driven by hand: simulate() walks their programs on the tutorial's machine. The same
// types train under CpuThreads, CpuMpi and on cards.
#include <cstdio>
#include <heddle/cost/presets.hpp>
#include <heddle/cost/simulate.hpp>
#include <heddle/heddle.hpp>
#include <vector>
using namespace heddle;
using namespace heddle::extending;

// Eight blocks, 64 rows. A unit of compute is the forward of a block for 8 rows, a unit of data is what 8 rows carry from block to block.
struct Block : Sequential<Linear<64, 64, NoBias>, Linear<64, 64, NoBias>> {};
struct Blocks : Sequential<Input<1>, Embedding<64, 64>, Repeat<8, Block>> {};
template <class Policy> using Of = Plan<Blocks, MeanSquaredError, SGD, Batch<64>, Policy>;
constexpr Machine tutorial =
    toy_machine(8 * 2 * 2 * 64 * 64, 8 * 64 * 4);  // 0.1 s a unit, 0.05 s a message and its acknowledgement, 0.01 s a unit of data

using Stages = Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>;
using Tensor = TensorParallel<2>;
using Data = DataParallel<2>;
using OneD = Of<Data>;
using TwoD = Of<Hybrid<Stages, Data>>;
using ThreeD = Of<Hybrid<Tensor, Stages, Data>>;
using FourD = Of<Hybrid<Tensor, Stages, Sharded<2>, Data>>;

/// The tutorial's machine with so many times its seconds for a unit of compute.
constexpr Machine with_work(double times) {
  Machine machine = tutorial;
  machine.per_flop *= times;
  return machine;
}
/// Nodes of so many devices. Between them latency and bytes of a message take ten times as long; its acknowledgement takes 0.05 s as within a node.
constexpr Machine in_nodes(int devices) {
  Machine machine = tutorial;
  machine.levels[0] = {devices, tutorial.alpha, tutorial.beta};
  machine.alpha *= 10;
  machine.beta *= 10;
  return machine;
}

constexpr double works[] = {1, 4, 16};

/// Seconds of a step and how many times as fast as one device that is; ! where it is slower than the rung above it.
template <class ThePlan> void print_rung(const char* name, std::vector<double>& before) {
  std::printf("%-42s %7d", name, devices<ThePlan>);
  for (std::size_t w = 0; w < 3; ++w) {
    const double alone = simulate(Of<Single>::training, with_work(works[w])).step.value;
    const double seconds = simulate(ThePlan::training, with_work(works[w])).step.value;
    std::printf("  %c%6.2f (%5.2f)", before[w] > 0 && seconds > before[w] ? '!' : ' ', seconds, alone / seconds);
    before[w] = seconds;
  }
  std::printf("\n");
}
template <class Policy> void print_order(const char* name) {
  std::printf("%-28s", name);
  for (const int node : {2, 4}) {
    const Estimate step = simulate(Of<Policy>::training, in_nodes(node));
    std::printf(" %12.2f %14.0f", step.step.value, static_cast<double>(step.levels[1].value) / 1024);
  }
  std::printf("\n");
}

int main() {
  std::vector<double> before(3, 0);
  std::printf("%-42s %7s", "step, s (speed-up)", "devices");
  for (const double times : works) std::printf("  %5.1f s a unit", 0.1 * times);
  std::printf("\n");
  print_rung<Of<Single>>("0D", before);
  print_rung<OneD>("1D: data 2", before);
  print_rung<TwoD>("2D: stage 2 x data 2", before);
  print_rung<ThreeD>("3D: tensor 2 x stage 2 x data 2", before);
  print_rung<FourD>("4D: tensor 2 x stage 2 x shard 2 x data 2", before);
  std::printf("! slower than the row above it\n\n");

  before.assign(3, 0);
  print_rung<Of<DataParallel<4>>>("1D: data 4", before);
  print_rung<Of<DataParallel<8>>>("1D: data 8", before);
  print_rung<Of<DataParallel<16>>>("1D: data 16", before);
  print_rung<Of<Hybrid<Stages, DataParallel<8>>>>("2D: stage 2 x data 8", before);

  std::printf("\n%-28s %12s %14s %12s %14s\n", "8 devices, innermost first", "nodes of 2", "KiB between", "nodes of 4", "KiB between");
  print_order<Hybrid<Tensor, Stages, Data>>("tensor, stage, data");
  print_order<Hybrid<Tensor, Data, Stages>>("tensor, data, stage");
  print_order<Hybrid<Stages, Tensor, Data>>("stage, tensor, data");
  print_order<Hybrid<Data, Tensor, Stages>>("data, tensor, stage");
  print_order<Hybrid<Stages, Data, Tensor>>("stage, data, tensor");
  print_order<Hybrid<Data, Stages, Tensor>>("data, stage, tensor");
}
