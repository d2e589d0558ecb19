// SPDX-License-Identifier: MIT
#include "heddle/run/laid_rows.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "heddle/heddle.hpp"
#include "heddle/run/host_work.hpp"
#include "plan/at_run_time.hpp"

using namespace heddle;
using run_room::Lay;

namespace {

struct Net : Sequential<Input<4, 8>, Linear<8, 8>, Residual<LayerNorm<8>, Linear<8, 16>, GELU, Linear<16, 8>>, Linear<8, 8>> {};
template <class... Parts> using Of = Plan<Net, MeanSquaredError, SGD, Batch<4>, TensorParallel<2, SequenceParallel>, Parts...>;

/// Numbers by element of each row of the whole go apart into parts and come together again.
template <class Number> void goes_apart_and_comes_together(const Program& p, ElementType type) {
  const Entry* gather = nullptr;
  for (int e = p.forward_bodies[0].begin; e < p.forward_bodies[0].end && gather == nullptr; ++e)
    if (p.entries[e].what == BodyOp::gather_value) gather = &p.entries[e];
  REQUIRE(gather != nullptr);
  CHECK(gather->type == type);
  run_room::RankTensors tensors{p, Rank{1}};
  const run_room::LaidRows<decltype(&run_room::HostWork::move)> rows{tensors, 1, &run_room::HostWork::move};
  const auto all = [](int) { return std::int64_t{4}; };
  auto* const whole = reinterpret_cast<Number*>(tensors.at_grain(gather->d, gather->features, 0, type));
  std::vector<Number> numbers(static_cast<std::size_t>(4 * gather->features));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<Number>(i % 251);
  std::copy(numbers.begin(), numbers.end(), whole);
  rows.lay(*gather, gather->b, gather->d, Lay::apart, all);
  const auto* const parts = reinterpret_cast<const Number*>(tensors.at(gather->b, 0));
  const std::int64_t run = gather->features / 2 / gather->runs;
  for (std::int64_t i = 0; i < run; ++i) CHECK(parts[i] == numbers[static_cast<std::size_t>(i)]);
  std::fill_n(whole, 4 * gather->features, Number{});
  rows.lay(*gather, gather->b, gather->d, Lay::together, all);
  CHECK(std::equal(numbers.begin(), numbers.end(), whole));
}

}  // namespace

TEST_CASE("rows of float32 go apart into parts and come together as they were") {
  goes_apart_and_comes_together<float>(tests::training_of<Of<>>(), ElementType::float32);
}
TEST_CASE("so do rows of bfloat16, 2 bytes an element") {
  goes_apart_and_comes_together<std::uint16_t>(tests::training_of<Of<Mixed<BFloat16>>>(), ElementType::bfloat16);
}
