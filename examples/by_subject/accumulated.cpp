// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include examples/by_subject/accumulated.cpp -o accumulated && ./accumulated
// Accumulated micro-batches: the same batch in more and smaller rounds. What a device keeps shrinks; what is sent, and when, depends on the policy.
#include <cstdio>
#include <heddle/cost/simulate.hpp>
#include <heddle/heddle.hpp>
using namespace heddle;
using namespace heddle::extending;

struct Deep : Sequential<Input<1>, Embedding<64, 256>, Repeat<16, Linear<256, 256>>> {};
template <class Policy, class... Options> using Of = Plan<Deep, CrossEntropy, Adam, Batch<512>, Policy, Options...>;
template <int Stages, int M> using Staged = Pipeline<Balanced<Stages>, OneFOneB, Microbatches<M>>;

// 10 billion operations a second, memory of 20 GB/s; links of 1 GB/s and 50 microseconds a message. Put in the numbers of your machine.
constexpr Machine machine{.alpha = 50e-6, .beta = 1e-9, .per_flop = 1e-10, .per_memory_byte = 0.05e-9};

template <class ThePlan> void print_row(const char* name, int rounds) {
  const Estimate step = simulate(ThePlan::training, machine);
  std::printf("%-24s %6d %14.1f %14.1f %10.2f %9.1f %%\n", name, rounds, static_cast<double>(peak_memory<ThePlan>().value) / 1024,
              static_cast<double>(traffic<ThePlan>().total().value) / 1024, 1e3 * step.step.value, 100 * step.bubble());
}
template <class Policy> void print_rounds(const char* name) {
  print_row<Of<Policy>>(name, 1);
  print_row<Of<Policy, Accumulate<2>>>(name, 2);
  print_row<Of<Policy, Accumulate<4>>>(name, 4);
  print_row<Of<Policy, Accumulate<8>>>(name, 8);
}

// Rounds do not change what is trained: sums of 16 rows make the parameters those of one round on one device, to the last bit.
static_assert(same_bits<Of<Single, Grain<16>>, Of<DataParallel<4>, Accumulate<8>, Grain<16>>>());

int main() {
  std::printf("%-24s %6s %14s %14s %10s %11s\n", "512 rows a step", "rounds", "KiB a device", "KiB a step", "step, ms", "waiting");
  print_rounds<Single>("Single");
  print_rounds<DataParallel<4>>("DataParallel<4>");
  print_rounds<Sharded<4>>("Sharded<4>");
  print_rounds<Sharded<4, Keep::Step>>("Sharded<4, Keep::Step>");
  print_row<Of<Staged<4, 4>>>("Pipeline, 4 stages", 4);
  print_row<Of<Staged<4, 8>>>("Pipeline, 4 stages", 8);
  print_row<Of<Staged<4, 16>>>("Pipeline, 4 stages", 16);
  print_row<Of<Staged<4, 32>>>("Pipeline, 4 stages", 32);
}
