// SPDX-License-Identifier: MIT
#include "heddle/compute/field/attention.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "compute/field/field.hpp"

using namespace in_field;

namespace {

using Four = SelfAttention<Heads<4>, KeyValueHeads<2>, Causal>;

struct Run {
  std::vector<float> output, statistics, input_gradient;
};
std::vector<float> zeros(std::int64_t count) { return std::vector<float>(static_cast<std::size_t>(count)); }

/// What happens between forward and backward.
enum class Between { nothing, a_statistic_changes, an_output_changes };

template <class L>
Run run(const Leaf& leaf, std::int64_t rows, const std::vector<float>& x, const std::vector<float>& dy, Between between = Between::nothing) {
  Run out{zeros(rows * leaf.out.elements()), zeros(rows * leaf.statistics_elements()), zeros(rows * leaf.in.elements())};
  FieldKernel<L>::forward({&leaf, rows, x.data(), out.output.data(), nullptr, nullptr, 0, out.statistics.data()});
  const auto spoil = [](float& value) { value = Field::write(Field::plus(Field::read(value), 1)); };
  if (between == Between::a_statistic_changes) spoil(out.statistics[0]);
  if (between == Between::an_output_changes) spoil(out.output[0]);
  FieldKernel<L>::backward(
      {&leaf, rows, x.data(), out.output.data(), dy.data(), out.input_gradient.data(), nullptr, nullptr, false, nullptr, 0, out.statistics.data()});
  return out;
}

/// Of each vector of `width` the pieces that begin at `from`, `count` long, behind one another.
std::vector<float> pieces(const std::vector<float>& all, std::size_t width, const std::vector<std::size_t>& from, std::size_t count) {
  std::vector<float> out;
  for (std::size_t v = 0; v < all.size(); v += width)
    for (const std::size_t begin : from)
      out.insert(out.end(), all.begin() + static_cast<std::ptrdiff_t>(v + begin), all.begin() + static_cast<std::ptrdiff_t>(v + begin + count));
  return out;
}

}  // namespace

TEST_CASE("heads stand alone: those of one group are what they are among others") {
  constexpr Leaf leaf = Four::describe(Spec{Shape{3, 16}});  // heads of 2 features: queries 0 to 7, keys 8 to 11, values 12 to 15
  const auto x = elements(2 * 3 * 16), dy = elements(2 * 3 * 8, 500);
  const Run whole = run<Four>(leaf, 2, x, dy);
  Leaf half = leaf;
  half.in.shape = Shape{3, 8}, half.out.shape = Shape{3, 4}, half.statistics = Shape{3, 2};
  std::vector<float> of_second;
  for (std::size_t v = 0; v < x.size(); v += 16)
    for (const std::size_t at : {4U, 5U, 6U, 7U, 10U, 11U, 14U, 15U}) of_second.push_back(x[v + at]);
  const Run second = run<Four>(half, 2, of_second, pieces(dy, 8, {4}, 4));
  CHECK(same(pieces(whole.output, 8, {4}, 4), second.output));
  CHECK(same(pieces(whole.statistics, 4, {2}, 2), second.statistics));
  CHECK(same(pieces(whole.input_gradient, 16, {10, 14}, 2), pieces(second.input_gradient, 8, {4, 6}, 2)));
  CHECK(same(pieces(whole.input_gradient, 16, {4}, 4), pieces(second.input_gradient, 8, {0}, 4)));
}

TEST_CASE("a causal output has what is before it and at it, and another everything; a head has its group's keys and values alone") {
  constexpr Leaf leaf = Four::describe(Spec{Shape{3, 16}});
  const auto dy = elements(3 * 8, 500);
  const auto before = elements(3 * 16);
  const auto changed_at = [&](std::size_t position, std::size_t feature, std::size_t of_output) {
    auto x = before;
    x[position * 16 + feature] = Field::write(77);
    return Field::read(run<Four>(leaf, 1, x, dy).output[of_output]) != Field::read(run<Four>(leaf, 1, before, dy).output[of_output]);
  };
  CHECK(changed_at(1, 12, 1 * 8));        // the first value of the first group in its first output there
  CHECK(changed_at(1, 12, 2 * 8 + 2));    // and in that of the other head of the group, one position later
  CHECK_FALSE(changed_at(1, 12, 0));      // not one position before
  CHECK_FALSE(changed_at(1, 12, 8 + 4));  // not in another group
  CHECK(changed_at(1, 8, 2 * 8 + 1));     // a key in every feature
  CHECK(changed_at(1, 0, 1 * 8 + 1));     // a query in its own position
  CHECK_FALSE(changed_at(1, 0, 2 * 8));   // and in no other
  using Seeing = SelfAttention<Heads<4>, KeyValueHeads<2>>;
  auto x = before;
  x[2 * 16 + 12] = Field::write(77);
  CHECK(Field::read(run<Seeing>(leaf, 1, x, dy).output[0]) != Field::read(run<Seeing>(leaf, 1, before, dy).output[0]));
}

TEST_CASE("the backward is linear in the gradient, and reads the statistics and the output that were left") {
  using One = SelfAttention<Heads<1>>;
  constexpr Leaf leaf = One::describe(Spec{Shape{3, 6}});
  const auto x = elements(18);
  auto first = elements(6, 100), second = elements(6, 200), both = zeros(6);
  for (std::size_t i = 0; i < 6; ++i) both[i] = FieldArithmetic::plus(first[i], second[i]);
  const Run a = run<One>(leaf, 1, x, first), b = run<One>(leaf, 1, x, second), sum = run<One>(leaf, 1, x, both);
  for (std::size_t i = 0; i < 18; ++i)
    CHECK(Field::read(sum.input_gradient[i]) == Field::plus(Field::read(a.input_gradient[i]), Field::read(b.input_gradient[i])));
  CHECK_FALSE(same(a.input_gradient, run<One>(leaf, 1, x, first, Between::a_statistic_changes).input_gradient));
  CHECK_FALSE(same(a.input_gradient, run<One>(leaf, 1, x, first, Between::an_output_changes).input_gradient));
}

TEST_CASE("without statistics the output is the same, and without a gradient of the input nothing is written") {
  constexpr Leaf leaf = Four::describe(Spec{Shape{3, 16}});
  const auto x = elements(48), dy = elements(24, 500);
  const Run once = run<Four>(leaf, 1, x, dy);
  auto y = zeros(24);
  FieldKernel<Four>::forward({&leaf, 1, x.data(), y.data(), nullptr});
  CHECK(same(y, once.output));
  FieldKernel<Four>::backward({&leaf, 1, x.data(), y.data(), dy.data(), nullptr, nullptr, nullptr, false, nullptr, 0, once.statistics.data()});
}
