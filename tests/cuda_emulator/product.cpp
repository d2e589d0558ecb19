// SPDX-License-Identifier: MIT
// Factors are first copied into float32, row index of the result first for one and k first for the other, so that the inner loop runs through memory.
#include "product.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "touch.hpp"

namespace cuda_emulator {
namespace {

// The GELU of cuBLASLt is the one with tanh.
constexpr float root_of_two_by_pi = 0.7978845608F;
constexpr float cubic = 0.044715F;
float gelu(float x) { return 0.5F * x * (1 + std::tanh(root_of_two_by_pi * (x + cubic * x * x * x))); }
float gelu_slope(float x) {
  const float t = std::tanh(root_of_two_by_pi * (x + cubic * x * x * x));
  return 0.5F * (1 + t) + 0.5F * x * (1 - t * t) * root_of_two_by_pi * (1 + 3 * cubic * x * x);
}

/// to (inner, outer): element (i, o) is at i + o * inner.
void copy_factor(const Matrix& from, std::int64_t batch, std::int64_t inner, std::int64_t outer, bool crosswise, bool tf32, float* to) {
  const std::int64_t begin = batch * from.batch_stride;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < inner; ++i) {
      const float x = load_number(from.numbers, from.type, begin + (crosswise ? o + i * from.pitch : i + o * from.pitch));
      to[i + o * inner] = tf32 ? rounded_to_tf32(x) : x;
    }
}
/// sums (m, columns) of a (m, k) and columns of b (k, n), share by share of k.
void multiply(const Product& p, const float* a, const float* b, std::int64_t columns, float* sums, float* share) {
  std::fill(sums, sums + columns * p.m, 0.0F);
  for (std::int64_t part = 0; part < p.parts; ++part) {
    std::fill(share, share + columns * p.m, 0.0F);
    for (std::int64_t at = part * p.k / p.parts; at < (part + 1) * p.k / p.parts; ++at) {
      const float* const row = a + at * p.m;
      for (std::int64_t column = 0; column < columns; ++column) {
        const float factor = b[at + column * p.k];
        float* const to = share + column * p.m;
        for (std::int64_t i = 0; i < p.m; ++i) to[i] += row[i] * factor;
      }
    }
    for (std::int64_t i = 0; i < columns * p.m; ++i) sums[i] += share[i];
    if (p.rounds_parts && p.d.type == CUDA_R_16BF)
      for (std::int64_t i = 0; i < columns * p.m; ++i) sums[i] = __bfloat162float(__float2bfloat16(sums[i]));
  }
}
bool bit(const Matrix& mask, std::int64_t at) { return (static_cast<const unsigned char*>(mask.numbers)[at / 8] >> (at % 8) & 1) != 0; }
void set_bit(const Matrix& mask, std::int64_t at, bool value) {
  unsigned char& byte = static_cast<unsigned char*>(mask.numbers)[at / 8];
  const auto one = static_cast<unsigned char>(1U << static_cast<unsigned>(at % 8));
  byte = static_cast<unsigned char>(value ? byte | one : byte & ~one);
}
/// What becomes of one sum before it is stored.
float after_epilogue(const Product& p, std::int64_t batch, std::int64_t row, std::int64_t column, float x) {
  const EpilogueSteps& steps = p.steps;
  const std::int64_t kept = batch * p.kept.batch_stride + row + column * p.kept.pitch;
  if (steps.bias) x += load_number(p.bias, p.bias_type, batch * p.bias_stride + row);
  if (steps.gelu) {
    if (steps.keeps) store_number(p.kept.numbers, p.kept.type, kept, x);
    return gelu(x);
  }
  if (steps.relu) {
    if (steps.keeps) set_bit(p.kept, kept, x > 0);
    return x > 0 || (p.relu_keeps_nan && x != x) ? x : 0;
  }
  if (steps.gelu_gradient) return x * gelu_slope(load_number(p.kept.numbers, p.kept.type, kept));
  if (steps.relu_gradient) return bit(p.kept, kept) ? x : 0;
  return x;
}
void one_of_batch(const Product& p, std::int64_t batch) {
  float* const a = p.scratch;
  float* const b = a + p.m * p.k;
  float* const sums = b + p.k * p.n;
  float* const share = sums + Product::columns_at_once * p.m;
  float* const row_sums = share + Product::columns_at_once * p.m;
  copy_factor(p.a, batch, p.m, p.k, p.a_transposed, p.tf32, a);
  copy_factor(p.b, batch, p.k, p.n, p.b_transposed, p.tf32, b);
  std::fill(row_sums, row_sums + p.m, 0.0F);
  for (std::int64_t first = 0; first < p.n; first += Product::columns_at_once) {
    const std::int64_t columns = std::min(Product::columns_at_once, p.n - first);
    multiply(p, a, b + first * p.k, columns, sums, share);
    for (std::int64_t column = first; column < first + columns; ++column)
      for (std::int64_t row = 0; row < p.m; ++row) {
        float x = p.scale * sums[row + (column - first) * p.m];
        if (p.add_scale != 0) x += p.add_scale * load_number(p.c.numbers, p.c.type, batch * p.c.batch_stride + row + column * p.c.pitch);
        x = after_epilogue(p, batch, row, column, x);
        row_sums[row] += x;
        store_number(p.d.numbers, p.d.type, batch * p.d.batch_stride + row + column * p.d.pitch, x);
      }
  }
  if (p.steps.bias_gradient)
    for (std::int64_t row = 0; row < p.m; ++row) store_number(p.bias, p.bias_type, batch * p.bias_stride + row, row_sums[row]);
  if (!p.steps.sums_of_a && !p.steps.sums_of_b) return;
  const std::int64_t length = p.steps.sums_of_a ? p.m : p.n;
  for (std::int64_t i = 0; i < length; ++i) {
    float sum = 0;
    for (std::int64_t at = 0; at < p.k; ++at) sum += p.steps.sums_of_a ? a[i + at * p.m] : b[at + i * p.k];
    store_number(p.bias, p.bias_type, batch * p.bias_stride + i, sum);
  }
}

}  // namespace

void touch_product(const Product& product) {
  // As if shares of sums went there: a workspace that two streams use at once is seen by the thread sanitizer, one that holds other things is spoilt.
  for (std::size_t i = 0; i < product.workspace_bytes / sizeof(float); ++i)
    static_cast<float*>(product.workspace)[i] = std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t batch = 0; batch < product.batches; ++batch) one_of_batch(product, batch);
}

}  // namespace cuda_emulator
