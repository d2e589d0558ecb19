// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/concat.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "compute/eigen/arrays.hpp"

using namespace heddle;
using arrays::Array;

namespace {

/// Index by index: where the place along the dimension is behind the first value, the element is one of the second.
template <class Op> void compare(const Shape& first, const Shape& second, int along, std::int64_t rows) {
  const Leaf leaf = Op::describe(Spec{first}, Spec{second});
  REQUIRE(leaf.fault.ok());
  std::int64_t outer = rows, inner = 1;
  for (int d = 0; d < along; ++d) outer *= first.sizes[d];
  for (int d = along + 1; d < first.dimensions; ++d) inner *= first.sizes[d];
  const std::int64_t n = first.sizes[along], m = second.sizes[along];
  const Array a(rows * first.elements(), 1), b(rows * second.elements(), 2), dy(rows * leaf.out.elements(), 3);
  const Array y(rows * leaf.out.elements(), 0, arrays::nan), da(a.elements(), 0, arrays::nan), db(b.elements(), 0, arrays::nan);
  using Runs = Kernel<typename KernelLayerOf<Op>::type, EigenCompute>;
  ForwardCall forward{&leaf, rows, a.data(), y.data()};
  forward.second = b.data();
  Runs::forward(forward);
  BackwardCall backward{&leaf, rows};
  backward.output_gradient = dy.data();
  Runs::backward(backward);  // nobody needs a gradient
  backward.input_gradient = da.data();
  Runs::backward(backward);
  backward.operand = 1;
  backward.input_gradient = db.data();
  Runs::backward(backward);
  int differences = 0;
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t k = 0; k < n + m; ++k)
      for (std::int64_t i = 0; i < inner; ++i) {
        const std::int64_t at = (o * (n + m) + k) * inner + i;
        const std::int64_t own = k < n ? (o * n + k) * inner + i : (o * m + k - n) * inner + i;
        differences += y[at] == (k < n ? a : b)[own] ? 0 : 1;
        differences += dy[at] == (k < n ? da : db)[own] ? 0 : 1;
      }
  CHECK(differences == 0);
  CHECK((y.guarded() && da.guarded() && db.guarded()));
}

}  // namespace

TEST_CASE("elements are those of both values in their order, and the gradients are cut alike") {
  for (const std::int64_t rows : {0, 1, 3, 17}) {
    CAPTURE(rows);
    compare<Concat>(Shape{4}, Shape{3}, 0, rows);
    compare<Concat>(Shape{1}, Shape{37}, 0, rows);
    compare<Concat>(Shape{5, 4}, Shape{5, 9}, 1, rows);
    compare<ConcatAlong<0>>(Shape{5, 4}, Shape{2, 4}, 0, rows);
    compare<ConcatAlong<1>>(Shape{2, 4, 3}, Shape{2, 7, 3}, 1, rows);
    compare<ConcatAlong<2>>(Shape{2, 4, 3}, Shape{2, 4, 5}, 2, rows);
    compare<ConcatAlong<1>>(Shape{2, 2, 3, 4}, Shape{2, 5, 3, 4}, 1, rows);
  }
}
