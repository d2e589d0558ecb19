// SPDX-License-Identifier: MIT
// One query after another: its scores, its weights, and then what is made of them.
#include "attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace cuda_emulator {
namespace {

float load(const AttentionTensor& from, std::int64_t n, std::int64_t head, std::int64_t position, std::int64_t feature) {
  return load_number(from.numbers, from.type, from.at(n, head, position, feature));
}
void store(const AttentionTensor& to, std::int64_t n, std::int64_t head, std::int64_t position, std::int64_t feature, float x) {
  store_number(to.numbers, to.type, to.at(n, head, position, feature), x);
}
float rounded(float x) { return __bfloat162float(__float2bfloat16(x)); }

/// Of one sequence and one head of keys and values.
struct Head {
  const Attention& a;
  std::int64_t n, head;
  [[nodiscard]] std::int64_t keys() const { return a.k.sizes[2]; }
  [[nodiscard]] std::int64_t features() const { return a.k.sizes[3]; }

  [[nodiscard]] float score(std::int64_t query_head, std::int64_t i, std::int64_t j) const {
    float sum = 0;
    for (std::int64_t f = 0; f < features(); ++f) sum += load(a.q, n, query_head, i, f) * load(a.k, n, head, j, f);
    return a.scale * sum;
  }
  void forward(std::int64_t query_head, std::int64_t i) const {
    float* const weights = a.scratch;
    float most = -std::numeric_limits<float>::infinity(), sum = 0;
    for (std::int64_t j = 0; j < keys(); ++j) most = std::max(most, weights[j] = score(query_head, i, j));
    for (std::int64_t j = 0; j < keys(); ++j) sum += weights[j] = std::exp(weights[j] - most);
    for (std::int64_t f = 0; f < features(); ++f) {
      float made = 0;
      for (std::int64_t j = 0; j < keys(); ++j) made += rounded(weights[j]) * load(a.v, n, head, j, f);
      store(a.o, n, query_head, i, f, made / sum);
    }
    if (a.log_sums.numbers != nullptr) store(a.log_sums, n, query_head, i, 0, most + std::log(sum));
  }
  void backward(std::int64_t query_head, std::int64_t i) const {
    float* const slopes = a.scratch + keys();
    float* const dk = slopes + keys();
    float* const dv = dk + keys() * features();
    float along = 0;
    for (std::int64_t f = 0; f < features(); ++f) along += load(a.dout, n, query_head, i, f) * load(a.o, n, query_head, i, f);
    for (std::int64_t j = 0; j < keys(); ++j) {
      const float weight = std::exp(score(query_head, i, j) - load(a.log_sums, n, query_head, i, 0));
      float of_weight = 0;
      for (std::int64_t f = 0; f < features(); ++f) of_weight += load(a.dout, n, query_head, i, f) * load(a.v, n, head, j, f);
      slopes[j] = rounded(weight * (of_weight - along) * a.scale);
      for (std::int64_t f = 0; f < features(); ++f) {
        dv[j * features() + f] += rounded(weight) * load(a.dout, n, query_head, i, f);
        dk[j * features() + f] += slopes[j] * load(a.q, n, query_head, i, f);
      }
    }
    for (std::int64_t f = 0; f < features(); ++f) {
      float made = 0;
      for (std::int64_t j = 0; j < keys(); ++j) made += slopes[j] * load(a.k, n, head, j, f);
      store(a.dq, n, query_head, i, f, made);
    }
  }
  void all() const {
    float* const sums = a.scratch + 2 * keys();
    std::fill_n(sums, 2 * keys() * features(), 0.0F);
    const std::int64_t shared_by = a.q.sizes[1] / a.k.sizes[1];
    for (std::int64_t h = head * shared_by; h < (head + 1) * shared_by; ++h)
      for (std::int64_t i = 0; i < a.q.sizes[2]; ++i) a.backward ? backward(h, i) : forward(h, i);
    if (!a.backward) return;
    for (std::int64_t j = 0; j < keys(); ++j)
      for (std::int64_t f = 0; f < features(); ++f) {
        store(a.dk, n, head, j, f, sums[j * features() + f]);
        store(a.dv, n, head, j, f, sums[(keys() + j) * features() + f]);
      }
  }
};

}  // namespace

void touch_attention(const Attention& of) {
  for (std::size_t i = 0; i < of.workspace_bytes / sizeof(float); ++i) static_cast<float*>(of.workspace)[i] = std::numeric_limits<float>::quiet_NaN();
  for (std::int64_t n = 0; n < of.q.sizes[0]; ++n)
    for (std::int64_t head = 0; head < of.k.sizes[1]; ++head) Head{of, n, head}.all();
}

}  // namespace cuda_emulator
