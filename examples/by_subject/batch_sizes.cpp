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

  // What two replicas save is half of the rows' work; what they cost is the ring. They are equal at this many rows:
  const double ring = 2 * (machine.alpha + 4.0 * parameters<TwoLayers> / 2 * machine.beta);
  const double row = static_cast<double>(flops<TwoLayers>.value) * machine.per_flop;
  std::printf("two replicas pay from %.1f rows on: 2 x %.1f ms of the ring / %.2f ms a row\n", 2 * ring / row, 1e3 * ring, 1e3 * row);
}
