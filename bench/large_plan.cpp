// SPDX-License-Identifier: MIT
// The large plan of the compile budget: 96 residual blocks as wide as GPT-3's, 8 stages with 64 micro-batches, 16 replicas. Types only.
// bench/compile_budget.py compiles it; run, it prints what the compiler found.
#include <cstdio>
#include <heddle/heddle.hpp>

using namespace heddle;

namespace {

constexpr std::int64_t width = 12288;

struct Block : Residual<Sequential<Linear<width, 4 * width>, GELU, Linear<4 * width, width>>> {};
struct Large : Sequential<Named<"first", Linear<1024, width>>, Repeat<96, Block>, Named<"head", Linear<width, 1024>>> {};

using LargePlan = Plan<Large, CrossEntropy, Adam, Batch<2048>, Hybrid<Pipeline<Balanced<8>, OneFOneB, Microbatches<64>>, DataParallel<16>>>;

static_assert(devices<LargePlan> == 128);

}  // namespace

int main() {
  constexpr Bytes memory = peak_memory<LargePlan>();
  constexpr Bytes moved = traffic<LargePlan>().gradients().on(axis::data).total_payload;
  std::printf("%lld parameters, %d devices, at most %lld bytes a device, %lld bytes of gradients a step\n", static_cast<long long>(parameters<Large>),
              devices<LargePlan>, static_cast<long long>(memory.value), static_cast<long long>(moved.value));
}
