// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include examples/by_subject/step_times.cpp -o step_times && ./step_times
// Step times on machines that are not here: a plan's program is walked under a model of the machine, nothing is run.
#include <cstdio>
#include <heddle/cost/simulate.hpp>
#include <heddle/heddle.hpp>
using namespace heddle;
using namespace heddle::extending;

template <class ThePlan> void print(const char* name, const Machine& machine, const char* unit, double units_a_second) {
  const Estimate step = simulate(ThePlan::training, machine);
  std::printf("%-52s %7d %8.1f %s %6.1f %%\n", name, devices<ThePlan>, step.step.value * units_a_second, unit, 100 * step.bubble());
}

// Two layers on devices of 10 billion operations a second with memory of 20 GB/s; links of 1 GB/s and 50 microseconds a message.
struct Front : Sequential<Linear<1000, 2000>, ReLU> {};
struct Back : Sequential<Linear<2000, 1000>> {};
struct TwoLayers : Sequential<Front, Back> {};
template <class Policy, class... Options> using Two = Plan<TwoLayers, MeanSquaredError, SGD, Batch<64>, Policy, Options...>;
constexpr Machine fast{.alpha = 50e-6, .beta = 1e-9, .per_flop = 1e-10, .per_memory_byte = 0.05e-9};

// Eight blocks of two layers; every block gives gradients to what is before it, so all blocks have the same work.
struct Block : Sequential<Linear<64, 64, NoBias>, Linear<64, 64, NoBias>> {};
struct Blocks : Sequential<Input<1>, Embedding<64, 64>, Repeat<8, Block>> {};
template <class Policy, class... Options> using Eight = Plan<Blocks, MeanSquaredError, SGD, Batch<64>, Policy, Options...>;
template <int Stages> using Staged = Pipeline<Balanced<Stages>, OneFOneB, Microbatches<4>>;
// A unit of compute is the forward of one block for 8 rows and takes 0.1 s; a unit of data is what 8 rows carry from block to block: 0.01 s.
constexpr Machine slow{.alpha = 0.05, .beta = 0.01 / (8 * 64 * 4), .per_flop = 0.1 / (8 * 2 * 2 * 64 * 64)};

// Four equal stages, eight micro-batches; only work takes time, one unit for each operation.
struct Deep : Sequential<Input<1>, Named<"table", Embedding<64, 64>>, Repeat<8, Linear<64, 64>>> {};
template <class Order> using Ordered = Plan<Deep, CrossEntropy, Adam, Batch<64>, Pipeline<Balanced<4>, Order, Microbatches<8>>>;

template <class Order> void print_order(const char* name) {
  const auto& program = Ordered<Order>::training;
  const Estimate step = simulate(program, Machine{});
  const auto moved = traffic<Ordered<Order>>().activations();
  const auto& second = program.arenas[1];
  std::printf("%-16s %16.0f %9.1f %% %9d %19.0f %25.1f\n", name, step.idle[1].value, 100 * step.bubble(), static_cast<int>(moved.messages),
              static_cast<double>(moved.total_payload.value) / 1024, static_cast<double>(second.value_bytes()) / 1024);
}

int main() {
  std::printf("%-52s %7s %11s %8s\n", "two layers", "devices", "step", "waiting");
  print<Two<Single>>("one device", fast, "ms", 1e3);
  print<Two<DataParallel<2>>>("two replicas, one bucket", fast, "ms", 1e3);
  print<Two<DataParallel<2>, Bucket<1_MiB>>>("two replicas, Bucket<1_MiB>", fast, "ms", 1e3);
  print<Two<Pipeline<Stage<Front>, Stage<Back>, OneFOneB, Microbatches<4>>>>("two stages, 1F1B, 4 micro-batches", fast, "ms", 1e3);

  std::printf("\n%-52s %7s %11s %8s\n", "eight blocks", "devices", "step", "waiting");
  print<Eight<Single>>("0D: one device", slow, "s ", 1);
  print<Eight<DataParallel<2>>>("1D: data 2", slow, "s ", 1);
  print<Eight<DataParallel<2>, Bucket<32_KiB>>>("1D: data 2, Bucket<32_KiB>", slow, "s ", 1);
  print<Eight<Staged<2>>>("1D: stage 2", slow, "s ", 1);
  print<Eight<TensorParallel<2>>>("1D: tensor 2", slow, "s ", 1);
  print<Eight<Sharded<2>>>("1D: shard 2", slow, "s ", 1);
  print<Eight<DataParallel<4>>>("1D: data 4", slow, "s ", 1);
  print<Eight<DataParallel<8>>>("1D: data 8", slow, "s ", 1);
  print<Eight<DataParallel<8>, Bucket<32_KiB>>>("1D: data 8, Bucket<32_KiB>", slow, "s ", 1);
  print<Eight<Sharded<8>>>("1D: shard 8", slow, "s ", 1);
  print<Eight<DataParallel<16>>>("1D: data 16", slow, "s ", 1);
  print<Eight<Hybrid<Staged<2>, DataParallel<2>>>>("2D: stage 2 x data 2", slow, "s ", 1);
  print<Eight<Hybrid<TensorParallel<2>, Staged<2>, DataParallel<2>>>>("3D: tensor 2 x stage 2 x data 2", slow, "s ", 1);
  print<Eight<Hybrid<TensorParallel<2>, Staged<2>, Sharded<2>, DataParallel<2>>>>("4D: tensor 2 x stage 2 x shard 2 x data 2", slow, "s ", 1);

  std::printf("\n%-16s %16s %11s %9s %19s %25s\n", "4 stages", "idle operations", "idle share", "messages", "KiB between stages",
              "KiB kept, second device");
  print_order<GPipe>("GPipe");
  print_order<OneFOneB>("OneFOneB");
  print_order<Interleaved<2>>("Interleaved<2>");
  print_order<ZeroBubbleH1>("ZeroBubbleH1");
}
