// SPDX-License-Identifier: MIT
// Arrays of field elements for the tests of its kernels.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "heddle/compute/field/field.hpp"

namespace in_field {

using namespace heddle;

/// Elements that look random, from a number on.
[[nodiscard]] inline std::vector<float> elements(std::int64_t count, std::uint64_t from = 1) {
  std::vector<float> all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back(Field::write((from + static_cast<std::uint64_t>(i)) * 1103515245 * 12345 % Field::modulus));
  return all;
}
[[nodiscard]] inline std::vector<std::uint64_t> residues(const std::vector<float>& values) {
  std::vector<std::uint64_t> all;
  for (const float v : values) all.push_back(Field::read(v));
  return all;
}
[[nodiscard]] inline bool same(const std::vector<float>& a, const std::vector<float>& b) { return residues(a) == residues(b); }
/// Degree 1 everywhere.
[[nodiscard]] inline std::vector<float> variables(std::int64_t count) { return std::vector<float>(static_cast<std::size_t>(count), Field::write(1)); }

/// Another draw while it lives.
struct Drawn {
  explicit Drawn(std::uint64_t key, FieldMode mode = FieldMode::values) : before(field_draw) {
    field_draw = {key, mode, 0};
    (void)field_census.take();
  }
  ~Drawn() { field_draw = before; }
  FieldDraw before;
};

}  // namespace in_field
