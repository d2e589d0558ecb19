// SPDX-License-Identifier: MIT
// What matrix products promise, whoever makes them. The test that includes this says `using Products = ...` before, and counts allocations.
#pragma once

#include <doctest/doctest.h>

#include "arrays.hpp"
#include "heddle/compute/eigen/eigen.hpp"

using namespace heddle;
using arrays::Array;

namespace {

const Array workspace(EigenCompute::workspace.value / 4);

struct Case {
  std::int64_t m, n, k;
};

enum class Form : std::uint8_t { nt, nn, tn };
constexpr Form forms[] = {Form::nt, Form::nn, Form::tn};

void multiply(Form form, const Case& c, const float* a, const float* b, float* target, Into into) {
  if (form == Form::nt) Products::nt(c.m, c.n, c.k, a, b, target, into, workspace.data());
  if (form == Form::nn) Products::nn(c.m, c.n, c.k, a, b, target, into, workspace.data());
  if (form == Form::tn) Products::tn(c.m, c.n, c.k, a, b, target, into, workspace.data());
}

float left(Form form, const Case& c, const Array& a, std::int64_t i, std::int64_t l) { return form == Form::tn ? a[l * c.m + i] : a[i * c.k + l]; }
float right(Form form, const Case& c, const Array& b, std::int64_t l, std::int64_t j) { return form == Form::nt ? b[j * c.k + l] : b[l * c.n + j]; }

/// The largest error in units of its bound; at most 1 if the product is right.
double worst_error(Form form, const Case& c, const Array& a, const Array& b, const Array& before, const Array& got, Into into) {
  double worst = 0;
  for (std::int64_t i = 0; i < c.m; ++i) {
    for (std::int64_t j = 0; j < c.n; ++j) {
      double sum = into == Into::add ? static_cast<double>(before[i * c.n + j]) : 0;
      double magnitudes = std::abs(sum);
      for (std::int64_t l = 0; l < c.k; ++l) {
        const double term = static_cast<double>(left(form, c, a, i, l)) * static_cast<double>(right(form, c, b, l, j));
        sum += term;
        magnitudes += std::abs(term);
      }
      const double error = std::abs(static_cast<double>(got[i * c.n + j]) - sum);
      if (!(error <= arrays::dot_bound(c.k, magnitudes))) worst = std::max(worst, error / arrays::dot_bound(c.k, magnitudes));
    }
  }
  return worst;
}

void check_against_loops(const Case& c) {
  const Array a(c.m * c.k, 1);
  const Array b(c.k * c.n, 2);
  for (const Form form : forms) {
    for (const Into into : {Into::overwrite, Into::add}) {
      const Array before = into == Into::add ? Array(c.m * c.n, 3) : Array(c.m * c.n, 0, arrays::nan);  // overwriting must not read
      const Array got = before;
      multiply(form, c, a.data(), b.data(), got.data(), into);
      CAPTURE(c.m);
      CAPTURE(c.n);
      CAPTURE(c.k);
      CAPTURE(static_cast<int>(form));
      CHECK(worst_error(form, c, a, b, before, got, into) == 0);
      CHECK(got.guarded());
      CHECK(workspace.guarded());
    }
  }
}

}  // namespace

TEST_CASE("every form of product agrees with a loop in double within the bound of a dot product") {
  for (const std::int64_t m : {1, 2, 3, 16, 63, 64})
    for (const std::int64_t n : {1, 2, 5, 48, 50, 67})
      for (const std::int64_t k : {1, 3, 8, 31, 65}) check_against_loops({m, n, k});
}

TEST_CASE("products larger than every block agree as well") {
  check_against_loops({67, 301, 531});  // several blocks of depth and of rows
  check_against_loops({131, 9, 1100});
  check_against_loops({300, 1201, 67});  // left operand stays, target in several tiles
  check_against_loops({70, 4300, 19});   // left operand of several blocks, shallow
}

TEST_CASE("a product without terms is zero, without rows or columns it is nothing") {
  const Array nothing(1, 0, arrays::nan);
  for (const Form form : forms) {
    const Array target(12, 5);
    const Array before = target;
    multiply(form, {3, 4, 0}, nothing.data(), nothing.data(), target.data(), Into::add);
    CHECK(target.same_bits(before));
    multiply(form, {0, 4, 7}, nothing.data(), nothing.data(), target.data(), Into::overwrite);
    multiply(form, {4, 0, 7}, nothing.data(), nothing.data(), target.data(), Into::overwrite);
    CHECK(target.same_bits(before));
    multiply(form, {3, 4, 0}, nothing.data(), nothing.data(), target.data(), Into::overwrite);
    CHECK(target.same_bits(Array(12)));
  }
}

TEST_CASE("a product plus a row has the bits of the product added to a target that holds the row") {
  for (const Case& c : {Case{1, 1, 1}, Case{5, 67, 300}, Case{64, 50, 784}, Case{131, 9, 1100}, Case{70, 4300, 19}, Case{3, 20, 0}}) {
    const Array a(c.m * c.k + 1, 1);
    const Array b(c.k * c.n + 1, 2);
    const Array row(c.n, 3);
    const Array expected(c.m * c.n);
    for (std::int64_t i = 0; i < c.m; ++i) std::memcpy(expected.data() + i * c.n, row.data(), static_cast<std::size_t>(c.n) * sizeof(float));
    Products::nt(c.m, c.n, c.k, a.data(), b.data(), expected.data(), Into::add, workspace.data());
    const Array got(c.m * c.n, 0, arrays::nan);
    Products::nt_plus_row(c.m, c.n, c.k, a.data(), b.data(), row.data(), got.data(), workspace.data());
    CAPTURE(c.m);
    CAPTURE(c.n);
    CAPTURE(c.k);
    CHECK(got.same_bits(expected));
    CHECK(got.guarded());
  }
}

TEST_CASE("addresses change no bit") {
  for (const Case& c : {Case{63, 50, 300}, Case{5, 77, 41}}) {
    for (const Form form : forms) {
      const Array a(c.m * c.k + 16, 1);
      const Array b(c.k * c.n + 16, 2);
      const Array expected(c.m * c.n);
      multiply(form, c, a.data(), b.data(), expected.data(), Into::overwrite);
      for (const int shift : {1, 3, 8}) {
        std::memmove(a.data() + shift, a.data() + (shift == 1 ? 0 : shift == 3 ? 1 : 3), static_cast<std::size_t>(c.m * c.k) * 4);
        std::memmove(b.data() + shift, b.data() + (shift == 1 ? 0 : shift == 3 ? 1 : 3), static_cast<std::size_t>(c.k * c.n) * 4);
        const Array shifted(c.m * c.n + 16);
        multiply(form, c, a.data() + shift, b.data() + shift, shifted.data() + shift, Into::overwrite);
        CHECK(std::memcmp(shifted.data() + shift, expected.data(), static_cast<std::size_t>(c.m * c.n) * 4) == 0);
      }
    }
  }
}

TEST_CASE("what another product left in the workspace changes no bit") {
  const Case c{17, 35, 90};
  const Array a(c.m * c.k, 1);
  const Array b(c.k * c.n, 2);
  for (const Form form : forms) {
    const Array first(c.m * c.n);
    const Array second(c.m * c.n);
    for (std::int64_t i = 0; i < workspace.elements(); ++i) workspace[i] = 0;
    multiply(form, c, a.data(), b.data(), first.data(), Into::overwrite);
    for (std::int64_t i = 0; i < workspace.elements(); ++i) workspace[i] = arrays::nan;
    multiply(form, c, a.data(), b.data(), second.data(), Into::overwrite);
    CHECK(first.same_bits(second));
  }
}

TEST_CASE("no product allocates") {
  const Case c{300, 1201, 67};
  const Array a(c.m * c.k, 1);
  const Array b(c.k * c.n, 2);
  const Array target(c.m * c.n);
  Eigen::internal::set_is_malloc_allowed(false);
  counted_allocations::eigen_failed = false;
  const long before = counted_allocations::count;
  for (const Form form : forms) multiply(form, c, a.data(), b.data(), target.data(), Into::overwrite);
  const long after = counted_allocations::count;
  Eigen::internal::set_is_malloc_allowed(true);
  CHECK(after == before);
  CHECK_FALSE(counted_allocations::eigen_failed);
}
