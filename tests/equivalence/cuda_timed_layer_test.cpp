// SPDX-License-Identifier: MIT
// The layers that tools/gpu times compute with numbers that are drawn, not with zeros.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "backend/plans_on_cards.hpp"
#include "compute/cuda/own_kernels.hpp"
#include "gpu/timed_layer.hpp"

using namespace heddle;
using plans_on_cards::Cards;

namespace {

/// How many of the outputs differ, of a layer that was run once by itself.
template <class L, class Value> std::size_t kinds_of_outputs(const Shape& in, int rows) {
  const cudaStream_t stream = gpu_check::new_stream();
  std::vector<float> outputs;
  {
    gpu_check::TimedLayer<L, Value> timed(stream, in, rows, false);
    CHECK(timed.forward() >= 0);
    CHECK(timed.backward() >= 0);
    std::vector<Value> made(static_cast<std::size_t>(rows * timed.leaf().out.elements()));
    CHECK(cudaMemcpy(made.data(), timed.outputs(), made.size() * sizeof(Value), cudaMemcpyDeviceToHost) == cudaSuccess);
    for (const Value value : made) outputs.push_back(compute_room::as_float(value));
  }
  CHECK(cudaStreamDestroy(stream) == cudaSuccess);
  CHECK(std::all_of(outputs.begin(), outputs.end(), [](float y) { return std::abs(y) < 100; }));
  std::sort(outputs.begin(), outputs.end());
  return static_cast<std::size_t>(std::unique(outputs.begin(), outputs.end()) - outputs.begin());
}

}  // namespace

TEST_CASE("a layer that is timed by itself makes other numbers of every row, of inputs and parameters between -1 and 1, in float32 and in bfloat16") {
  const Cards card;
  CHECK(kinds_of_outputs<Linear<16, 8>, float>(Shape{16}, 12) > 90);
  CHECK(kinds_of_outputs<Linear<16, 8>, BFloat16>(Shape{16}, 12) > 50);
  CHECK(kinds_of_outputs<SelfAttention<Heads<2>, Causal>, BFloat16>(Shape{4, 24}, 3) > 40);
  CHECK(kinds_of_outputs<Embedding<32, 8>, float>(Shape{4}, 6) > 90);
}

TEST_CASE("numbers that are drawn lie between their bounds, have no side and differ by their seed") {
  double sum = 0, squares = 0;
  int equal = 0;
  for (int i = 0; i < 30'000; ++i) {
    const auto x = static_cast<double>(gpu_check::drawn(i, 1, 2));
    REQUIRE(std::abs(x) <= 2);
    sum += x, squares += x * x;
    equal += gpu_check::drawn(i, 1, 2) == gpu_check::drawn(i, 2, 2);
  }
  CHECK(std::abs(sum / 30'000) < 0.03);                 // 4.5 standard errors: a uniform draw from -2 to 2 has 1.155 / sqrt(30,000) = 0.0067
  CHECK(std::abs(squares / 30'000 - 4.0 / 3) < 0.031);  // 1.193 / sqrt(30,000) = 0.0069
  CHECK(equal < 10);
}
