// SPDX-License-Identifier: MIT
#include "heddle/compute/field/watched.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "compute/field/field.hpp"
#include "heddle/compute/field/any_layer.hpp"
#include "heddle/compute/field/linear.hpp"
#include "heddle/compute/field/losses.hpp"

using namespace heddle;

namespace {

/// What a kernel of one feature and one parameter does, by its number.
template <int Way> struct Doubtful {};

Leaf leaf_of_two() {
  Leaf leaf;
  leaf.kind << "Doubtful";
  leaf.in = leaf.out = Spec{Shape{2}};
  leaf.with({"weight", Shape{2}, Initial::ones});
  return leaf;
}

enum : int { exact, sums, compares, writes_nothing, writes_one, adds_nothing, skips_the_last_row, moves };

}  // namespace

template <int Way> struct heddle::FieldKernel<Doubtful<Way>> {
  static constexpr bool backward_in_parts = true;
  static std::uint64_t product(float a, float b) { return Field::times(Field::read(a), Field::read(b)); }
  static void forward(const ForwardCall& call) {
    const std::int64_t rows = Way == writes_nothing ? 0 : Way == skips_the_last_row ? call.rows - 1 : call.rows;
    for (std::int64_t i = 0; i < rows * 2; ++i) {
      const float x = call.input[i];
      const float weight = call.parameters[0][i % 2];
      if (Way == sums)
        call.output[i] = x + weight;
      else if (Way == compares)
        call.output[i] = std::max(x, weight);
      else if (Way == moves)
        call.output[i] = x;
      else
        call.output[i] = Field::write(product(x, weight));
    }
  }
  static void backward(const BackwardCall& call) {
    for (std::int64_t i = 0; i < 2 && call.parameter_gradients != nullptr; ++i) {
      std::uint64_t sum = call.add ? Field::read(call.parameter_gradients[0][i]) : 0;
      for (std::int64_t r = 0; r < call.rows; ++r) sum = Field::plus(sum, product(call.output_gradient[r * 2 + i], call.input[r * 2 + i]));
      if (Way != adds_nothing) call.parameter_gradients[0][i] = Field::write(sum);
    }
    for (std::int64_t i = 0; i < call.rows * 2 && call.input_gradient != nullptr; ++i)
      call.input_gradient[i] = Way == writes_one ? 1.0F : Field::write(product(call.output_gradient[i], call.parameters[0][i % 2]));
  }
};

namespace {

/// What forward and backward say of themselves, and what they have written.
struct Called {
  std::string said;
  std::vector<std::uint64_t> output, dx, dw;
};

template <class Kernel> Called called(FieldMode mode, bool add = false) {
  const in_field::Drawn drawn{1, mode};
  const Leaf leaf = leaf_of_two();
  const std::vector<float> x{Field::write(2), Field::write(3), Field::write(4), Field::write(5)};
  const std::vector<float> dy{Field::write(1), Field::write(1), Field::write(2), Field::write(3)};
  const std::vector<float> w{Field::write(6), Field::write(7)};
  const float* const parameters[] = {w.data()};
  std::vector<float> y(4, 0.5F);
  std::vector<float> dx(4, 0.5F);
  std::vector<float> dw{Field::write(10), Field::write(20)};
  float* const gradients[] = {dw.data()};
  Called all;
  try {
    Kernel::forward({&leaf, 2, x.data(), y.data(), parameters});
    Kernel::backward({&leaf, 2, x.data(), nullptr, dy.data(), dx.data(), parameters, gradients, add});
  } catch (const Error& error) {
    all.said = error.what();
  }
  all.output = in_field::residues(y);
  all.dx = in_field::residues(dx);
  all.dw = in_field::residues(dw);
  return all;
}
template <int Way> Called watched(FieldMode mode, bool add = false) { return called<FieldWatched<Doubtful<Way>>>(mode, add); }

bool says(const Called& all, const std::string& what) {
  CAPTURE(all.said);
  const bool said = all.said.find("[heddle.R34] heddle::FieldKernel<Doubtful<") == 0 && all.said.find(what) != std::string::npos;
  CHECK(said);
  return said;
}

}  // namespace

TEST_CASE("a kernel that computes with Field gives what it gives without a watch, in every mode, adding or not") {
  for (const FieldMode mode : {FieldMode::values, FieldMode::census, FieldMode::degrees})
    for (const bool add : {false, true}) {
      const Called wanted = called<FieldKernel<Doubtful<exact>>>(mode, add);
      const Called got = watched<exact>(mode, add);
      CHECK(got.said.empty());
      CHECK(got.output == wanted.output);
      CHECK(got.dx == wanted.dx);
      CHECK(got.dw == wanted.dw);
    }
  CHECK(watched<exact>(FieldMode::values).output == std::vector<std::uint64_t>{12, 21, 24, 35});
  CHECK(watched<moves>(FieldMode::degrees).output == std::vector<std::uint64_t>{2, 3, 4, 5});
}

TEST_CASE("a kernel that computes with floats is refused where degrees are counted, whatever it computes") {
  says(watched<sums>(FieldMode::degrees), ">::forward computes with the floats that hold elements, so nothing is proved of it. Fix: ");
  says(watched<compares>(FieldMode::degrees), ">::forward computes with the floats");
}

TEST_CASE("an element that is not written, and one that Field::write has not made, are named") {
  for (const FieldMode mode : {FieldMode::values, FieldMode::degrees}) {
    says(watched<writes_nothing>(mode), ">::forward leaves element 0 of the output unwritten");
    says(watched<skips_the_last_row>(mode), ">::forward leaves element 2 of the output unwritten");
    says(watched<adds_nothing>(mode), ">::backward leaves element 0 of the gradient of a parameter unwritten");
  }
  CHECK(watched<adds_nothing>(FieldMode::values, true).dw == std::vector<std::uint64_t>{10, 20});  // the difference to one device is told as R31
  says(watched<writes_one>(FieldMode::degrees), ">::backward writes at element 0 of the gradient of its input what Field::write has not made");
}

namespace {

struct Whole {
  using Target = float;
};
struct InFloats {
  using Target = float;
};

template <class Loss> std::string said_by_loss(std::uint64_t wanted) {
  const in_field::Drawn drawn{1, FieldMode::degrees};
  const std::vector<float> output{Field::write(2), Field::write(3)};
  const std::vector<float> targets{Field::write(1), Field::write(5)};
  std::vector<float> gradient(2);
  LossCall call;
  call.rows = call.total_rows = 1;
  call.features = call.target_features = 2;
  call.output = output.data();
  call.targets = targets.data();
  call.gradient = gradient.data();
  try {
    const std::uint64_t sum = Field::read(FieldCompute::LossKernelOf<Loss>::sum(call));
    CHECK(sum == wanted);
    CHECK(Field::read(gradient[1]) == 1);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

template <> struct heddle::FieldLoss<Whole> {
  static float sum(const LossCall& call) {
    for (std::int64_t i = 0; i < call.features; ++i) call.gradient[i] = Field::write(1);
    return Field::write(Field::times(Field::read(call.output[0]), Field::read(static_cast<const float*>(call.targets)[1])));
  }
};
template <> struct heddle::FieldLoss<InFloats> {
  static float sum(const LossCall& call) {
    for (std::int64_t i = 0; i < call.features; ++i) call.gradient[i] = Field::write(1);
    return call.output[0] - static_cast<const float*>(call.targets)[1];
  }
};

TEST_CASE("a loss of a user is watched where its output is whole") {
  CHECK(said_by_loss<Whole>(7).empty());  // degrees 2 and 5
  CHECK(said_by_loss<InFloats>(0).find("[heddle.R34] heddle::FieldLoss<InFloats>::sum computes with the floats") == 0);
  CHECK(std::is_same_v<FieldCompute::LossKernelOf<CrossEntropy>, FieldLoss<CrossEntropy>>);
}

TEST_CASE("Heddle's own kernels are not watched") {
  CHECK(std::is_same_v<FieldCompute::KernelOf<Doubtful<exact>>, FieldWatched<Doubtful<exact>>>);
  CHECK(std::is_same_v<FieldCompute::KernelOf<Whole>, FieldKernel<Whole>>);
  CHECK(std::is_same_v<FieldCompute::KernelOf<Linear<3, 4>>, FieldKernel<Linear<3, 4>>>);
}
