// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/batch_norm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "compute/eigen/arrays.hpp"

using namespace heddle;
using arrays::Array;

namespace {

using Layer = BatchNorm2d<3>;
constexpr std::int64_t channels = 3;

/// One grain of images with random operands, all results poisoned.
struct Bench {
  Leaf leaf;
  std::int64_t rows, values;
  Array x, y, dy, dx, statistics;
  Array parameters[4], sums[4];
  CallContext context{};

  Bench(std::int64_t height, std::int64_t width, std::int64_t samples)
      : leaf(Layer::describe(Spec{Shape{channels, height, width}})), rows(samples), values(height * width), x(all(), 1), y(all(), 0, arrays::nan),
        dy(all(), 4), dx(all(), 0, arrays::nan), statistics(samples * channels * 2, 0, arrays::nan),
        parameters{Array{channels, 2}, Array{channels, 3}, Array{channels, 5}, Array{channels, 0, 0.5F}}, sums{poisoned(), poisoned(), poisoned(),
                                                                                                               poisoned()} {}
  void forward() {
    const float* const p[] = {parameters[0].data(), parameters[1].data(), parameters[2].data(), parameters[3].data()};
    Kernel<Layer, EigenCompute>::forward({&leaf, rows, x.data(), y.data(), p, nullptr, 0, statistics.data(), nullptr, context});
  }
  void backward(bool add = false) {
    const float* const p[] = {parameters[0].data(), parameters[1].data(), parameters[2].data(), parameters[3].data()};
    float* const g[] = {sums[0].data(), sums[1].data(), sums[2].data(), sums[3].data()};
    Kernel<Layer, EigenCompute>::backward(
        {&leaf, rows, x.data(), nullptr, dy.data(), dx.data(), p, g, add, nullptr, 0, statistics.data(), nullptr, context});
  }
  [[nodiscard]] std::int64_t all() const { return rows * channels * values; }
  [[nodiscard]] std::int64_t at(std::int64_t row, std::int64_t c, std::int64_t i) const { return (row * channels + c) * values + i; }

 private:
  static Array poisoned() { return Array{channels, 0, arrays::nan}; }
};

}  // namespace

TEST_CASE("each channel of a grain has the mean 0 and the deviation 1, weighed and moved, whatever the other channels have") {
  Bench t{4, 5, 6};
  for (std::int64_t row = 0; row < 6; ++row)
    for (std::int64_t i = 0; i < 20; ++i) t.x[t.at(row, 1, i)] = 4096 + static_cast<float>((row * 20 + i) * 37 % 64) / 8;  // a large mean
  t.forward();
  for (std::int64_t c = 0; c < channels; ++c) {
    double mean = 0, squares = 0;
    for (std::int64_t row = 0; row < 6; ++row)
      for (std::int64_t i = 0; i < 20; ++i) {
        const double hat =
            (static_cast<double>(t.y[t.at(row, c, i)]) - static_cast<double>(t.parameters[1][c])) / static_cast<double>(t.parameters[0][c]);
        mean += hat / 120;
        squares += hat * hat / 120;
      }
    CHECK(std::abs(mean) < 1e-4);
    CHECK(std::abs(squares - 1) < 1e-4);
  }
}

TEST_CASE("sums for running statistics are n times the mean, and n times the variance of a sample") {
  Bench t{1, 2, 2};
  const float values[] = {1, 2, 3, 6};  // mean 3, squares of differences 4 + 1 + 0 + 9
  for (std::int64_t k = 0; k < 4; ++k) t.x[t.at(k / 2, 1, k % 2)] = values[k];
  t.forward();
  t.backward();
  CHECK(t.statistics[2] == 3.0F);
  CHECK(t.statistics[3] == 3.5F);
  CHECK(t.statistics[channels * 2 + 2] == 3.0F);  // in the second row as well
  CHECK(t.sums[2][1] == 12.0F);
  CHECK(t.sums[3][1] == doctest::Approx(4 * 14.0 / 3));
  t.backward(true);
  CHECK(t.sums[2][1] == 24.0F);
  CHECK((t.y.guarded() && t.dx.guarded() && t.statistics.guarded() && t.sums[3].guarded()));
}

TEST_CASE("one value has no variance: it becomes the bias, and counts nothing in the sum of variances") {
  Bench t{1, 1, 1};
  t.forward();
  t.backward();
  for (std::int64_t c = 0; c < channels; ++c) {
    CHECK(t.y[c] == t.parameters[1][c]);
    CHECK(t.dx[c] == 0.0F);
    CHECK(t.sums[2][c] == t.x[c]);
    CHECK(t.sums[3][c] == 0.0F);
  }
}

TEST_CASE("what trains nothing takes running statistics, row by row, and makes no sums of them") {
  Bench t{2, 2, 3}, one{2, 2, 1};
  t.context.trains = one.context.trains = false;
  t.forward();
  t.backward();
  std::copy_n(t.x.data() + 2 * channels * 4, channels * 4, one.x.data());
  std::copy_n(t.dy.data() + 2 * channels * 4, channels * 4, one.dy.data());
  one.forward();
  one.backward();
  for (std::int64_t i = 0; i < channels * 4; ++i) {
    const std::int64_t c = i / 4;
    const double inverse = 1 / std::sqrt(0.5 + 1e-5);
    const auto hat = (static_cast<double>(one.x[i]) - static_cast<double>(t.parameters[2][c])) * inverse;
    CHECK(one.y[i] == doctest::Approx(hat * static_cast<double>(t.parameters[0][c]) + static_cast<double>(t.parameters[1][c])).epsilon(1e-5));
    CHECK(one.dx[i] == doctest::Approx(static_cast<double>(one.dy[i]) * inverse * static_cast<double>(t.parameters[0][c])).epsilon(1e-5));
    CHECK((one.y[i] == t.y[2 * channels * 4 + i] && one.dx[i] == t.dx[2 * channels * 4 + i]));
  }
  for (std::int64_t c = 0; c < channels; ++c) CHECK((t.sums[2][c] == 0.0F && t.sums[3][c] == 0.0F));
}

TEST_CASE("no rows are legal: gradients are zeros, and what is added to stays") {
  Bench t{2, 2, 0};
  t.forward();
  t.backward();
  for (const Array& sum : t.sums) CHECK((sum[0] == 0.0F && sum[2] == 0.0F));
  t.sums[2][1] = 7;
  t.backward(true);
  CHECK(t.sums[2][1] == 7.0F);
}

TEST_CASE("in phases a grain has the numbers of all rows that are told, and makes its share of what is tracked") {
  using Joint = BatchNorm2d<channels, Synchronised>;
  using K = Kernel<Joint, EigenCompute>;
  Bench all{2, 2, 3};
  all.forward();
  all.backward();
  const Leaf leaf = Joint::describe(all.leaf.in);
  const float* const p[] = {all.parameters[0].data(), all.parameters[1].data(), all.parameters[2].data(), all.parameters[3].data()};
  const std::int64_t row = channels * 4;
  CallContext context;
  context.rows_together = 3;
  std::vector<float> y(static_cast<std::size_t>(3 * row)), dx(y.size()), statistics(3 * channels * 2), told[3];
  std::vector<std::vector<float>> tracked(2, std::vector<float>(channels));
  const float* summed[2];
  const std::int64_t first_of[] = {0, 1, 3}, rows_of[] = {1, 2, 0};  // three grains, the last without rows
  const auto phases = [&](auto&& of_one, const auto& functions, std::int64_t width) {
    for (std::size_t phase = 0; phase < std::size(functions); ++phase) {
      std::vector<float> sums(static_cast<std::size_t>(width));
      for (int g = 0; g < 3; ++g) {
        std::vector<float> tells(sums.size(), arrays::nan);
        auto call = of_one(g);
        call.context = context;
        call.tells = phase + 1 < std::size(functions) ? tells.data() : nullptr;
        call.told = summed;
        functions[phase](call);
        for (std::size_t i = 0; i < sums.size() && call.tells != nullptr; ++i) sums[i] += tells[i];
      }
      told[phase] = sums;
      if (phase < 2) summed[phase] = told[phase].data();
    }
  };
  phases(
      [&](int g) {
        return ForwardCall{&leaf,
                           rows_of[g],
                           all.x.data() + first_of[g] * row,
                           y.data() + first_of[g] * row,
                           p,
                           nullptr,
                           0,
                           statistics.data() + first_of[g] * channels * 2};
      },
      K::forward_phases, channels);
  for (std::int64_t i = 0; i < 3 * row; ++i) CHECK(y[static_cast<std::size_t>(i)] == doctest::Approx(all.y[i]).epsilon(1e-5));
  for (std::int64_t i = 0; i < 3 * channels * 2; ++i)
    CHECK(statistics[static_cast<std::size_t>(i)] == doctest::Approx(all.statistics[i]).epsilon(1e-5));
  std::vector<float> sums[4];
  for (auto& sum : sums) sum.assign(channels, 0);
  float* const g[] = {sums[0].data(), sums[1].data(), sums[2].data(), sums[3].data()};
  bool first = true;
  phases(
      [&](int grain) {
        BackwardCall call{&leaf,
                          rows_of[grain],
                          all.x.data() + first_of[grain] * row,
                          nullptr,
                          all.dy.data() + first_of[grain] * row,
                          dx.data() + first_of[grain] * row,
                          p,
                          first || grain > 0 ? g : nullptr,
                          grain > 0};
        call.statistics = statistics.data() + first_of[grain] * channels * 2;
        if (grain == 2) first = false;
        if (!first && grain < 2) call.parameter_gradients = nullptr;
        return call;
      },
      K::backward_phases, 2 * channels);
  for (std::int64_t i = 0; i < 3 * row; ++i) CHECK(dx[static_cast<std::size_t>(i)] == doctest::Approx(all.dx[i]).epsilon(1e-4));
  for (int k = 0; k < 4; ++k)
    for (std::int64_t c = 0; c < channels; ++c) CHECK(sums[k][static_cast<std::size_t>(c)] == doctest::Approx(all.sums[k][c]).epsilon(1e-4));
}
