// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/cudnn_graph.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "compute/cuda/on_card.hpp"
#include "cuda_emulator/one_card.hpp"

using namespace heddle;
using namespace heddle::compute_room;
using cuda_emulator::tests::OneCard;
using on_card::Card;

namespace {

/// y (2, 8) = exp(a b - most of each row), of a (2, 8) and b (8, of_rows), kept in bfloat16.
CudnnGraph powers(std::int64_t of_rows = 8) {
  CudnnGraph g;
  const auto between = [&](std::int64_t id, std::int64_t columns) {
    return g.tensor({id, {1, 1, 2, columns}, {2 * columns, 2 * columns, columns, 1}, CUDNN_DATA_FLOAT, false, true});
  };
  const int a = g.tensor({1, {1, 1, 2, 8}, {16, 16, 8, 1}}), b = g.tensor({2, {1, 1, of_rows, 8}, {64, 64, 8, 1}});
  const int c = between(10, 8), most = between(11, 1), less = between(12, 8), y = g.tensor({3, {1, 1, 2, 8}, {16, 16, 8, 1}});
  g.product(a, b, c);
  g.reduction(CUDNN_REDUCE_TENSOR_MAX, c, most);
  g.pointwise(CUDNN_POINTWISE_SUB, c, less, {.other = most});
  g.pointwise(CUDNN_POINTWISE_EXP, less, y);
  return g;
}
struct Handle {
  OneCard card;
  CudnnHandle handle;
  Handle() {
    check_cudnn(cudnnCreate(handle.slot()), "cudnnCreate");
    check_cudnn(cudnnSetStream(handle.get(), card.stream()), "cudnnSetStream");
  }
};

}  // namespace

TEST_CASE("operations of a graph run one after another, by hand") {
  const Card card;
  const Handle h;
  const CudnnPlan plan = cudnn_plan(h.handle.get(), powers());
  REQUIRE(plan.plan.get() != nullptr);
  CHECK(plan.described.operations().size() == 4);
  std::vector<BFloat16> a(16), b(64);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = core_room::rounded(i % 8 == i / 8 ? 1.0F : 0.0F);  // rows 0 and 1 of b
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = core_room::rounded(static_cast<float>(i % 8));
  const auto there_a = h.card.up(a), there_b = h.card.up(b), y = OneCard::unset<BFloat16>(16);
  run_cudnn(h.handle.get(), plan, {{1, there_a.get()}, {2, there_b.get()}, {3, y.get()}}, nullptr);
  const std::vector<BFloat16> made = h.card.down(y, 16);
  for (std::size_t i = 0; i < 16; ++i)
    CHECK(core_room::widened(made[i]) == core_room::widened(core_room::rounded(std::exp(static_cast<float>(i % 8) - 7))));
}

TEST_CASE("a graph whose tensors do not fit is not taken, has no plan, and the emulator says why") {
  cuda_emulator::reset({});
  {
    const Handle h;
    const CudnnGraph odd = powers(9);
    CHECK(!odd.taken());
    CHECK(odd.operations().size() == 1);  // what follows does nothing
    CHECK(cudnn_plan(h.handle.get(), powers(9)).plan.get() == nullptr);
  }
  CHECK(cuda_emulator::violations().size() == 2);
  CHECK(cuda_emulator::alive() == "");
}

TEST_CASE("an engine that is not deterministic is not taken, and no plan is made while a stream captures") {
  cuda_emulator::reset({.algorithms = 1});
  {
    const Handle h;
    CHECK(cudnn_plan(h.handle.get(), powers()).plan.get() == nullptr);
  }
  cuda_emulator::tests::check_right();
  cuda_emulator::reset({});
  {
    const Handle h;
    CHECK_THROWS(static_cast<void>(captured(h.card.stream(), [&] { static_cast<void>(cudnn_plan(h.handle.get(), powers())); })));
  }
  CHECK(cuda_emulator::tests::says(cuda_emulator::violations(), {"cudnnBackendFinalize of a plan", "while a stream captures"}));
  CHECK(cuda_emulator::alive() == "");
}

TEST_CASE("a pack that lacks a tensor is a failure with its name") {
  cuda_emulator::reset({});
  {
    const Handle h;
    const CudnnPlan plan = cudnn_plan(h.handle.get(), powers());
    const auto a = OneCard::unset<BFloat16>(16);
    CHECK_THROWS(run_cudnn(h.handle.get(), plan, {{1, a.get()}}, nullptr));
  }
  CHECK(cuda_emulator::tests::says(cuda_emulator::violations(), {"lacks the tensor 2"}));
}
