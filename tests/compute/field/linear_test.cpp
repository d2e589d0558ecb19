// SPDX-License-Identifier: MIT
#include "heddle/compute/field/linear.hpp"

#include <doctest/doctest.h>

#include "compute/field/field.hpp"
#include "heddle/graph/local_leaf.hpp"

using namespace in_field;

namespace {

using Layer = Linear<6, 4>;
using Kernel6x4 = FieldKernel<Layer>;

struct Run {
  std::vector<float> output, input_gradient, weight_gradient, bias_gradient;
};

/// Forward and backward of a leaf, which may be a part.
Run run(const Leaf& leaf, std::int64_t rows, const std::vector<float>& x, const std::vector<float>& dy, const std::vector<float>& w,
        const std::vector<float>& b) {
  Run out{std::vector<float>(static_cast<std::size_t>(rows * leaf.out.elements())), std::vector<float>(x.size()), std::vector<float>(w.size()),
          std::vector<float>(b.size())};
  const float* parameters[] = {w.data(), b.data()};
  float* gradients[] = {out.weight_gradient.data(), out.bias_gradient.data()};
  Kernel6x4::forward({&leaf, rows, x.data(), out.output.data(), parameters});
  Kernel6x4::backward({&leaf, rows, x.data(), nullptr, dy.data(), out.input_gradient.data(), parameters, gradients});
  return out;
}

}  // namespace

TEST_CASE("products are those of whole numbers while nothing exceeds the modulus") {
  constexpr Leaf leaf = Linear<2, 1>::describe(Spec{Shape{2}});
  const std::vector<float> x{Field::write(3), Field::write(4)};
  const std::vector<float> w{Field::write(5), Field::write(6)};
  const std::vector<float> b{Field::write(7)};
  const std::vector<float> dy{Field::write(2)};
  std::vector<float> y(1), dx(2), dw(2), db(1);
  const float* parameters[] = {w.data(), b.data()};
  float* gradients[] = {dw.data(), db.data()};
  FieldKernel<Linear<2, 1>>::forward({&leaf, 1, x.data(), y.data(), parameters});
  CHECK(residues(y) == std::vector<std::uint64_t>{3 * 5 + 4 * 6 + 7});
  for (const bool add : {false, true})
    FieldKernel<Linear<2, 1>>::backward({&leaf, 1, x.data(), nullptr, dy.data(), dx.data(), parameters, gradients, add});
  CHECK(residues(dx) == std::vector<std::uint64_t>{10, 12});
  CHECK(residues(dw) == std::vector<std::uint64_t>{12, 16});  // added to what was there
  CHECK(residues(db) == std::vector<std::uint64_t>{4});
}

TEST_CASE("either half of the backward is the half of the whole") {
  constexpr Leaf leaf = Layer::describe(Spec{Shape{6}});
  const auto x = elements(18), dy = elements(12, 100), w = elements(24, 200), b = elements(4, 300);
  const Run whole = run(leaf, 3, x, dy, w, b);
  const float* parameters[] = {w.data(), b.data()};
  std::vector<float> dx(18), dw(24), db(4);
  float* gradients[] = {dw.data(), db.data()};
  Kernel6x4::backward({&leaf, 3, nullptr, nullptr, dy.data(), dx.data(), parameters, nullptr});
  Kernel6x4::backward({&leaf, 3, x.data(), nullptr, dy.data(), nullptr, nullptr, gradients});
  CHECK(same(dx, whole.input_gradient));
  CHECK(same(dw, whole.weight_gradient));
  CHECK(same(db, whole.bias_gradient));
}

TEST_CASE("parts by rows of the weight give parts of the output, and the gradient of the input is their sum") {
  constexpr Leaf leaf = Layer::describe(Spec{Shape{6}});
  static_assert(leaf.signatures[0].output.sharded());
  const auto x = elements(18), dy = elements(12, 100), w = elements(24, 200), b = elements(4, 300);
  const Run whole = run(leaf, 3, x, dy, w, b);
  const Leaf half = local_leaf(leaf, leaf.signatures[0], 2);
  std::vector<float> sum(18);
  for (std::size_t part = 0; part < 2; ++part) {
    const auto own = [&](const std::vector<float>& all, std::size_t each) {
      return std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(part * each), all.begin() + static_cast<std::ptrdiff_t>((part + 1) * each));
    };
    std::vector<float> its_dy;
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t o = 0; o < 2; ++o) its_dy.push_back(dy[r * 4 + part * 2 + o]);
    const Run of_part = run(half, 3, x, its_dy, own(w, 12), own(b, 2));
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t o = 0; o < 2; ++o) CHECK(Field::read(of_part.output[r * 2 + o]) == Field::read(whole.output[r * 4 + part * 2 + o]));
    CHECK(same(of_part.weight_gradient, own(whole.weight_gradient, 12)));
    CHECK(same(of_part.bias_gradient, own(whole.bias_gradient, 2)));
    FieldCompute::add(sum.data(), sum.data(), of_part.input_gradient.data(), 18);
  }
  CHECK(same(sum, whole.input_gradient));
}

TEST_CASE("an output is of degree 2, the gradient of a weight of the degrees of both factors") {
  const Drawn degrees{1, FieldMode::degrees};
  constexpr Leaf leaf = Layer::describe(Spec{Shape{6}});
  const std::vector<float> dy(12, Field::write(3));
  const Run made = run(leaf, 3, variables(18), dy, variables(24), variables(4));
  CHECK(residues(made.output) == std::vector<std::uint64_t>(12, 2));
  CHECK(residues(made.weight_gradient) == std::vector<std::uint64_t>(24, 4));
  CHECK(residues(made.bias_gradient) == std::vector<std::uint64_t>(4, 3));
}
