// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include examples/by_subject/price_of_options.cpp -o price_of_options && ./price_of_options
// What does each option cost, and what does it buy? One model, and for each option its time, memory and messages beside the plan without it. Nothing
// is run: memory and messages are constants of the plans, the time is that of a simulated step.
#include <cstdio>
#include <heddle/cost/simulate.hpp>
#include <heddle/heddle.hpp>
using namespace heddle;
using namespace heddle::extending;

// Sixteen equal blocks; the table in front lets the first of them have a gradient to make, as all others have.
struct Block : Residual<Linear<128, 512>, GELU, Linear<512, 128>> {};
struct Blocks : Sequential<Input<1>, Embedding<64, 128>, Repeat<16, Block>> {};
template <class... Parts> using Of = Plan<Blocks, CrossEntropy, Adam, Batch<256>, Parts...>;

// Devices of 100 billion operations a second with memory of 50 GB/s, 2 microseconds a call; links of 5 GB/s, 20 microseconds a message.
constexpr Machine machine{.alpha = 20e-6, .beta = each_of(5e9), .per_flop = each_of(100e9), .per_memory_byte = each_of(50e9), .per_call = 2e-6};

struct Price {
  double milliseconds = 0, idle = 0, kibibytes = 0;
  long messages = 0;
};
template <class ThePlan> Price price_of(const Machine& on) {
  const Estimate step = simulate(ThePlan::training, on);
  return {1e3 * step.step.value, 100 * step.bubble(), static_cast<double>(peak_memory<ThePlan>().value) / 1024, traffic<ThePlan>().messages()};
}

Price plain;
void print(const char* name, const Price& p) {
  std::printf("%-44s %8.1f %6.2f %7.1f %11.0f %6.2f %9ld\n", name, p.milliseconds, p.milliseconds / plain.milliseconds, p.idle, p.kibibytes,
              p.kibibytes / plain.kibibytes, p.messages);
}
template <class ThePlan> void begin(const char* what, const char* name) {
  std::printf("%s%-44s %8s %6s %7s %11s %6s %9s\n", plain.messages == 0 ? "" : "\n", what, "ms", "ratio", "idle %", "KiB at most", "ratio",
              "messages");
  print(name, plain = price_of<ThePlan>(machine));
}
template <class ThePlan> void row(const char* name) { print(name, price_of<ThePlan>(machine)); }

template <class Order, int M = 8> using Staged = Pipeline<Balanced<4>, Order, Microbatches<M>>;
template <class Rest> using With = Hybrid<Staged<OneFOneB>, Rest>;

void slow_device() {
  const Machine uneven = with_speed(machine, 1, 1, 1.0 / 3);
  std::printf("\n%-44s %8s %6s %7s\n", "two replicas, the second at a third", "ms", "ratio", "idle %");
  const auto line = [best = price_of<Of<DataParallel<2>>>(machine).milliseconds](const char* name, const Price& p) {
    std::printf("%-44s %8.1f %6.2f %7.1f\n", name, p.milliseconds, p.milliseconds / best, p.idle);
  };
  line("DataParallel<2>, both fast", price_of<Of<DataParallel<2>>>(machine));
  line("DataParallel<2>, the second slow", price_of<Of<DataParallel<2>>>(uneven));
  line("WeightedDataParallel<3, 1>, the second slow", price_of<Of<WeightedDataParallel<3, 1>>>(uneven));
  line("Single, the fast one alone", price_of<Of<Single>>(machine));
}

int main() {
  begin<Of<Staged<OneFOneB>>>("four stages, 8 micro-batches", "OneFOneB");
  row<Of<Staged<GPipe>>>("GPipe");
  row<Of<Staged<Interleaved<2>>>>("Interleaved<2>");
  row<Of<Staged<ZeroBubbleH1>>>("ZeroBubbleH1");
  row<Of<Staged<OneFOneB, 32>>>("OneFOneB, 32 micro-batches");
  row<Of<Staged<OneFOneB>, Recompute<EveryBlock>>>("OneFOneB, Recompute<EveryBlock>");

  begin<Of<DataParallel<4>>>("four replicas", "DataParallel<4>");
  row<Of<DataParallel<4>, Bucket<1_MiB>>>("DataParallel<4>, Bucket<1_MiB>");
  row<Of<DataParallel<4>, Bucket<64_KiB>>>("DataParallel<4>, Bucket<64_KiB>");
  row<Of<DataParallel<4>, Accumulate<4>>>("DataParallel<4>, Accumulate<4>");
  row<Of<DataParallel<4>, Recompute<EveryBlock>>>("DataParallel<4>, Recompute<EveryBlock>");
  row<Of<DataParallel<4>, Clip<GlobalNorm>>>("DataParallel<4>, Clip<GlobalNorm>");
  row<Of<Sharded<4, OptimizerState>>>("Sharded<4, OptimizerState>");
  row<Of<Sharded<4>>>("Sharded<4>");
  row<Of<Sharded<4>, Accumulate<4>>>("Sharded<4>, Accumulate<4>");
  row<Of<Sharded<4, Keep::Step>, Accumulate<4>>>("Sharded<4, Keep::Step>, Accumulate<4>");

  begin<Of<With<DataParallel<2>>>>("four stages, 8 micro-batches, two copies", "1F1B x DataParallel<2>");
  row<Of<With<Sharded<2, OptimizerState>>>>("1F1B x Sharded<2, OptimizerState>");
  row<Of<With<Sharded<2>>>>("1F1B x Sharded<2>: gathers a micro-batch");
  row<Of<With<Sharded<2, Keep::Step>>>>("1F1B x Sharded<2, Keep::Step>");
  slow_device();
}
