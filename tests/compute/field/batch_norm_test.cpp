// SPDX-License-Identifier: MIT
#include "heddle/compute/field/batch_norm.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "compute/field/field.hpp"
#include "heddle/graph/local_leaf.hpp"

using namespace in_field;

namespace {

using Layer = BatchNorm2d<2>;

struct Run {
  std::vector<float> output, statistics, input_gradient;
  std::vector<std::vector<float>> sums;
};

/// Forward and backward of a leaf, which may be a part from channel `first` on. `spoils` changes one statistic between them.
Run run(const Leaf& leaf, std::int64_t rows, const std::vector<float>& x, const std::vector<float>& dy, bool trains = true, bool spoils = false,
        std::size_t first = 0) {
  const auto channels = static_cast<std::size_t>(leaf.in.shape.sizes[0]);
  std::vector<std::vector<float>> p;
  for (int k = 0; k < 4; ++k) p.push_back(elements(2, static_cast<std::uint64_t>(200 + 100 * k)));
  const float* parameters[] = {p[0].data() + first, p[1].data() + first, p[2].data() + first, p[3].data() + first};
  Run out{std::vector<float>(x.size()), std::vector<float>(static_cast<std::size_t>(rows) * channels * 2), std::vector<float>(x.size()),
          std::vector<std::vector<float>>(4, std::vector<float>(channels))};
  float* sums[] = {out.sums[0].data(), out.sums[1].data(), out.sums[2].data(), out.sums[3].data()};
  CallContext context;
  context.trains = trains;
  FieldKernel<Layer>::forward({&leaf, rows, x.data(), out.output.data(), parameters, nullptr, 0, out.statistics.data(), nullptr, context});
  if (spoils) out.statistics[0] = Field::write(Field::plus(Field::read(out.statistics[0]), 1));
  FieldKernel<Layer>::backward({&leaf, rows, x.data(), nullptr, dy.data(), out.input_gradient.data(), parameters, sums, false, nullptr, 0,
                                out.statistics.data(), nullptr, context});
  return out;
}
bool equal(float a, float b) { return Field::read(a) == Field::read(b); }

}  // namespace

TEST_CASE("channels stand alone: a rank that has one has its part of everything") {
  constexpr Leaf leaf = Layer::describe(Spec{Shape{2, 1, 2}});
  constexpr Leaf half = local_leaf(leaf, leaf.signatures[0], 2);
  const auto x = elements(8), dy = elements(8, 100);
  const Run whole = run(leaf, 2, x, dy);
  const Run part = run(half, 2, {x[2], x[3], x[6], x[7]}, {dy[2], dy[3], dy[6], dy[7]}, true, false, 1);
  CHECK(same(part.output, {whole.output[2], whole.output[3], whole.output[6], whole.output[7]}));
  CHECK(same(part.input_gradient, {whole.input_gradient[2], whole.input_gradient[3], whole.input_gradient[6], whole.input_gradient[7]}));
  CHECK(same(part.statistics, {whole.statistics[2], whole.statistics[3], whole.statistics[6], whole.statistics[7]}));
  for (std::size_t k = 0; k < 4; ++k) CHECK(equal(part.sums[k][0], whole.sums[k][1]));
}

TEST_CASE("every value of a channel in a grain is in each of its outputs, gradients and sums, those of another channel in none") {
  constexpr Leaf leaf = Layer::describe(Spec{Shape{2, 1, 2}});
  const auto dy = elements(8, 100);
  auto x = elements(8);
  const Run before = run(leaf, 2, x, dy);
  x[7] = Field::write(77);  // of the second row, second channel
  const Run after = run(leaf, 2, x, dy);
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(equal(before.output[i], after.output[i]) == (i / 2 % 2 == 0));
    CHECK(equal(before.input_gradient[i], after.input_gradient[i]) == (i / 2 % 2 == 0));
  }
  for (const std::size_t k : {0U, 2U, 3U}) {
    CHECK(equal(before.sums[k][0], after.sums[k][0]));
    CHECK_FALSE(equal(before.sums[k][1], after.sums[k][1]));
  }
}

TEST_CASE("sums of what is tracked read the statistics that were left, and the number of values; one value has no variance") {
  constexpr Leaf leaf = Layer::describe(Spec{Shape{2, 1, 1}});
  const auto x = elements(4), dy = elements(4, 100);
  const Run right = run(leaf, 2, x, dy);
  const Run wrong = run(leaf, 2, x, dy, true, true);
  for (const std::size_t k : {0U, 2U}) CHECK_FALSE(equal(right.sums[k][0], wrong.sums[k][0]));
  CHECK(equal(right.sums[1][0], wrong.sums[1][0]));
  CHECK_FALSE(equal(right.input_gradient[0], wrong.input_gradient[0]));
  const Run one = run(leaf, 1, {x[0], x[1]}, {dy[0], dy[1]});
  CHECK(Field::read(one.sums[2][0]) != 0);
  CHECK(Field::read(one.sums[3][0]) == 0);
}

TEST_CASE("what trains nothing takes what is tracked: rows stand alone, and nothing is summed for it") {
  constexpr Leaf leaf = Layer::describe(Spec{Shape{2, 1, 2}});
  const auto x = elements(8), dy = elements(8, 100);
  const Run both = run(leaf, 2, x, dy, false);
  const Run second = run(leaf, 1, {x[4], x[5], x[6], x[7]}, {dy[4], dy[5], dy[6], dy[7]}, false);
  CHECK(same(second.output, {both.output[4], both.output[5], both.output[6], both.output[7]}));
  CHECK(same(second.input_gradient, {both.input_gradient[4], both.input_gradient[5], both.input_gradient[6], both.input_gradient[7]}));
  CHECK_FALSE(equal(both.output[4], run(leaf, 2, x, dy).output[4]));
  for (const std::size_t k : {2U, 3U}) CHECK((Field::read(both.sums[k][0]) == 0 && Field::read(both.sums[k][1]) == 0));
}

namespace {

using Joint = BatchNorm2d<2, Synchronised>;

/// Both passes of a leaf in phases over grains of so many rows, of 2 rows in all.
Run in_phases(const std::vector<std::int64_t>& grains, const std::vector<float>& x, const std::vector<float>& dy, bool forgets = false) {
  using K = FieldKernel<Joint>;
  constexpr Leaf leaf = Joint::describe(Spec{Shape{2, 1, 2}});
  std::vector<std::vector<float>> p;
  for (int k = 0; k < 4; ++k) p.push_back(elements(2, static_cast<std::uint64_t>(200 + 100 * k)));
  const float* parameters[] = {p[0].data(), p[1].data(), p[2].data(), p[3].data()};
  Run out{std::vector<float>(8), std::vector<float>(8), std::vector<float>(8), std::vector<std::vector<float>>(4, std::vector<float>(2))};
  float* sums[] = {out.sums[0].data(), out.sums[1].data(), out.sums[2].data(), out.sums[3].data()};
  std::vector<std::vector<float>> told;
  const auto all_grains = [&](std::size_t width, bool tells, const auto& run_one) {
    std::vector<float> all(width);
    std::int64_t first = 0;
    for (std::size_t g = 0; g < grains.size(); ++g) {
      std::vector<float> own(width);
      run_one(g, first, tells ? own.data() : nullptr);
      if (!(forgets && g == 0)) FieldCompute::add(all.data(), all.data(), own.data(), static_cast<std::int64_t>(width));
      first += grains[g];
    }
    if (tells) told.push_back(all);
  };
  const float* pointers[2] = {};
  const auto give = [&](auto& call) {
    for (std::size_t k = 0; k < told.size(); ++k) pointers[k] = told[k].data();
    call.told = pointers;
    call.context.rows_together = 2;
  };
  for (std::size_t phase = 0; phase < 3; ++phase)
    all_grains(2, phase < 2, [&](std::size_t g, std::int64_t first, float* own) {
      ForwardCall call{
          &leaf, grains[g], x.data() + first * 4, out.output.data() + first * 4, parameters, nullptr, 0, out.statistics.data() + first * 4};
      give(call);
      call.tells = own;
      K::forward_phases[phase](call);
    });
  told.clear();
  for (std::size_t phase = 0; phase < 2; ++phase)
    all_grains(4, phase < 1, [&](std::size_t g, std::int64_t first, float* own) {
      BackwardCall call{&leaf,
                        grains[g],
                        x.data() + first * 4,
                        nullptr,
                        dy.data() + first * 4,
                        out.input_gradient.data() + first * 4,
                        parameters,
                        phase == 0 ? sums : nullptr,
                        g > 0};
      call.statistics = out.statistics.data() + first * 4;
      give(call);
      call.tells = own;
      K::backward_phases[phase](call);
    });
  return out;
}

}  // namespace

TEST_CASE("in phases all grains together have the numbers of one, with grains of no rows too, and each of them is told of") {
  const auto x = elements(8), dy = elements(8, 100);
  const Run one = in_phases({2}, x, dy);
  for (const auto& grains : {std::vector<std::int64_t>{1, 1}, std::vector<std::int64_t>{0, 2}, std::vector<std::int64_t>{1, 0, 1}}) {
    const Run several = in_phases(grains, x, dy);
    CHECK(same(several.output, one.output));
    CHECK(same(several.statistics, one.statistics));
    CHECK(same(several.input_gradient, one.input_gradient));
    for (std::size_t k = 0; k < 4; ++k) CHECK(same(several.sums[k], one.sums[k]));
  }
  const Run wrong = in_phases({1, 1}, x, dy, true);
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK_FALSE(equal(wrong.output[i], one.output[i]));
    CHECK_FALSE(equal(wrong.input_gradient[i], one.input_gradient[i]));
  }
  for (const std::size_t k : {0U, 2U, 3U}) CHECK_FALSE(equal(wrong.sums[k][0], one.sums[k][0]));
}
