// SPDX-License-Identifier: MIT
#include "compute/eigen/counted_allocations.hpp"

#include <doctest/doctest.h>

#include "compute/eigen/arrays.hpp"
#include "heddle/compute/eigen/linear.hpp"

using namespace heddle;
using arrays::Array;

namespace {

const Array workspace(EigenCompute::workspace.value / 4);

/// One layer with random operands; `rows` samples of `vectors` vectors each.
struct Bench {
  Leaf leaf;
  std::int64_t rows, n, in, out;  // n vectors in all
  Array x, w, b, y, dy, dx, dw, db;

  Bench(const Leaf& described, std::int64_t samples)
      : leaf(described), rows(samples), n(samples * leaf.in.elements() / leaf.in.shape.last()), in(leaf.in.shape.last()), out(leaf.out.shape.last()),
        x(n * in, 1), w(out * in, 2), b(out, 3), y(n * out, 0, arrays::nan), dy(n * out, 4), dx(n * in, 0, arrays::nan), dw(out * in, 5), db(out, 6) {
  }

  template <class L> void forward() {
    const float* const parameters[] = {w.data(), b.data()};
    Kernel<L, EigenCompute>::forward({&leaf, rows, x.data(), y.data(), parameters, workspace.data()});
  }
  template <class L> void backward(bool add, bool wants_input_gradient = true, bool wants_parameter_gradients = true) {
    const float* const parameters[] = {w.data(), b.data()};
    float* const gradients[] = {dw.data(), db.data()};
    Kernel<L, EigenCompute>::backward({&leaf, rows, x.data(), nullptr, dy.data(), wants_input_gradient ? dx.data() : nullptr, parameters,
                                       wants_parameter_gradients ? gradients : nullptr, add, workspace.data()});
  }
};

/// A sum in double with its magnitudes; got is right if it lies within the bound of a dot product.
struct Sum {
  double value = 0;
  double magnitudes = 0;
  std::int64_t terms = 0;
  void add(double term) {
    value += term;
    magnitudes += std::abs(term);
    ++terms;
  }
  [[nodiscard]] bool agrees(float got) const { return std::abs(static_cast<double>(got) - value) <= arrays::dot_bound(terms, magnitudes); }
};

double exactly(float a, float b) { return static_cast<double>(a) * static_cast<double>(b); }

template <class L> std::int64_t wrong_outputs(Bench& t) {
  t.forward<L>();
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < t.n; ++i)
    for (std::int64_t o = 0; o < t.out; ++o) {
      Sum sum;
      if (L::has_bias) sum.add(static_cast<double>(t.b[o]));
      for (std::int64_t k = 0; k < t.in; ++k) sum.add(exactly(t.x[i * t.in + k], t.w[o * t.in + k]));
      wrong += sum.agrees(t.y[i * t.out + o]) ? 0 : 1;
    }
  return wrong;
}

template <class L> std::int64_t wrong_gradients(Bench& t, bool add) {
  const Array dw0 = t.dw;
  const Array db0 = t.db;
  t.backward<L>(add);
  std::int64_t wrong = 0;
  for (std::int64_t o = 0; o < t.out; ++o) {
    Sum bias;
    if (add) bias.add(static_cast<double>(db0[o]));
    for (std::int64_t i = 0; i < t.n; ++i) bias.add(static_cast<double>(t.dy[i * t.out + o]));
    wrong += L::has_bias ? (bias.agrees(t.db[o]) ? 0 : 1) : (t.db[o] == db0[o] ? 0 : 1);
    for (std::int64_t k = 0; k < t.in; ++k) {
      Sum weight;
      if (add) weight.add(static_cast<double>(dw0[o * t.in + k]));
      for (std::int64_t i = 0; i < t.n; ++i) weight.add(exactly(t.dy[i * t.out + o], t.x[i * t.in + k]));
      wrong += weight.agrees(t.dw[o * t.in + k]) ? 0 : 1;
    }
  }
  for (std::int64_t i = 0; i < t.n; ++i)
    for (std::int64_t k = 0; k < t.in; ++k) {
      Sum input;
      for (std::int64_t o = 0; o < t.out; ++o) input.add(exactly(t.dy[i * t.out + o], t.w[o * t.in + k]));
      wrong += input.agrees(t.dx[i * t.in + k]) ? 0 : 1;
    }
  return wrong;
}

template <class L> void check_layer(const Spec& in) {
  constexpr std::int64_t row_counts[] = {0, 1, 2, 3, 16, 63, 64};
  for (const std::int64_t rows : row_counts) {
    CAPTURE(rows);
    CAPTURE(L::describe(in).spelled.chars);
    Bench t(L::describe(in), rows);
    REQUIRE(t.leaf.fault.ok());
    CHECK(wrong_outputs<L>(t) == 0);
    CHECK(wrong_gradients<L>(t, false) == 0);
    CHECK(wrong_gradients<L>(t, true) == 0);
    for (const Array* array : {&t.x, &t.w, &t.b, &t.y, &t.dy, &t.dx, &t.dw, &t.db}) CHECK(array->guarded());
    CHECK(workspace.guarded());
  }
}

}  // namespace

TEST_CASE("output and all three gradients agree with loops in double, for any rows, with and without bias") {
  check_layer<Linear<1, 1>>(Spec{Shape{1}});
  check_layer<Linear<7, 3>>(Spec{Shape{7}});
  check_layer<Linear<7, 3, NoBias>>(Spec{Shape{7}});
  check_layer<Linear<50, 10>>(Spec{Shape{50}});
  check_layer<Linear<301, 67>>(Spec{Shape{301}});
  check_layer<Linear<67, 131, NoBias>>(Spec{Shape{67}});
}

TEST_CASE("leading dimensions are more rows") {
  check_layer<Linear<13, 17>>(Spec{Shape{5, 13}});
  check_layer<Linear<13, 17, NoBias>>(Spec{Shape{2, 3, 13}});
}

TEST_CASE("without rows the parameter gradients are zero, or stay where they are added to") {
  using L = Linear<5, 4>;
  Bench t(L::describe(Spec{Shape{5}}), 0);
  const Array dw = t.dw;
  const Array db = t.db;
  t.backward<L>(true);
  CHECK(t.dw.same_bits(dw));
  CHECK(t.db.same_bits(db));
  t.backward<L>(false);
  CHECK(t.dw.same_bits(Array(20)));
  CHECK(t.db.same_bits(Array(4)));
}

TEST_CASE("the gradient of the input is left out where nobody needs it") {
  using L = Linear<5, 4>;
  Bench t(L::describe(Spec{Shape{5}}), 3);
  const Array untouched = t.dx;
  t.backward<L>(false, false);
  CHECK(t.dx.same_bits(untouched));
}

TEST_CASE("each gradient alone has the bits that it has in one call, overwritten or added to") {
  using L = Linear<13, 7>;
  for (const bool add : {false, true}) {
    Bench whole(L::describe(Spec{Shape{13}}), 11);
    Bench parts(L::describe(Spec{Shape{13}}), 11);
    whole.backward<L>(add);
    const Array dw = parts.dw;
    parts.backward<L>(add, true, false);
    CHECK(parts.dw.same_bits(dw));
    const Array dx = parts.dx;
    parts.backward<L>(add, false, true);
    CHECK(parts.dx.same_bits(dx));
    CHECK(parts.dx.same_bits(whole.dx));
    CHECK(parts.dw.same_bits(whole.dw));
    CHECK(parts.db.same_bits(whole.db));
  }
}

TEST_CASE("finite differences of the kernel's own forward give its gradients") {
  using L = Linear<9, 6>;
  Bench t(L::describe(Spec{Shape{9}}), 4);
  t.backward<L>(false);
  const auto objective = [&] {  // sum dy y
    t.forward<L>();
    double sum = 0;
    for (std::int64_t i = 0; i < t.y.elements(); ++i) sum += exactly(t.dy[i], t.y[i]);
    return sum;
  };
  // The layer is linear, so a step of 1/2 has no truncation error; each of the 24 outputs (at most 11 terms below 2) rounds within 22 x 12 u.
  const double bound = 24 * 22 * 12 * arrays::unit_roundoff;
  const auto check = [&](const Array& variable, const Array& gradient) {
    for (std::int64_t i = 0; i < variable.elements(); ++i) {
      const float kept = variable[i];
      variable[i] = kept + 0.5F;
      const double above = objective();
      const float width = variable[i] - kept;
      variable[i] = kept;
      CHECK(std::abs((above - objective()) / static_cast<double>(width) - static_cast<double>(gradient[i])) <= 4 * bound);
    }
  };
  check(t.x, t.dx);
  check(t.w, t.dw);
  check(t.b, t.db);
}

TEST_CASE("the gradient of the bias is summed in the order of the rows") {
  const Array dy(3);  // (3, 1)
  dy[0] = 1e8F;
  dy[1] = 1.0F;
  dy[2] = -1e8F;
  const Array db(1);
  column_sums(3, 1, dy.data(), db.data(), Into::overwrite);
  CHECK(db[0] == 0.0F);  // (1e8 + 1) - 1e8 in float; any other order gives 1
}

TEST_CASE("neither direction allocates") {
  using L = Linear<301, 67>;
  Bench t(L::describe(Spec{Shape{301}}), 64);
  Eigen::internal::set_is_malloc_allowed(false);
  counted_allocations::eigen_failed = false;
  const long before = counted_allocations::count;
  t.forward<L>();
  t.backward<L>(false);
  const long after = counted_allocations::count;
  Eigen::internal::set_is_malloc_allowed(true);
  CHECK(after == before);
  CHECK_FALSE(counted_allocations::eigen_failed);
}

namespace {
struct BrokenCompute : EigenCompute {};
}  // namespace
template <> struct heddle::Kernel<Linear<2, 2>, BrokenCompute> {
  static void forward(const ForwardCall& call) { call.output[0] = 42; }
  static void backward(const BackwardCall&) {}
};

TEST_CASE("what derives from EigenCompute has its kernels and may replace one") {
  Bench t(Linear<2, 2>::describe(Spec{Shape{2}}), 1);
  Bench other(Linear<2, 3>::describe(Spec{Shape{2}}), 1);
  const float* const parameters[] = {t.w.data(), t.b.data()};
  Kernel<Linear<2, 2>, BrokenCompute>::forward({&t.leaf, 1, t.x.data(), t.y.data(), parameters, workspace.data()});
  CHECK(t.y[0] == 42.0F);
  const float* const others[] = {other.w.data(), other.b.data()};
  Kernel<Linear<2, 3>, BrokenCompute>::forward({&other.leaf, 1, other.x.data(), other.y.data(), others, workspace.data()});
  const Array inherited = other.y;
  other.forward<Linear<2, 3>>();
  CHECK(other.y.same_bits(inherited));
}
