// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/05_tensor.cpp -pthread -o 05_tensor && ./05_tensor
// Tensor parallelism. New: bytes of values. Devices share every product: one by columns, the next by rows, then one sum of values over them. With
// more devices each needs less memory, and more values move. A split product adds its terms in another order, so the last bits may differ.
#include "network.hpp"

using Mine = Training<TensorParallel<4>>;

// Refused: using Bad = Training<TensorParallel<3>>;
// Says: [heddle.P01] TensorParallel<3> cannot split the 500 features of layer 0 '0.0' Linear<20, 500> evenly. Fix: use as many ranks as divide
// 500: 1, 2, 4, 5, 10, 20, 25, 50, 100, 125, 250, 500.

int main() {
  return run_main([] {
    print_costs();
    print_costs<Training<Single>>("one device");
    print_costs<Training<TensorParallel<2>>>("TensorParallel<2>");
    print_costs<Mine>("TensorParallel<4>");
    std::fputs(summary<Mine>().c_str(), stdout);  // a column has the shapes on each rank
    const float apart = train<Mine>().apart(train<Training<Single>>());
    std::printf("parameters within 0.0001 of one device: %s\n", apart < 1e-4F ? "yes" : "no");
    return apart < 1e-4F ? 0 : 1;
  });
}
