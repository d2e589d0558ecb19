// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/02_data_parallel.cpp -pthread -o 02_data_parallel && ./02_data_parallel
// Data parallelism. New: seconds. Two devices hold the same model, each takes 64 rows of a batch, and gradients are summed over both. Devices are
// cores here: on two idle ones the second line takes little more than half of the time of the first, and more where other programs use them too.
#include "network.hpp"

using Mine = Training<DataParallel<2>>;

// Each device sends as many bytes as the gradients have, whatever the batch: that is worth it where a step computes long enough.
static_assert(traffic<Mine>().gradients().on(axis::data).moved_per_rank() == Bytes{4 * parameters<Network>});

// Refused: using Bad = Training<DataParallel<3>>;
// Says: [heddle.B01] Batch<128> does not divide by 3 ranks. Fix: use 126 or 129 rows, or name DropLast, PadLast or KeepLast.

int main() {
  return run_main([] { return train_beside_one_device<Mine>("DataParallel<2>") ? 0 : 1; });
}
