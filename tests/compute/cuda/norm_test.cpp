// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/norm.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "compute/cuda/against_loops.hpp"
#include "conformance/layers.hpp"

using namespace heddle;
using against_loops::Card;
using against_loops::Ran;
using conformance::CardTensors;
using conformance::drawn;
using conformance::equal_bits;
using conformance::UploadedCuda;

TEST_CASE("LayerNorm and RMSNorm keep the laws of every Compute") {
  const Card card;
  conformance::for_each_of<conformance::Layers>([]<class L> {
    if constexpr (requires {
                    L::takes().shape;
                    L::epsilon;
                  })
      CHECK(conformance::broken_law_of_layer<L, UploadedCuda>(20) == "");
  });
}

TEST_CASE("vectors of any length are shared by a warp, by a block, or read in tiles") {
  const Card card;
  CHECK(against_loops::off<LayerNorm<300>>(Shape{3, 300}, 5) == "");
  CHECK(against_loops::off<LayerNorm<1023, NoBias>>(Shape{1023}, 9) == "");
  CHECK(against_loops::off<LayerNorm<1028>>(Shape{1028}, 3) == "");
  CHECK(against_loops::off<RMSNorm<1031>>(Shape{1031}, 3) == "");
  CHECK(against_loops::off<LayerNorm<8196>>(Shape{8196}, 3) == "");
  CHECK(against_loops::off<RMSNorm<9001>>(Shape{9001}, 2) == "");
}

TEST_CASE("vectors that several blocks share for the gradients of parameters, in the bytes that a kernel says") {
  const Card card;
  CHECK(against_loops::off<LayerNorm<8>>(Shape{8}, 256 * warps_of_a_block + 100) == "");
  CHECK(against_loops::off<RMSNorm<40000>>(Shape{40000}, 34) == "");
  CHECK(Kernel<LayerNorm<768>, CudaCompute>::scratch(LayerNorm<768>::describe(Spec{Shape{5, 768}})).value == 2 * 32 * 768 * 4);
  CHECK(Kernel<RMSNorm<768>, CudaCompute>::scratch(RMSNorm<768>::describe(Spec{Shape{5, 768}})).value == 32 * 768 * 4);
}

TEST_CASE("a large mean costs no precision: the variance is that of the differences") {
  const Card card;
  Ran<LayerNorm<64, NoBias>> t(Shape{64}, 3);
  for (std::size_t i = 0; i < 3 * 64; ++i) t.input[i] = 4096 + static_cast<float>(i * 37 % 64) / 8;  // exact, and so is their mean
  t.forward(0, 3);
  for (std::size_t v = 0; v < 3; ++v) {
    double variance = 0;
    const auto apart = [&](std::size_t j) { return static_cast<double>(t.input[v * 64 + j]) - 4096 - 63.0 / 16; };
    for (std::size_t j = 0; j < 64; ++j) variance += apart(j) * apart(j) / 64;
    for (std::size_t j = 0; j < 64; ++j) {
      const double wanted = apart(j) / std::sqrt(variance + 1e-5) * static_cast<double>(t.parameters[0][j]);
      CHECK(std::abs(static_cast<double>(t.output[v * 64 + j]) - wanted) <= 80 * 0x1p-24);  // sums of 64 differences of at most 4
    }
  }
}

TEST_CASE("a norm that makes its sum has the bits of a sum and a norm, also where it lies in the place of a term") {
  const Card all;
  const auto tried = []<class L>(L, std::int64_t n, std::int64_t rows) {
    const Leaf leaf = L::describe(Spec{Shape{n}});
    const std::int64_t elements = rows * n;
    Floats a = drawn(elements, 1), b = drawn(elements, 2), w = drawn(n, 3), sum(a.size()), y(a.size()),
           statistics(static_cast<std::size_t>(rows * 2));
    Floats wanted_sum(a.size()), wanted = y, left = statistics;
    for (std::size_t i = 0; i < a.size(); ++i) wanted_sum[i] = a[i] + b[i];
    for (const int way : {0, 1, 2}) {  // apart, made by the norm, made by the norm in the place of a term
      CardTensors card;
      const float* const parameters[] = {card.given(w.data(), n), card.given(w.data(), n)};
      float* const first = card.made(a.data(), elements);
      float* const to = way == 2 ? first : card.made(way == 0 ? wanted.data() : y.data(), elements);
      ForwardCallIn<CudaMemory> call{&leaf, rows, nullptr, to, parameters};
      call.statistics = card.made(way == 0 ? left.data() : statistics.data(), rows * leaf.statistics.last());
      call.space = card.space({});
      if (way == 0) {
        call.input = card.given(wanted_sum.data(), elements);
        Kernel<L, CudaCompute>::forward(call);
      } else {
        float* const made = card.made(sum.data(), elements);
        call.input = made;
        Kernel<L, CudaCompute>::forward_of_sum(call, {first, card.given(b.data(), elements), made});
      }
      card.finish();
      if (way == 0) continue;
      CHECK(equal_bits(sum, wanted_sum));
      CHECK(equal_bits(way == 2 ? a : y, wanted));
      CHECK(equal_bits(statistics, left));
    }
  };
  tried(LayerNorm<19>{}, 19, 5);
  tried(RMSNorm<64>{}, 64, 3);
  tried(LayerNorm<9000>{}, 9000, 2);
}

TEST_CASE("the bits do not depend on the order in which threads and blocks run") {
  CHECK(against_loops::same_bits_in_any_order<LayerNorm<260>>(Shape{260}, 21));
}
