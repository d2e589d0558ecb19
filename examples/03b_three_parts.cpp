// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/03b_three_parts.cpp -pthread -o 03b_three_parts && ./03b_three_parts
// Three parts on two devices. New: the third part is back on device 0, and so are the output and the loss; and a timeline. Both devices have about
// as much work, and yet they are idle for a third of a step. The order of each device's list is fixed as if all parts took equally long. Under
// OneFOneB device 0 takes two micro-batches forward and waits for their gradients; then device 1 waits while device 0 goes back and forward.
#include "network.hpp"

template <int M, class... Order> using Home = Pipeline<Stage<Part1, On<0>>, Stage<Part2, On<1>>, Stage<Part3, On<0>>, Microbatches<M>, Order...>;
using Mine = Training<Home<4, OneFOneB>>;

// More micro-batches do not help: two at a time come and go, however many there are. Under GPipe they even harm, since device 0 begins
// its long backwards only when device 1 takes the last gradients of the third part.
template <int M, class... Order> constexpr int idle = bubble_percent(Plan<Network, CrossEntropy, Adam, Batch<128>, Home<M, Order...>>::training);
static_assert(idle<4> == 50 && idle<4, OneFOneB> == 32 && idle<4, GPipe> == 25);
static_assert(idle<16> == 50 && idle<16, OneFOneB> == 32 && idle<16, GPipe> == 41);

// Refused: using Bad = Training<Pipeline<Stage<Part1, On<0>>, Stage<Part2, On<2>>, Stage<Part3, On<0>>>>;
// Says: [heddle.M03] device 1 of 3 holds none of the 3 stages. Fix: number the devices 0, 1, 2, ... without a gap.

int main() {
  return run_main([] {
    std::fputs(summary<Mine>().c_str(), stdout);
    print_timeline<Mine>("OneFOneB");
    print_timeline<Training<Home<4, GPipe>>>("GPipe");
    return train_beside_one_device<Mine>("three parts") ? 0 : 1;
  });
}
