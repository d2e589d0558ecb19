// SPDX-License-Identifier: MIT
// Attention on a card beside the same attention on the host: both are held against loops in double, and against each other.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "compute/cuda/on_card.hpp"
#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"
#include "heddle/compute/cuda/attention.hpp"
#include "heddle/compute/eigen/attention.hpp"

namespace attention_cases {

using namespace heddle;
using on_card::Card;
template <class L> using OnCard = LeafUnderTest<L, conformance::UploadedCuda>;

inline CallContext third_step_from_row(std::int64_t row) {
  CallContext context{Seed{7}, 3, 2};
  context.first_row = row;
  return context;
}
inline void run(AnyLeafUnderTest& test, std::int64_t rows) {
  for (Floats* made : {&test.output, &test.statistics, &test.input_gradient}) conformance::fill(*made, conformance::nan);
  test.forward(0, rows);
  test.backward(0, rows, false);
}

/// Each may be off by the bound of the loops, so they may be off from each other by twice as much.
inline void lie_together(const std::string& what, const Floats& card, const Floats& host, const conformance::Numbers& wanted) {
  CHECK(conformance::off(what, card, wanted) == "");
  for (std::size_t i = 0; i < card.size(); ++i)
    if (!(std::abs(static_cast<double>(card[i]) - static_cast<double>(host[i])) <= 2 * wanted[i].bound)) {
      CAPTURE(what);
      CAPTURE(i);
      CHECK(card[i] == host[i]);
      return;
    }
}
/// Outputs, log-sums and gradients. The loops count dropped weights of several sequences a row from row 0 alone.
inline void lie_together(AnyLeafUnderTest& card, AnyLeafUnderTest& host, std::int64_t rows, std::int64_t first_row,
                         conformance::Results (*loops)(const conformance::Tensors&)) {
  CAPTURE(card.leaf().in.shape.sizes[0]);
  CAPTURE(card.leaf().in.shape.last());
  card.context = host.context = third_step_from_row(first_row);
  run(card, rows);
  host.forward(0, rows);
  host.backward(0, rows, false);
  const std::vector<Floats> none;
  const conformance::Results wanted = loops({card.leaf(), rows, card.input, card.output_gradient, card.parameters, none, card.context, card.second});
  lie_together("the output", card.output, host.output, wanted.output);
  lie_together("the statistics", card.statistics, host.statistics, wanted.statistics);
  lie_together("the gradient of the input", card.input_gradient, host.input_gradient, wanted.input_gradient);
  CHECK(card.beside == nullptr);
}
template <class L> void follows_the_definition(const Shape& shape, std::int64_t rows, std::int64_t first_row = 5) {
  const Leaf leaf = L::describe(Spec{shape});
  OnCard<L> card{leaf, rows, Seed{1}};
  LeafUnderTest<L, EigenCompute> host{leaf, rows, Seed{1}};
  lie_together(card, host, rows, first_row, [](const conformance::Tensors& t) { return conformance::Slow<L>::run(t, {}); });
}

}  // namespace attention_cases
