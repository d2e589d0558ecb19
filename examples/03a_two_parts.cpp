// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/03a_two_parts.cpp -pthread -o 03a_two_parts && ./03a_two_parts
// Model parallelism. New: where things live. Two parts of the model are on two devices: values go forward between them, gradients back. The output
// and the loss are on the last device, and neither device holds the whole model. One waits while the other computes: half of the time is idle.
#include "network.hpp"

using Mine = Training<Pipeline<Stage<Part1, On<0>>, Stage<Sequential<Part2, Part3>, On<1>>>>;

// Refused: using Bad = Training<Pipeline<Stage<Sequential<Part2, Part3>, On<0>>, Stage<Part1, On<1>>>>;
// Says: [heddle.S01] stage 0 (Sequential<Part2, Part3>) does not go on with layer 0 '0.0' Linear<20, 500> of Network: that layer is skipped or out
// of order. Fix: let the stages hold each layer of the model once, in order.

int main() {
  return run_main([] {
    std::fputs(summary<Mine>().c_str(), stdout);
    for (int r = 0; r < devices<Mine>; ++r)
      std::printf("device %d sends %lld bytes in a step\n", r, static_cast<long long>(traffic<Mine>().sent(Rank{r}).value));
    return train_beside_one_device<Mine>("two parts") ? 0 : 1;
  });
}
