// SPDX-License-Identifier: MIT
#include "heddle/run/host_work.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "heddle/heddle.hpp"

using namespace heddle;
using run_room::HostWork;

TEST_CASE("rows are loaded as they are, and floats rounded where values are bfloat16") {
  const std::vector<float> rows{1.0F, 1.0F + 0x1p-8F, 3.0F, -2.0F, 5.0F, 6.0F};
  const auto row = [&](std::int64_t r) { return rows.data() + 2 * (2 - r); };  // the last one first
  std::vector<float> to(6, -1.0F);
  HostWork::load(to.data(), 3, 2, ElementType::float32, row);
  CHECK(to == std::vector<float>{5.0F, 6.0F, 3.0F, -2.0F, 1.0F, 1.0F + 0x1p-8F});
  std::vector<std::uint16_t> rounded(8, 7);
  HostWork::load(reinterpret_cast<float*>(rounded.data()), 3, 2, ElementType::bfloat16, row);
  CHECK(rounded[4] == 0x3f80);
  CHECK(rounded[5] == 0x3f80);  // to the even of two neighbours
  CHECK(rounded[6] == 7);
}

TEST_CASE("runs of bytes are moved between strides, and nothing between them") {
  const std::vector<float> from{1, 2, 3, 4, 5, 6};
  std::vector<float> to(8, 0.0F);
  HostWork::move(to.data(), 16, from.data(), 12, 8, 2);
  CHECK(to == std::vector<float>{1, 2, 0, 0, 4, 5, 0, 0});
}

TEST_CASE("losses of grains are summed along the counter of gradients, behind them, and R02 names a loss that is not finite") {
  const KernelTable kernels;
  const HostWork work{kernels};
  const StepInput in;
  std::vector<float> losses{0x1p24F, 1.0F, 1.0F, 0.0F};
  work.sum_losses(losses.data(), 3, in);
  CHECK(losses[3] == (0x1p24F + 1.0F) + 1.0F);
  std::vector<float> five{1e8F, 1.0F, -1e8F, 1.0F, 1.0F, 0.0F};
  work.sum_losses(five.data(), 5, in);
  CHECK(five[5] == ((1e8F + 1.0F) + (-1e8F + 1.0F)) + 1.0F);
  std::vector<float> wrong{1.0F, std::numeric_limits<float>::infinity(), 0.0F};
  CHECK_THROWS_WITH_AS(work.sum_losses(wrong.data(), 2, in), doctest::Contains("is infinite in all rows of a rank together"), NonFinite);
}

TEST_CASE("squares of a unit are summed part by part, without what is left out") {
  const KernelTable kernels;
  const HostWork work{kernels};
  std::vector<float> values(64, 1.0F);
  float sum = -1;
  int prepared = 0;
  work.sum_squares(
      &sum, values.data(), 64, 2, [&](float*, std::int64_t) { ++prepared; }, [](const float*, std::int64_t count, auto visit) { visit(0, count); });
  CHECK(sum == 64.0F);
  CHECK(prepared == 2);
  work.sum_squares(
      &sum, values.data(), 64, 2, [](float*, std::int64_t) {}, [](const float*, std::int64_t, auto visit) { visit(16, 16); });
  CHECK(sum == 32.0F);
  work.add_squares(&sum, values.data(), 64, 2, [](auto visit) { visit(48, 16), visit(0, 32); });
  CHECK(sum == 32.0F + 48.0F);
  float flag = 0;
  work.unscale(values.data(), 64, 4.0F, &flag);
  CHECK(values[7] == 0.25F);
  CHECK(flag == 0.0F);
  values[3] = std::numeric_limits<float>::infinity();
  work.unscale(values.data(), 64, 4.0F, &flag);
  CHECK(flag == 1.0F);
}
