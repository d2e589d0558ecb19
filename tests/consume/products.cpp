// SPDX-License-Identifier: MIT
// What heddle::eigen and heddle::gzip bring, without a plan: the headers of Heddle and of Eigen, threads, and zlib.
#include <heddle/compute/eigen/gemm.hpp>
#include <heddle/io/gzip.hpp>

#include <cstdio>
#include <exception>
#include <thread>

using namespace heddle::compute_room;

alignas(64) static char workspace[EigenCompute::workspace.value];

int main() {
  const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
  float c[4] = {};
  std::thread{[&] { EigenProducts::nn(2, 2, 2, a, b, c, Into::overwrite, workspace); }}.join();
  std::printf("%g %g %g %g\n", c[0], c[1], c[2], c[3]);
  try {
    [[maybe_unused]] const auto data = heddle::datasets::load_idx("no-such-folder");
  } catch (const std::exception& error) {
    std::puts(error.what());
    return c[0] == 19 && c[1] == 22 && c[2] == 43 && c[3] == 50 ? 0 : 1;
  }
  return 1;
}
