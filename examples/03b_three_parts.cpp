// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/03b_three_parts.cpp -pthread
// Three parts on two devices. New: the third part is back on device 0, and so are the output and the loss. A batch passes as four micro-batches of
// 32 rows, so that both devices have something to do at once: they are idle for a third of a step, not for half of it.
#include "network.hpp"

using Mine = Training<Pipeline<Stage<Part1, On<0>>, Stage<Part2, On<1>>, Stage<Part3, On<0>>, OneFOneB, Microbatches<4>>>;

// Refused: using Bad = Training<Pipeline<Stage<Part1, On<0>>, Stage<Part2, On<2>>, Stage<Part3, On<0>>>>;
// Says: [heddle.M03] device 1 of 3 holds none of the 3 stages. Fix: number the devices 0, 1, 2, ... without a gap.

int main() {
  return run_main([] {
    std::fputs(summary<Mine>().c_str(), stdout);
    return train_beside_one_device<Mine>("three parts") ? 0 : 1;
  });
}
