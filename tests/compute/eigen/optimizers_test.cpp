// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/optimizers.hpp"

#include <doctest/doctest.h>

#include "compute/eigen/arrays.hpp"
#include "heddle/graph/optimizers/adam.hpp"
#include "heddle/graph/optimizers/sgd.hpp"

using namespace heddle;
using arrays::Array;

namespace {

/// A user's own optimizer of two states without a square root.
struct Averaged {
  static constexpr int states = 2;
  struct Options {
    double learning_rate = 0.5;
  };
  struct Constants {
    float learning_rate;
  };
  static constexpr std::string_view name() { return "Averaged"; }
  static Constants constants(const Options& o, std::int64_t) { return {static_cast<float>(o.learning_rate)}; }
  static void update(const Constants& c, float& parameter, float gradient, float& fast, float& slow) {
    fast = 0.5F * (fast + gradient);
    slow = 0.5F * (slow + fast);
    parameter -= c.learning_rate * slow;
  }
  static Diagnosis check(const Options&) { return {}; }
};

/// One element by the description's own function, as many states as it has.
template <class O> void update_one(const typename O::Constants& c, float& p, float g, float* s) {
  if constexpr (O::states == 0) O::update(c, p, g);
  if constexpr (O::states == 1) O::update(c, p, g, s[0]);
  if constexpr (O::states == 2) O::update(c, p, g, s[0], s[1]);
}

template <class O> typename O::Options options() {
  typename O::Options o;
  o.learning_rate = 0.01;
  if constexpr (requires { o.weight_decay; }) o.weight_decay = 0.1;
  return o;
}

}  // namespace

TEST_CASE_TEMPLATE("a step over an array is the update of every element", O, SGD, MomentumSGD, Adam, AdamW, Averaged) {
  for (const std::int64_t n : {0, 16, 48, 160}) {
    const Array p(n, 1);
    const Array first(n);
    const Array second(n);
    const Array expected = p;
    const Array states(2 * n);
    float* const arrays_of_states[] = {first.data(), second.data()};
    for (int step = 1; step <= 5; ++step) {
      const Array g(n, static_cast<std::uint32_t>(step + 1));
      const auto c = O::constants(options<O>(), step);
      OptimizerKernel<O, EigenCompute>::step(c, n, p.data(), g.data(), arrays_of_states);
      for (std::int64_t i = 0; i < n; ++i) update_one<O>(c, expected[i], g[i], states.data() + 2 * i);
    }
    // A compiler may fuse the two loops differently: about ten roundings of steps of at most 0.5, and one of the parameter, five times.
    for (std::int64_t i = 0; i < n; ++i) CHECK(std::abs(p[i] - expected[i]) <= 5 * (10 * 0.5F + 2) * static_cast<float>(arrays::unit_roundoff));
    CHECK(p.guarded());
    CHECK(first.guarded());
    CHECK(second.guarded());
  }
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

TEST_CASE("zero gradients and states leave the parameters: the padding of a unit stays zero") {
  const Array p(16);
  const Array g(16);
  const Array m(16);
  const Array v(16);
  float* const states[] = {m.data(), v.data()};
  for (int step = 1; step <= 3; ++step) OptimizerKernel<AdamW, EigenCompute>::step(AdamW::constants({}, step), 16, p.data(), g.data(), states);
  for (const Array* array : {&p, &m, &v}) CHECK(array->same_bits(Array(16)));
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
