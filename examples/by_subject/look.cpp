// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include examples/by_subject/look.cpp -o look && ./look
// Four looks at plans, before anything runs: what a plan is, what another changes, where the memory is, what each device needs.
#include <cstdio>
#include <heddle/heddle.hpp>
#include <heddle/report/difference.hpp>
#include <heddle/report/summary.hpp>
#include <heddle/report/table.hpp>
#include <heddle/run/by_rank.hpp>
using namespace heddle;

struct Mnist : Sequential<Named<"linear1", Linear<784, 50>>, ReLU, Named<"linear2", Linear<50, 10>>> {};
template <class Policy> using Training = Plan<Mnist, CrossEntropy, Adam, Batch<64>, Grain<8>, Policy>;
using Alone = Training<Single>;
using Staged = Training<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;
using Both = Training<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, DataParallel<2>>>;

static_assert(difference<Alone, Staged>().same_bits);
static_assert(difference<Alone, Staged>().memory() < 0_B && difference<Alone, Staged>().devices() == 1);

int main() {
  std::puts(summary<Both>().c_str());
  std::puts(difference<Alone, Staged>().text().c_str());
  std::puts(table<Both>().c_str());
  for (int r = 0; r < devices<Both>; ++r)
    std::printf("device %d: %ld bytes of memory, sends %ld bytes in a step\n", r, peak_memory<Both>(Rank{r}).value,
                traffic<Both>().sent(Rank{r}).value);
}
