// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/07_hybrid.cpp -pthread -o 07_hybrid && ./07_hybrid
// Policies multiply. New: groups. Two stages on neighbouring devices, and each stage's parameters are sharded over the two pairs: 2 x 2 devices.
// Every device is in one group along each axis: it sends values to its neighbour, and shares parameters with the device that has the same stage.
#include "network.hpp"

using Mine = Training<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>>>;

// Refused: using Bad = Training<Hybrid<Sharded<2>, Sharded<2>>>;
// Says: [heddle.M01] axis shard is claimed twice, with sizes 2 and 2. Fix: keep one policy on axis shard, of size 4.

int main() {
  return run_main([] {
    const auto& mesh = extending::lower<Mine>().mesh;
    for (int r = 0; r < devices<Mine>; ++r) {
      const int stage = mesh.coordinate(Rank{r}, axis::stage), part = mesh.coordinate(Rank{r}, axis::shard);
      std::printf("device %d: stage %d with device %d, part %d with device %d\n", r, stage, mesh.moved(Rank{r}, axis::stage, 1 - stage).value, part,
                  mesh.moved(Rank{r}, axis::shard, 1 - part).value);
    }
    std::fputs(summary<Mine>().c_str(), stdout);
    return train_beside_one_device<Mine>("2 x 2 devices") ? 0 : 1;
  });
}
