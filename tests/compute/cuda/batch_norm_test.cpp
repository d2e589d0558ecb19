// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/batch_norm.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "compute/cuda/against_loops.hpp"
#include "conformance/layers.hpp"

using namespace heddle;
using against_loops::Card;
using against_loops::Ran;
using conformance::CardTensors;
using conformance::drawn;
using conformance::equal_bits;
using conformance::UploadedCuda;

TEST_CASE("BatchNorm2d keeps the laws of every Compute, with all its options") {
  const Card card;
  conformance::for_each_of<conformance::Layers>([]<class L> {
    if constexpr (requires { L::momentum; }) CHECK(conformance::broken_law_of_layer<L, UploadedCuda>(20) == "");
  });
}

TEST_CASE("channels that several blocks share, in packs and singly") {
  const Card card;
  CHECK(against_loops::off<BatchNorm2d<2>>(Shape{2, 40, 40}, 9) == "");
  CHECK(against_loops::off<BatchNorm2d<3>>(Shape{3, 37, 41}, 5) == "");
  CHECK(against_loops::off<BatchNorm2d<70>>(Shape{70, 1, 1}, 17) == "");
}

TEST_CASE("one value a channel has no variance of a sample: it counts nothing there") {
  const Card card;
  Ran<BatchNorm2d<3>> t(Shape{3, 1, 1}, 1);
  t.run();
  CHECK((t.off() == "" && t.gradients[3] == Floats(3, 0.0F) && t.gradients[2] == t.input));
}

TEST_CASE("a large mean costs no precision, nor does a first value that is far off") {
  const Card card;
  Ran<BatchNorm2d<1>> t(Shape{1, 32, 32}, 2);
  for (std::size_t i = 0; i < t.input.size(); ++i) t.input[i] = i == 0 ? -60000.0F : 4096 + static_cast<float>(i * 37 % 64) / 8;
  t.forward(0, 2);
  double mean = 0, variance = 0;
  const auto n = static_cast<double>(t.input.size());
  for (const float x : t.input) mean += static_cast<double>(x) / n;
  for (const float x : t.input) variance += (static_cast<double>(x) - mean) * (static_cast<double>(x) - mean) / n;
  CHECK(std::abs(static_cast<double>(t.statistics[0]) / mean - 1) <= 4 * 0x1p-24);  // differences, their sums of four, and the result round
  CHECK(std::abs(static_cast<double>(t.statistics[1]) / variance - 1) <= 8 * 0x1p-24);
}

TEST_CASE("the bits do not depend on the order in which threads and blocks run") {
  CHECK(against_loops::same_bits_in_any_order<BatchNorm2d<2>>(Shape{2, 40, 40}, 5));
}

namespace {

using L = BatchNorm2d<3, Synchronised>;
using Kernels = Kernel<L, CudaCompute>;
constexpr std::int64_t channels = 3, values = 10, elements = channels * values;

/// One grain in phases, whose sums a test adds.
struct GrainInPhases {
  Leaf leaf = L::describe(Spec{Shape{3, 2, 5}});
  std::int64_t rows, together;
  Floats x, dy, y, dx, statistics, parameters[4], gradients[4];

  GrainInPhases(std::int64_t first, std::int64_t count, std::int64_t all)
      : rows(count), together(all), x(part(1, first)), dy(part(2, first)), y(x.size()), dx(x.size()),
        statistics(static_cast<std::size_t>(rows * channels * 2), conformance::nan) {
    for (std::size_t p = 0; p < 4; ++p) {
      parameters[p] = drawn(channels, 10 + p);
      gradients[p].assign(static_cast<std::size_t>(channels), conformance::nan);
    }
  }
  [[nodiscard]] Floats part(std::uint64_t seed, std::int64_t first) const {
    const Floats all = drawn(together * elements, seed);
    return {all.begin() + first * elements, all.begin() + (first + rows) * elements};
  }
  /// Phase k of the forward; `told` is that of earlier ones, null: it runs again.
  Floats forward(std::size_t k, std::vector<Floats>* told) {
    CardTensors card;
    Floats tells(k < 2 ? 3 : 0, conformance::nan);
    std::vector<const float*> sums, given;
    for (const Floats& p : parameters) given.push_back(card.given(p.data(), channels));
    ForwardCallIn<CudaMemory> call{&leaf, rows, card.given(x.data(), rows * elements), card.made(y.data(), rows * elements), given.data()};
    call.workspace = card.scratch(Kernels::scratch(leaf).value);
    call.statistics = card.made(statistics.data(), rows * channels * 2);
    call.context.trains = true;
    call.context.rows_together = together;
    if (k < 2) call.tells = card.made(tells.data(), 3);
    for (std::size_t i = 0; told != nullptr && i < told->size(); ++i) sums.push_back(card.given((*told)[i].data(), 3));
    if (told != nullptr) call.told = sums.data();
    call.space = card.space({});
    Kernels::forward_phases[k](call);
    card.finish();
    return tells;
  }
  Floats backward(std::size_t k, const Floats* told) {
    CardTensors card;
    Floats tells(6, conformance::nan);
    std::vector<const float*> given;
    std::vector<float*> made;
    for (const Floats& p : parameters) given.push_back(card.given(p.data(), channels));
    for (Floats& g : gradients) made.push_back(card.made(g.data(), channels));
    BackwardCallIn<CudaMemory> call{&leaf, rows, card.given(x.data(), rows * elements), nullptr, card.given(dy.data(), rows * elements)};
    call.parameters = given.data();
    call.workspace = card.scratch(Kernels::scratch(leaf).value);
    call.statistics = card.given(statistics.data(), rows * channels * 2);
    call.context.trains = true;
    call.context.rows_together = together;
    const float* const sums[] = {told == nullptr ? nullptr : card.given(told->data(), 6)};
    if (k == 0) {
      call.tells = card.made(tells.data(), 6);
      call.parameter_gradients = made.data();
    } else {
      call.input_gradient = card.made(dx.data(), rows * elements);
      call.told = sums;
    }
    call.space = card.space({});
    Kernels::backward_phases[k](call);
    card.finish();
    return tells;
  }
};
Floats added(const Floats& a, const Floats& b) {
  Floats sum = a;
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += b[i];
  return sum;
}

}  // namespace

TEST_CASE("two grains in phases have what one grain of all rows has, also without rows, and again from statistics") {
  const Card card;
  Ran<L> whole(Shape{3, 2, 5}, 7);
  for (const std::int64_t second : {3, 0}) {
    GrainInPhases a(0, 7 - second, 7), b(7 - second, second, 7);
    whole.input = drawn(7 * elements, 1);
    whole.output_gradient = drawn(7 * elements, 2);
    for (std::size_t p = 0; p < 4; ++p) whole.parameters[p] = a.parameters[p];
    whole.run();
    std::vector<Floats> told;
    for (std::size_t k = 0; k < 2; ++k) {
      const Floats one = a.forward(k, &told), other = b.forward(k, &told);
      told.push_back(added(one, other));
    }
    a.forward(2, &told);
    b.forward(2, &told);
    const Floats sums = added(a.backward(0, nullptr), b.backward(0, nullptr));
    a.backward(1, &sums);
    b.backward(1, &sums);
    // Means and variances are rounded sums of floats here, and of doubles there: some roundings of numbers of at most 4 each.
    const auto near = [](const Floats& all, const Floats& first, const Floats& rest) {
      bool found = all.size() == first.size() + rest.size();
      for (std::size_t i = 0; found && i < all.size(); ++i)
        found = std::abs(static_cast<double>(all[i]) - static_cast<double>(i < first.size() ? first[i] : rest[i - first.size()])) <= 128 * 0x1p-24;
      return found;
    };
    CHECK(near(whole.output, a.y, b.y));
    CHECK(near(whole.statistics, a.statistics, b.statistics));
    CHECK(near(whole.input_gradient, a.dx, b.dx));
    for (std::size_t p = 0; p < 2; ++p) CHECK(near(whole.gradients[p], added(a.gradients[p], b.gradients[p]), {}));
    for (std::size_t p = 2; p < 4; ++p)  // 70 times what is tracked
      for (std::size_t c = 0; c < 3; ++c)
        CHECK(std::abs(static_cast<double>(whole.gradients[p][c]) - static_cast<double>(a.gradients[p][c] + b.gradients[p][c])) <= 70 * 16 * 0x1p-24);
    const Floats made = a.y, left = a.statistics;
    a.y.assign(a.y.size(), conformance::nan);
    a.forward(2, nullptr);
    CHECK((equal_bits(a.y, made) && equal_bits(a.statistics, left)));
  }
}
