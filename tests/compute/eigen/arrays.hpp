// SPDX-License-Identifier: MIT
// Arrays for kernel tests: 64-byte aligned, with a guard behind the end, filled with numbers of either sign.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <iterator>
#include <limits>
#include <random>

namespace arrays {

inline constexpr double unit_roundoff = 0x1p-24;  // of float, round to nearest

/// Sum of n float products in any order, fused or not: |error| <= n u / (1 - n u) times the sum of magnitudes (Higham, sec. 3.1).
/// Two more roundings for what is there before and for the reference itself.
inline double dot_bound(std::int64_t n, double magnitudes) { return static_cast<double>(n + 2) * 1.01 * unit_roundoff * magnitudes; }

class Array {
 public:
  explicit Array(std::int64_t elements, std::uint32_t seed = 0, float fill = 0) : elements_(elements), data_(allocate(elements)) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (std::int64_t i = 0; i < elements; ++i) data_[i] = seed == 0 ? fill : uniform(generator);
    for (std::int64_t i = 0; i < guard; ++i) data_[elements + i] = sentinel;
  }
  Array(const Array& other) : Array(other.elements_) { std::memcpy(data_, other.data_, static_cast<std::size_t>(elements_) * sizeof(float)); }
  Array& operator=(const Array&) = delete;
  ~Array() { std::free(data_); }

  [[nodiscard]] float* data() const { return data_; }
  [[nodiscard]] std::int64_t elements() const { return elements_; }
  float& operator[](std::int64_t i) const { return data_[i]; }
  /// Nothing was written behind the end.
  [[nodiscard]] bool guarded() const {
    for (std::int64_t i = 0; i < guard; ++i)
      if (data_[elements_ + i] != sentinel) return false;
    return true;
  }
  [[nodiscard]] bool same_bits(const Array& other) const {
    return elements_ == other.elements_ && std::memcmp(data_, other.data_, static_cast<std::size_t>(elements_) * sizeof(float)) == 0;
  }

 private:
  static constexpr std::int64_t guard = 32;
  static constexpr float sentinel = 123456.75F;
  static float* allocate(std::int64_t elements) {
    return static_cast<float*>(std::aligned_alloc(64, static_cast<std::size_t>((elements + guard + 15) / 16 * 64)));
  }
  std::int64_t elements_;
  float* data_;
};

inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();

inline Array filled(std::initializer_list<float> values) {
  Array array{std::ssize(values)};
  std::int64_t i = 0;
  for (const float v : values) array[i++] = v;
  return array;
}

}  // namespace arrays
