// SPDX-License-Identifier: MIT
// Of own_parts.cu: parts of one's own that run on the cores and on a card. HEDDLE_HOST_DEVICE stands before each function that both call.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/compute/cuda/cuda.hpp>
#include <heddle/heddle.hpp>
#include <string_view>

using namespace heddle;
using namespace heddle::extending;

struct Swish {
  static constexpr Leaf describe(Spec in) { return elementwise("Swish", in, /*flops per element*/ 5); }
  HEDDLE_HOST_DEVICE static float forward(float x) { return x / (1 + std::exp(-x)); }
  HEDDLE_HOST_DEVICE static float backward(float x, float gradient) {
    const float s = 1 / (1 + std::exp(-x));
    return gradient * s * (1 + x * (1 - s));
  }
};

/// A row divided by its length.
struct UnitLength {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "UnitLength";
    leaf.spelled << "UnitLength";
    leaf.in = leaf.out = in;
    leaf.forward_flops = 3 * in.elements();
    leaf.backward_flops = 6 * in.elements();
    return leaf;
  }
  HEDDLE_HOST_DEVICE static float over_length(const float* x, std::int64_t n) {
    float squares = 1e-6F;
    for (std::int64_t i = 0; i < n; ++i) squares += x[i] * x[i];
    return 1 / std::sqrt(squares);
  }
  HEDDLE_HOST_DEVICE static void make(const float* x, float* y, std::int64_t n) {
    const float scale = over_length(x, n);
    for (std::int64_t i = 0; i < n; ++i) y[i] = scale * x[i];
  }
  HEDDLE_HOST_DEVICE static void pull_back(const float* x, const float* dy, float* dx, std::int64_t n) {
    const float scale = over_length(x, n);
    float along = 0;
    for (std::int64_t i = 0; i < n; ++i) along += scale * x[i] * dy[i];
    for (std::int64_t i = 0; i < n; ++i) dx[i] = scale * (dy[i] - along * scale * x[i]);
  }
};

template <> struct heddle::Kernel<UnitLength, EigenCompute> {
  static void forward(const ForwardCall& call) {
    const std::int64_t n = call.leaf->in.elements();
    for (std::int64_t row = 0; row < call.rows; ++row) UnitLength::make(call.input + row * n, call.output + row * n, n);
  }
  static void backward(const BackwardCall& call) {
    const std::int64_t n = call.leaf->in.elements();
    for (std::int64_t row = 0; row < call.rows && call.input_gradient != nullptr; ++row)
      UnitLength::pull_back(call.input + row * n, call.output_gradient + row * n, call.input_gradient + row * n, n);
  }
};

/// A thread has a row.
struct UnitLengthForward {
  static constexpr const char* name = "UnitLengthForward";
  static constexpr bool cooperative = false;  // no thread waits for another one
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& block, std::int64_t rows, std::int64_t n, const float* x, float* y) const {
    const std::int64_t row = first_of_thread<1>(block);
    if (row < rows) UnitLength::make(x + row * n, y + row * n, n);
  }
};
struct UnitLengthBackward {
  static constexpr const char* name = "UnitLengthBackward";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& block, std::int64_t rows, std::int64_t n, const float* x, const float* dy, float* dx) const {
    const std::int64_t row = first_of_thread<1>(block);
    if (row < rows) UnitLength::pull_back(x + row * n, dy + row * n, dx + row * n, n);
  }
};
template <std::derived_from<CudaCompute> C> struct heddle::Kernel<UnitLength, C> {
  static void forward(const ForwardCallIn<CudaMemory>& call) {
    launch<UnitLengthForward>(call.space.queue->stream, extents_of(call.rows), call.rows, call.leaf->in.elements(), call.input, call.output);
  }
  static void backward(const BackwardCallIn<CudaMemory>& call) {
    if (call.input_gradient == nullptr) return;
    launch<UnitLengthBackward>(call.space.queue->stream, extents_of(call.rows), call.rows, call.leaf->in.elements(), call.input, call.output_gradient,
                               call.input_gradient);
  }
};

/// log(cosh(x - target)), mean over rows and features: a square near 0, a distance far from it.
struct LogCosh : MeanOverElements<LogCosh> {
  static constexpr std::string_view name() { return "LogCosh"; }
  HEDDLE_HOST_DEVICE static double loss(float x, float target) {
    const double off = std::fabs(static_cast<double>(x) - static_cast<double>(target));
    return off + std::log1p(std::exp(-2 * off)) - std::log(2.0);
  }
  HEDDLE_HOST_DEVICE static float slope(float x, float target) { return std::tanh(x - target); }
};

/// p -= learning_rate g / (|g| + 0.01): steps of nearly one length, which end where the gradient does.
struct SoftSign {
  static constexpr int states = 0;
  struct Options {
    double learning_rate = 1e-3;
  };
  struct Constants {
    float learning_rate;
  };
  static constexpr std::string_view name() { return "SoftSign"; }
  static Constants constants(const Options& o, std::int64_t /*step*/) { return {static_cast<float>(o.learning_rate)}; }
  HEDDLE_HOST_DEVICE static void update(const Constants& c, float& parameter, float gradient) {
    parameter -= c.learning_rate * gradient / (std::fabs(gradient) + 0.01F);
  }
  static Diagnosis check(const Options& o) {
    if (o.learning_rate >= 0) return {};
    return Diagnosis{Code{'O', 1}, "SoftSign"} << " takes a learning_rate from 0. Fix: use 0.001.";
  }
};
