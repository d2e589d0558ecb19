// SPDX-License-Identifier: MIT
// Compiled with -ffast-math: what the compiler takes for impossible is refused all the same. Bits may differ from those of other builds.
#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "heddle/backend/cpu_threads.hpp"
#include "heddle/io/idx.hpp"

using namespace heddle;

namespace {

static_assert(finite_math_only, "this test is about -ffast-math");

// Made where no compiler can see what they are.
volatile std::uint32_t bits_of_nan = 0xffc00000U;
volatile std::uint32_t bits_of_infinity = 0x7f800000U;
volatile std::uint64_t wide_nan = 0x7ff8000000000000U;
volatile std::uint64_t wide_infinity = 0x7ff0000000000000U;
void put(float& at, volatile std::uint32_t& bits) {
  const std::uint32_t now = bits;
  std::memcpy(&at, &now, sizeof at);
}
void put(double& at, volatile std::uint64_t& bits) {
  const std::uint64_t now = bits;
  std::memcpy(&at, &now, sizeof at);
}

template <class Hidden> struct Mlp : Sequential<Linear<6, 8>, Hidden, Linear<8, 4>> {};
template <class Hidden, class... Parts> using Of = Plan<Mlp<Hidden>, CrossEntropy, SGD, Batch<16>, Parts...>;

struct Rows {
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  explicit Rows(float scale = 1) {
    for (int i = 0; i < 16; ++i) {
      for (int j = 0; j < 6; ++j) inputs.push_back(scale * static_cast<float>((37 * i + 101 * j + i * j) % 127) / 128.0F);
      labels.push_back((7 * i + 3) % 4);
    }
  }
  [[nodiscard]] Examples<std::int32_t> batch() const { return examples(inputs, labels, 6); }
};

template <class Action> std::string refused(Code code, Action action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK((error.code() == code));
    return error.what();
  }
  FAIL("nothing was refused");
  return "";
}
template <class Trained> bool all_finite(Trained& trainer) {
  for (const std::string& name : trainer.parameter_names())
    for (const float& value : trainer.parameter(name))
      if (!is_finite(value)) return false;
  return true;
}

template <class ThePlan> void refuse_rows(std::initializer_list<volatile std::uint32_t*> what) {
  for (auto* const bits : what) {
    Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 0.1}, Seed{1}};
    Rows rows;
    put(rows.inputs[7], *bits);
    const std::uint64_t before = trainer.parameter_hash();
    CHECK(refused({'R', 2}, [&] { trainer.step(rows.batch()); }).find("the input has such a value in row 1, feature 1") != std::string::npos);
    refused({'R', 2}, [&] { (void)trainer.evaluate(rows.batch()); });
    CHECK(trainer.parameter_hash() == before);
    trainer.step(Rows{}.batch());
    CHECK(all_finite(trainer));
  }
}

float quotient(float a, float b) { return a / b; }

}  // namespace

TEST_CASE("what is computed, handed over or returned is asked of its bits") {
  volatile float zero = 0;
  CHECK_FALSE(is_finite(quotient(zero, zero)));
  CHECK(is_nan(quotient(zero, zero)));
  CHECK_FALSE(is_finite(1 / quotient(zero, 1)));
  CHECK(is_finite(quotient(zero, 1)));
}

TEST_CASE("a row with NaN or infinity is refused, on one rank and on several") {
  refuse_rows<Of<Tanh, Single>>({&bits_of_nan});  // tanh of infinity is 1
  refuse_rows<Of<GELU, Single>>({&bits_of_nan});
  refuse_rows<Of<Sigmoid, Single>>({&bits_of_nan});
  refuse_rows<Of<ReLU, DataParallel<2>>>({&bits_of_nan, &bits_of_infinity});
}

TEST_CASE("gradients that overflow under the scale of the loss are skipped, and a norm that is not finite is refused") {
  Trainer<Of<ReLU, DataParallel<2>, LossScaling>, CpuThreads> scaled{{.learning_rate = 0.1}, Seed{1}};
  scaled.loss_scale().init_scale = 8e37;
  Rows large{1e3F};
  const std::uint64_t before = scaled.parameter_hash();
  const StepResult result = scaled.step(large.batch());
  CHECK((result.skipped && scaled.parameter_hash() == before && all_finite(scaled)));
  Trainer<Of<ReLU, Single, Clip<GlobalNorm>>, CpuThreads> clipped{{.learning_rate = 0.1}, Seed{1}};
  Rows huge{1e30F};
  refused({'R', 2}, [&] { clipped.step(huge.batch()); });
  CHECK(all_finite(clipped));
}

TEST_CASE("options that are no numbers are refused") {
  Trainer<Of<Tanh, Single, Clip<GlobalNorm>, LossScaling>, CpuThreads> trainer{{.learning_rate = 0.1}, Seed{1}};
  const auto step = [&] { trainer.step(Rows{}.batch()); };
  put(trainer.clip().max_norm, wide_nan);
  CHECK(refused({'O', 1}, step).find("max_norm is ") != std::string::npos);
  trainer.clip() = {};
  for (auto* const bits : {&wide_nan, &wide_infinity}) {
    put(trainer.optimizer().learning_rate, *bits);
    CHECK(refused({'O', 1}, step).find("learning_rate") != std::string::npos);
    trainer.optimizer() = {};
    for (double* const option : {&trainer.loss_scale().init_scale, &trainer.loss_scale().growth_factor, &trainer.loss_scale().backoff_factor}) {
      put(*option, *bits);
      refused({'O', 1}, step);
      trainer.loss_scale() = {};
    }
  }
  float scale = 1;
  put(scale, bits_of_nan);
  refused({'O', 1}, [&] { trainer.loss_scale().set_scale(scale); });
  CHECK_NOTHROW(step());
  for (auto* const bits : {&wide_nan, &wide_infinity}) {
    MomentumSGD::Options momentum;
    put(momentum.dampening, *bits);
    CHECK_FALSE(MomentumSGD::check(momentum).ok());
    Adam::Options adam;
    put(adam.beta2, *bits);
    CHECK_FALSE(Adam::check(adam).ok());
  }
}

TEST_CASE("a pixel becomes the same float as without -ffast-math") {
  CHECK(std::bit_cast<std::uint32_t>(shade_of[3]) == 0x3c40c0c1U);
  CHECK((shade_of[0] == 0 && shade_of[255] == 1));
}
