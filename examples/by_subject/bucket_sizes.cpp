// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include examples/by_subject/bucket_sizes.cpp -o bucket_sizes && ./bucket_sizes
// Which bucket? Replicas reduce their gradients bucket by bucket while the backward still runs. Large buckets begin late, small ones have many
// messages.
#include <algorithm>
#include <cstdio>
#include <heddle/cost/simulate.hpp>
#include <heddle/heddle.hpp>
#include <string>
#include <vector>
using namespace heddle;
using namespace heddle::extending;

// Sixteen blocks of 257 KiB of parameters.
struct Deep : Sequential<Input<1>, Embedding<64, 256>, Repeat<16, Linear<256, 256>>> {};
template <int N, class... Options> using Replicas = Plan<Deep, CrossEntropy, SGD, Batch<256>, DataParallel<N>, Options...>;

// 10 billion operations a second, memory of 20 GB/s; links of 1 GB/s and 50 microseconds a message. Put in the numbers of your machine.
constexpr Machine machine{.alpha = 50e-6, .beta = 1e-9, .per_flop = 1e-10, .per_memory_byte = 0.05e-9};

/// Buckets that a step reduces: with two replicas each is two messages of each of them.
template <class ThePlan> int buckets() { return static_cast<int>(traffic<ThePlan>().gradients().on(axis::data).messages) / 4; }

struct Best {
  double milliseconds = 1e9;
  std::string name;
};

template <class... Options> void print_row(const char* name, std::vector<Best>& best) {
  std::printf("%-16s %7d", name, buckets<Replicas<2, Options...>>());
  const auto print_step = [&](const auto& program, Best& so_far) {
    const double milliseconds = 1e3 * simulate(program, machine).step.value;
    if (milliseconds < so_far.milliseconds) so_far = {milliseconds, name};
    std::printf(" %14.2f", milliseconds);
  };
  print_step(Replicas<2, Options...>::training, best[0]);
  print_step(Replicas<4, Options...>::training, best[1]);
  print_step(Replicas<8, Options...>::training, best[2]);
  print_step(Replicas<16, Options...>::training, best[3]);
  std::printf("\n");
}

int main() {
  std::vector<Best> best(4);
  std::printf("%-16s %7s %14s %14s %14s %14s\n", "ms of a step", "buckets", "2 replicas", "4 replicas", "8 replicas", "16 replicas");
  print_row<>("one bucket", best);
  print_row<Bucket<2_MiB>>("Bucket<2_MiB>", best);
  print_row<Bucket<1_MiB>>("Bucket<1_MiB>", best);
  print_row<Bucket<512_KiB>>("Bucket<512_KiB>", best);
  print_row<Bucket<1_B>>("Bucket<1_B>", best);
  std::printf("%-24s", "the fastest");
  for (const Best& one : best) std::printf(" %14s", one.name.c_str());
  std::printf("\n");
}
