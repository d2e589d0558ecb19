// SPDX-License-Identifier: MIT
#include "heddle/compute/field/losses.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "compute/field/field.hpp"
#include "heddle/graph/losses/mean_squared_error.hpp"

using namespace in_field;

namespace {

constexpr std::int64_t rows = 3, positions = 2, classes = 6;
const std::vector<std::int32_t> labels{0, 5, 3, 3, 2, 1};

LossCall whole(const std::vector<float>& logits, std::vector<float>& gradient) {
  LossCall call;
  call.rows = rows;
  call.features = positions * classes;
  call.positions = positions;
  call.total_rows = 12;
  call.output = logits.data();
  call.targets = labels.data();
  call.gradient = gradient.data();
  return call;
}

/// As `parts` ranks make it: terms of each part, then their sums. Returns the loss of each rank.
std::vector<float> in_parts(int parts, const std::vector<float>& logits, std::vector<float>& gradient, bool spoil = false) {
  const std::int64_t own = classes / parts;
  std::vector<float> gathered(static_cast<std::size_t>(rows * parts * positions * 3));
  std::vector<std::vector<float>> of_part, gradients;
  for (int p = 0; p < parts; ++p) {
    std::vector<float> mine, terms(static_cast<std::size_t>(rows * positions * 3));
    for (std::int64_t i = 0; i < rows * positions; ++i)
      for (std::int64_t j = 0; j < own; ++j) mine.push_back(logits[static_cast<std::size_t>(i * classes + p * own + j)]);
    of_part.push_back(mine);
    gradients.push_back(mine);  // the gradient lies where the logits do
    LossCall call = whole(mine, gradients.back());
    call.output = gradients.back().data();
    call.features = positions * own;
    call.part = p;
    call.terms = terms.data();
    FieldLoss<CrossEntropy>::terms(call);
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t k = 0; k < positions * 3; ++k)
        gathered[static_cast<std::size_t>((r * parts + p) * positions * 3 + k)] = terms[static_cast<std::size_t>(r * positions * 3 + k)];
  }
  if (spoil) gathered[3] = Field::write(Field::plus(Field::read(gathered[3]), 1));  // the m of a part, as if another row's had arrived
  std::vector<float> losses;
  for (int p = 0; p < parts; ++p) {
    LossCall call = whole(of_part[static_cast<std::size_t>(p)], gradients[static_cast<std::size_t>(p)]);
    call.features = positions * own;
    call.part = p;
    call.parts = parts;
    call.terms = gathered.data();
    losses.push_back(FieldLoss<CrossEntropy>::sum(call));
    for (std::int64_t i = 0; i < rows * positions; ++i)
      for (std::int64_t j = 0; j < own; ++j)
        gradient[static_cast<std::size_t>(i * classes + p * own + j)] = gradients[static_cast<std::size_t>(p)][static_cast<std::size_t>(i * own + j)];
  }
  return losses;
}

/// Of a user, with targets of its own number and type.
template <class Element> struct Own { using Target = Element; };

/// Two rows of 4 outputs: the loss of both is the sum of the losses of each with its own targets, and depends on each of them.
template <class Element> void each_row_has_its_targets(std::vector<Element> targets) {
  const auto features = std::ssize(targets) / 2;
  CAPTURE(features);
  const std::vector<float> x = elements(8);
  const auto loss = [&](std::int64_t first, std::int64_t of_rows) {
    LossCall call;
    call.rows = of_rows;
    call.features = 4;
    call.total_rows = 2;
    call.output = x.data() + first * 4;
    call.targets = targets.data() + first * features;
    call.target_features = features;
    return FieldLoss<Own<Element>>::sum(call);
  };
  const float both = loss(0, 2);
  CHECK(same({both}, {FieldArithmetic::plus(loss(0, 1), loss(1, 1))}));
  for (Element& target : targets) {
    const Element before = std::exchange(target, std::is_same_v<Element, float> ? Element(Field::write(77)) : Element(77));
    CHECK_FALSE(same({loss(0, 2)}, {both}));
    target = before;
  }
}

}  // namespace

TEST_CASE("a row of targets has the width that its loss says, whatever the width of the output") {
  const Drawn drawn{9};
  each_row_has_its_targets(elements(2 * 1, 60));
  each_row_has_its_targets(elements(2 * 9, 60));
  each_row_has_its_targets(std::vector<std::int32_t>{1, 2, 3, 4, 5, 6});
}

TEST_CASE("a cross-entropy of parts is that of the whole, value and gradient, on every rank") {
  const Drawn drawn{9};
  const std::vector<float> logits = elements(rows * positions * classes);
  std::vector<float> wanted(logits.size());
  const float loss = FieldLoss<CrossEntropy>::sum(whole(logits, wanted));
  for (const int parts : {2, 3, 6}) {
    CAPTURE(parts);
    std::vector<float> gradient(logits.size());
    for (const float of_rank : in_parts(parts, logits, gradient)) CHECK(same({of_rank}, {loss}));
    CHECK(same(gradient, wanted));
    CHECK_FALSE(same(in_parts(parts, logits, gradient, true), std::vector<float>(static_cast<std::size_t>(parts), loss)));
  }
}

TEST_CASE("the gradient of a class depends on all logits of its position, on the target and on the rows of the step") {
  const Drawn drawn{9};
  std::vector<float> logits = elements(rows * positions * classes), wanted(logits.size()), other(logits.size());
  const float loss = FieldLoss<CrossEntropy>::sum(whole(logits, wanted));
  LossCall more = whole(logits, other);
  more.total_rows = 13;
  CHECK(same({FieldLoss<CrossEntropy>::sum(more)}, {loss}));
  CHECK(Field::read(other[0]) != Field::read(wanted[0]));
  logits[5] = Field::write(1);
  CHECK_FALSE(same({FieldLoss<CrossEntropy>::sum(whole(logits, other))}, {loss}));
  CHECK(Field::read(other[0]) != Field::read(wanted[0]));
  CHECK(Field::read(other[classes]) == Field::read(wanted[classes]));
  LossCall evaluated = whole(logits, other);
  evaluated.gradient = nullptr;
  CHECK(Field::read(FieldLoss<CrossEntropy>::sum(evaluated)) != 0);
}

TEST_CASE("terms of a part have one divisor, so their sum is no more of a quotient than each of them") {
  const Drawn degrees{9, FieldMode::degrees};
  std::vector<float> logits = variables(rows * positions * classes), gradient(logits.size());
  (void)in_parts(2, logits, gradient);
  for (const FieldCall& line : field_census.take()) {
    CHECK(line.symbol != FieldCensus::inverses);  // e(m) is never 0
    CHECK(Degrees::read(line.highest).of_difference() <= 5);
  }
}

TEST_CASE("bits that are no label name some class: a wrong Program may show them to a loss") {
  const Drawn drawn{9};
  std::vector<float> logits = elements(rows * positions * classes), gradient(logits.size());
  LossCall call = whole(logits, gradient);
  const auto of = [&](const std::vector<std::int32_t>& shown) {
    call.targets = shown.data();
    return FieldLoss<CrossEntropy>::sum(call);
  };
  CHECK(same({of({6, 13, 100, 1'000'000'002, 9, 3})}, {of({0, 1, 4, 0, 3, 3})}));
  const float of_negative = of({-1, -2, -1'000'000'000, 0, 0, 0});
  bool named = false;
  for (const std::int32_t a : {0, 1, 2, 3, 4, 5})
    for (const std::int32_t b : {0, 1, 2, 3, 4, 5})
      for (const std::int32_t c : {0, 1, 2, 3, 4, 5}) named = named || same({of({a, b, c, 0, 0, 0})}, {of_negative});
  CHECK(named);
}

TEST_CASE("another loss is any function of a row and its targets, and losses of rows add up") {
  const Drawn drawn{9};
  const std::vector<float> x = elements(8), targets = elements(8, 60);
  std::vector<float> gradient(8), half(4);
  LossCall call;
  call.rows = 2;
  call.features = 4;
  call.total_rows = 2;
  call.output = x.data();
  call.targets = targets.data();
  call.target_features = 4;
  call.gradient = gradient.data();
  const float both = FieldLoss<MeanSquaredError>::sum(call);
  call.rows = 1;
  call.gradient = half.data();
  const float first = FieldLoss<MeanSquaredError>::sum(call);
  CHECK(same(half, {gradient.begin(), gradient.begin() + 4}));
  call.output += 4;
  call.targets = targets.data() + 4;
  CHECK(same({FieldArithmetic::plus(first, FieldLoss<MeanSquaredError>::sum(call))}, {both}));
  call.targets = targets.data();
  FieldLoss<MeanSquaredError>::sum(call);
  CHECK(Field::read(half[0]) != Field::read(gradient[4]));
}
