// SPDX-License-Identifier: MIT
#include "heddle/compute/field/any_layer.hpp"

#include <doctest/doctest.h>

#include "compute/field/field.hpp"

using namespace in_field;

namespace {

/// Any layer of a user, with a parameter.
struct Mine {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Mine";
    leaf.spelled << "Mine";
    leaf.in = leaf.out = in;
    leaf.with({"weight", Shape{in.shape.last()}, Initial::ones});
    return leaf;
  }
};
constexpr Leaf leaf = Mine::describe(Spec{Shape{3}});

/// A join of a user, which saves both values.
struct Join {};
Leaf joined() {
  Leaf made;
  made.kind << "Join";
  made.in = made.out = Spec{Shape{3}};
  made.other = Spec{Shape{2}};
  made.operands = 2;
  return made;
}

struct Backward {
  std::vector<float> dx, dw;
};
Backward backward(const Leaf& of, const std::vector<float>& x, const std::vector<float>& dy, const std::vector<float>& w, std::int64_t rows) {
  Backward made{std::vector<float>(x.size()), std::vector<float>(w.size())};
  const float* parameters[] = {w.data()};
  float* gradients[] = {made.dw.data()};
  FieldKernel<Mine>::backward({&of, rows, x.data(), nullptr, dy.data(), made.dx.data(), parameters, gradients});
  return made;
}

}  // namespace

TEST_CASE("an output depends on its whole row, on the parameters and on its place, and on no other row") {
  const Drawn drawn{2};
  std::vector<float> x = elements(6), w = elements(3, 50), y(6), again(6);
  const float* parameters[] = {w.data()};
  FieldKernel<Mine>::forward({&leaf, 2, x.data(), y.data(), parameters});
  x[5] = Field::write(1);
  FieldKernel<Mine>::forward({&leaf, 2, x.data(), again.data(), parameters});
  for (std::size_t i = 0; i < 6; ++i) CHECK((Field::read(y[i]) == Field::read(again[i])) == (i < 3));
  w[2] = Field::write(1);
  FieldKernel<Mine>::forward({&leaf, 2, x.data(), again.data(), parameters});
  CHECK(Field::read(y[0]) != Field::read(again[0]));
  CHECK(Field::read(y[0]) != Field::read(y[1]));
}

TEST_CASE("gradients are linear in the gradient of the output, and those of parameters are sums over rows") {
  const Drawn drawn{2};
  const auto x = elements(6), w = elements(3, 50), dy = elements(6, 70);
  const Backward both = backward(leaf, x, dy, w, 2);
  const Backward first = backward(leaf, {x.begin(), x.begin() + 3}, {dy.begin(), dy.begin() + 3}, w, 1);
  const Backward second = backward(leaf, {x.begin() + 3, x.end()}, {dy.begin() + 3, dy.end()}, w, 1);
  std::vector<float> sum(3), doubled(6);
  FieldCompute::add(sum.data(), first.dw.data(), second.dw.data(), 3);
  CHECK(same(sum, both.dw));
  CHECK(same({first.dx[0], first.dx[2]}, {both.dx[0], both.dx[2]}));
  FieldCompute::add(doubled.data(), dy.data(), dy.data(), 6);
  const Backward twice = backward(leaf, x, doubled, w, 2);
  CHECK(Field::read(twice.dw[1]) == Field::times(2, Field::read(both.dw[1])));
  CHECK(Field::read(twice.dx[4]) == Field::times(2, Field::read(both.dx[4])));
}

TEST_CASE("a backward in two parts is the whole one, whatever the layer says that they read") {
  const Drawn drawn{2};
  const auto x = elements(6), w = elements(3, 50), dy = elements(6, 70);
  for (const bool weights_read : {true, false})
    for (const bool saved_read : {true, false}) {
      Leaf of = leaf;
      of.weights_read = weights_read;
      of.input_part_reads_saved = saved_read;
      const Backward whole = backward(of, x, dy, w, 2);
      Backward parts{std::vector<float>(6), std::vector<float>(3)};
      const float* parameters[] = {w.data()};
      const float* none[] = {nullptr};
      float* gradients[] = {parts.dw.data()};
      FieldKernel<Mine>::backward({&of, 2, saved_read ? x.data() : nullptr, nullptr, dy.data(), parts.dx.data(), parameters, nullptr});
      FieldKernel<Mine>::backward({&of, 2, x.data(), nullptr, dy.data(), nullptr, weights_read ? parameters : none, gradients});
      CHECK(same(parts.dx, whole.dx));
      CHECK(same(parts.dw, whole.dw));
    }
}

TEST_CASE("token ids are constants of a layer that looks them up: another id is another function, and no element") {
  struct Lookup {
    static constexpr Leaf describe(Spec in) {
      Leaf leaf;
      leaf.kind << "Lookup";
      leaf.spelled << "Lookup";
      leaf.in = Spec{in.shape, ElementType::int32};
      leaf.out = Spec{in.shape};
      leaf.vocabulary = 9;
      leaf.with({"table", Shape{9}, Initial::ones});
      return leaf;
    }
  };
  const Drawn drawn{2};
  constexpr Leaf of = Lookup::describe(Spec{Shape{2}});
  const auto table = elements(9), dy = elements(4, 70);
  const float* parameters[] = {table.data()};
  std::vector<float> y(4), again(4), dw(9), other(9);
  float* gradients[] = {dw.data()};
  float* others[] = {other.data()};
  std::vector<std::int32_t> ids{1, 8, 1, 8};
  FieldKernel<Lookup>::forward({&of, 2, nullptr, y.data(), parameters, nullptr, 0, nullptr, ids.data()});
  FieldKernel<Lookup>::backward({&of, 2, nullptr, nullptr, dy.data(), nullptr, parameters, gradients, false, nullptr, 0, nullptr, ids.data()});
  CHECK(Field::read(y[0]) == Field::read(y[2]));  // two rows of the same ids
  ids[3] = 7;
  FieldKernel<Lookup>::forward({&of, 2, nullptr, again.data(), parameters, nullptr, 0, nullptr, ids.data()});
  FieldKernel<Lookup>::backward({&of, 2, nullptr, nullptr, dy.data(), nullptr, parameters, others, false, nullptr, 0, nullptr, ids.data()});
  CHECK(Field::read(again[0]) == Field::read(y[0]));
  CHECK(Field::read(again[2]) != Field::read(y[2]));
  CHECK(Field::read(dw[4]) != Field::read(other[4]));
}

TEST_CASE("a join depends on both values of its row, and hands each a gradient of its own") {
  const Drawn drawn{2};
  const Leaf of = joined();
  std::vector<float> x = elements(6), second = elements(4, 50), y(6), again(6);
  const auto forward = [&](std::vector<float>& to) {
    ForwardCall call{&of, 2, x.data(), to.data()};
    call.second = second.data();
    FieldKernel<Join>::forward(call);
  };
  const auto handed = [&](int operand, std::int64_t elements) {
    std::vector<float> dx(static_cast<std::size_t>(2 * elements));
    BackwardCall call{&of, 2, x.data(), nullptr, y.data(), dx.data()};
    call.second = second.data();
    call.operand = operand;
    FieldKernel<Join>::backward(call);
    return dx;
  };
  forward(y);
  const auto first = handed(0, 3), other = handed(1, 2);
  CHECK(Field::read(first[0]) != Field::read(other[0]));
  second[3] = Field::write(1);
  forward(again);
  for (std::size_t i = 0; i < 6; ++i) CHECK((Field::read(y[i]) == Field::read(again[i])) == (i < 3));
  const auto changed = handed(0, 3);
  for (std::size_t i = 0; i < 6; ++i) CHECK((Field::read(first[i]) == Field::read(changed[i])) == (i < 3));
  const auto also = handed(1, 2);
  for (std::size_t i = 0; i < 4; ++i) CHECK((Field::read(other[i]) == Field::read(also[i])) == (i < 2));
}
