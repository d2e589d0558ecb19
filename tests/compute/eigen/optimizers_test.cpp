// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/optimizers.hpp"

#include <doctest/doctest.h>

#include "compute/eigen/arrays.hpp"
#include "compute/own_optimizer.hpp"
#include "conformance/compute.hpp"
#include "heddle/graph/optimizers/adam.hpp"
#include "heddle/graph/optimizers/sgd.hpp"

using namespace heddle;
using arrays::Array;
using own_optimizer::Averaged;
using own_optimizer::options;

TEST_CASE("a step of an own optimizer is the update of every element, and a shard steps as the whole") {
  CHECK(conformance::broken_law_of_optimizer<Averaged, EigenCompute>() == "");
}

TEST_CASE_TEMPLATE("position changes no bit: a shard of the arrays steps as the whole", O, SGD, MomentumSGD, Adam, AdamW, Averaged) {
  const std::int64_t n = 64;
  const Array whole(n, 1);
  const Array g(n, 2);
  const Array first(n, 3);
  const Array second(n, 4);
  for (std::int64_t i = 0; i < n; ++i) second[i] = std::abs(second[i]);
  const auto c = O::constants(options<O>(), 4);
  for (std::int64_t shift = 0; shift <= 48; shift += 7) {  // the same values in other lanes of a block
    const Array p(16);
    const Array gradient(16);
    const Array s0(16);
    const Array s1(16);
    for (std::int64_t i = 0; i < 16; ++i) {
      p[i] = whole[shift + i];
      gradient[i] = g[shift + i];
      s0[i] = first[shift + i];
      s1[i] = second[shift + i];
    }
    const Array all = whole;
    const Array all0 = first;
    const Array all1 = second;
    float* const states[] = {s0.data(), s1.data()};
    float* const all_states[] = {all0.data(), all1.data()};
    OptimizerKernel<O, EigenCompute>::step(c, 16, p.data(), gradient.data(), states);
    OptimizerKernel<O, EigenCompute>::step(c, n, all.data(), g.data(), all_states);
    CHECK(std::memcmp(p.data(), all.data() + shift, 64) == 0);
    CHECK(std::memcmp(s0.data(), all0.data() + shift, 64) == 0);
    CHECK(std::memcmp(s1.data(), all1.data() + shift, 64) == 0);
  }
}

TEST_CASE("roots of a register are correctly rounded") {
  const Array values(16, 1);
  for (int i = 0; i < 16; ++i) values[i] = std::abs(values[i]) * (i % 2 == 0 ? 1e-20F : 1e20F);
  values[3] = 0;
  for (int i = 0; i < 16; i += register_floats) {
    FloatRegister x;
    std::memcpy(&x, values.data() + i, sizeof x);
    const FloatRegister roots = square_roots(x);
    for (int lane = 0; lane < register_floats; ++lane) CHECK(roots[lane] == std::sqrt(values[i + lane]));
  }
}

TEST_CASE("Adam takes its roots a register at a time, an own optimizer its own way") {
  static_assert(TakesRootOfSecond<Adam> && TakesRootOfSecond<AdamW>);
  static_assert(!TakesRootOfSecond<Averaged> && !TakesRootOfSecond<SGD> && !TakesRootOfSecond<MomentumSGD>);
  CHECK(OptimizerDescription<Averaged>);
}
