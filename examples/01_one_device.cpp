// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/01_one_device.cpp -pthread -o 01_one_device && ./01_one_device
// One device. New: what a plan says of itself before anything runs. network.hpp has the model and its plan; every later example changes the policy.
#include "network.hpp"

using Mine = Training<Single>;

// What is printed is constant, so the compiler can be asked as well.
static_assert(parameters<Network> == 516'510 && devices<Mine> == 1);
static_assert(peak_memory<Mine>() < 14_MB && traffic<Mine>().total() == 0_B);

// Grain<32> gives all examples equal bits: gradients are summed in four groups of 32 rows. One device then holds two more copies of the gradients.
// Four devices of 32 rows each hold none, so compare memory without Grain if you do not need equal bits.
constexpr Bytes for_equal_bits = peak_memory<Mine>() - peak_memory<Plan<Network, CrossEntropy, Adam, Batch<128>, Single>>();

// Refused: using Bad = Plan<Network, CrossEntropy, Adam, Single>;
// Says: [heddle.L01] the plan names no Batch. Fix: add Batch<B>.

int main() {
  return run_main([] {
    std::fputs(summary<Mine>().c_str(), stdout);
    std::printf("for equal bits %lld bytes of the memory\n", static_cast<long long>(for_equal_bits.value));
    const Trained mine = train<Mine>();
    std::printf("loss after 30 steps: %.2f\n", static_cast<double>(mine.loss));
  });
}
