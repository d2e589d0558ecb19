// SPDX-License-Identifier: MIT
#include "compute/eigen/counted_allocations.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "compute/eigen/arrays.hpp"
#include "heddle/compute/eigen/elementwise.hpp"
#include "heddle/compute/eigen/linear.hpp"
#include "heddle/graph/layers/gelu.hpp"

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
  template <class L> void backward() {
    const float* const parameters[] = {w.data(), b.data()};
    float* const gradients[] = {dw.data(), db.data()};
    Kernel<L, EigenCompute>::backward({&leaf, rows, x.data(), nullptr, dy.data(), dx.data(), parameters, gradients, false, workspace.data()});
  }
};

double exactly(float a, float b) { return static_cast<double>(a) * static_cast<double>(b); }

}  // namespace

TEST_CASE("finite differences of the kernel's own forward give its gradients") {
  using L = Linear<9, 6>;
  Bench t(L::describe(Spec{Shape{9}}), 4);
  t.backward<L>();
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
  t.backward<L>();
  const long after = counted_allocations::count;
  Eigen::internal::set_is_malloc_allowed(true);
  CHECK(after == before);
  CHECK_FALSE(counted_allocations::eigen_failed);
  CHECK(workspace.guarded());
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

namespace {
/// A tail that counts how often it is given each element, and that it has been made.
struct Visits {
  static inline std::vector<int> times;
  static inline bool made = true;
  static void run(const Tail& tail, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      ++times[static_cast<std::size_t>(i)];
      made = made && !std::isnan(tail.made[i]);
    }
    Kernel<GELU, EigenCompute>::forward_in_tail(tail, begin, end);
  }
  static bool each_once(std::int64_t elements) {
    return made && std::ssize(times) == elements && std::all_of(times.begin(), times.end(), [](int n) { return n == 1; });
  }
};

template <class L> void runs_tail(const Shape& shape, std::int64_t rows) {
  Bench t(L::describe(Spec{shape}), rows);
  const Leaf gelu = GELU::describe(t.leaf.out), before = GELU::describe(t.leaf.in);
  const float* const parameters[] = {t.w.data(), t.b.data()};
  // forward: the value between kept, or not
  t.forward<L>();
  const Array apart(t.n * t.out), between = t.y;
  Kernel<GELU, EigenCompute>::forward({&gelu, rows, t.y.data(), apart.data(), nullptr, nullptr});
  const Array beside(t.n * t.out, 0, arrays::nan), made(t.n * t.out, 0, arrays::nan), in_place(t.n * t.out, 0, arrays::nan);
  for (const Array* const to : {&beside, &in_place}) {
    const float* const keeps = to == &beside ? made.data() : to->data();
    Visits::times.assign(static_cast<std::size_t>(t.n * t.out), 0);
    Kernel<L, EigenCompute>::forward_with_tail({&t.leaf, rows, t.x.data(), const_cast<float*>(keeps), parameters, workspace.data()},
                                               {&gelu, keeps, to->data(), nullptr, &Visits::run});
    CHECK(Visits::each_once(t.n * t.out));
    CHECK(to->same_bits(apart));
  }
  CHECK(made.same_bits(between));
  // backward: that of a function before this layer
  t.backward<L>();
  const Array gradient = t.dx, weights = t.dw;
  Kernel<GELU, EigenCompute>::backward({&before, rows, t.x.data(), nullptr, t.dx.data(), t.dx.data(), nullptr, nullptr, false, nullptr});
  const Array dx(t.n * t.in, 0, arrays::nan);
  float* const gradients[] = {t.dw.data(), t.db.data()};
  Kernel<L, EigenCompute>::backward_with_tail(
      {&t.leaf, rows, t.x.data(), nullptr, t.dy.data(), dx.data(), parameters, gradients, false, workspace.data()},
      {&before, dx.data(), dx.data(), t.x.data(), &Kernel<GELU, EigenCompute>::backward_in_tail});
  CHECK(dx.same_bits(t.dx));
  CHECK(t.dw.same_bits(weights));
  CHECK(dx.guarded());
}
}  // namespace

TEST_CASE("a tail is given each element once, when it is final, and leaves the bits of two kernels") {
  runs_tail<Linear<9, 6>>(Shape{9}, 4);
  runs_tail<Linear<9, 6>>(Shape{9}, 0);
  runs_tail<Linear<1, 1>>(Shape{1}, 1);
  runs_tail<Linear<301, 67>>(Shape{301}, 65);    // two steps of the sum
  runs_tail<Linear<67, 1301>>(Shape{67}, 131);   // tiles beside each other
  runs_tail<Linear<520, 700>>(Shape{520}, 257);  // both
  runs_tail<Linear<5, 7, NoBias>>(Shape{3, 5}, 11);
}
