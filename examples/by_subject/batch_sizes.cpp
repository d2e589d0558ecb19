// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include examples/by_subject/batch_sizes.cpp -o batch_sizes && ./batch_sizes
// At what batch do replicas pay? Their work is divided; the gradients that they exchange are the same for every batch. So there is a batch from which
// on they are faster. A batch is a type here: the loop over batch sizes is one over plans.
#include <cstdio>
#include <heddle/cost/simulate.hpp>
#include <heddle/heddle.hpp>
using namespace heddle;
using namespace heddle::extending;

struct TwoLayers : Sequential<Linear<1000, 2000>, ReLU, Linear<2000, 1000>> {};
template <int Rows, class Policy> using Of = Plan<TwoLayers, MeanSquaredError, SGD, Batch<Rows>, Policy>;

// 10 billion operations a second, memory of 20 GB/s; links of 1 GB/s and 50 microseconds a message. Put in the numbers of your machine, which
// ./heddle measure prints.
constexpr Machine machine{.alpha = 50e-6, .beta = 1e-9, .per_flop = 1e-10, .per_memory_byte = 0.05e-9};

template <int Rows, class Policy> double milliseconds() { return 1e3 * simulate(Of<Rows, Policy>::training, machine).step.value; }

template <int Rows> void print_row() {
  const double alone = milliseconds<Rows, Single>(), two = milliseconds<Rows, DataParallel<2>>(), four = milliseconds<Rows, DataParallel<4>>();
  std::printf("%10d %12.1f %12.1f %8.2f %12.1f %8.2f\n", Rows, alone, two, alone / two, four, alone / four);
}
template <int... Rows> void print_rows() { (print_row<Rows>(), ...); }

int main() {
  std::printf("%10s %12s %12s %8s %12s %8s\n", "rows", "1 device ms", "2 devices ms", "speed-up", "4 devices ms", "speed-up");
  print_rows<4, 8, 16, 32, 64, 128, 512>();

  // The time of a batch grows by as much for each row: from two batches follows at which both take as long. What two replicas save of a row is half
  // of its work; what they cost is the ring.
  const double row = (milliseconds<128, Single>() - milliseconds<64, Single>()) / 64;
  const double row_of_two = (milliseconds<128, DataParallel<2>>() - milliseconds<64, DataParallel<2>>()) / 64;
  const double behind = milliseconds<64, DataParallel<2>>() - 64 * row_of_two - (milliseconds<64, Single>() - 64 * row);
  std::printf("two replicas pay from %.1f rows on: they begin %.1f ms behind, and save %.2f ms a row\n", behind / (row - row_of_two), behind,
              row - row_of_two);
}
