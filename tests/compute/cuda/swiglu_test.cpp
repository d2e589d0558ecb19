// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/swiglu.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>

#include "compute/cuda/on_card.hpp"
#include "compute/cuda/one_pass.hpp"
#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"

using namespace heddle;
using conformance::UploadedCuda;
using on_card::Card;
using one_pass::close;
using one_pass::Pass;

TEST_CASE("gates of any extents and rows compute on a card what loops in double compute, and keep to their tensors") {
  const Card card;
  CHECK(conformance::broken_law_of_layer<SwiGLU, UploadedCuda>(20) == "");
}

TEST_CASE("gates of many blocks are those of the layer's own functions, whether halves are whole packs or not") {
  const Card card;
  for (const std::int64_t width : {32, 35}) {
    const Pass p = Pass::of<SwiGLU, UploadedCuda>(SwiGLU::describe(Spec{Shape{3, 2 * width}}), 21);
    Floats y(p.y.size()), dx(p.dx.size());
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t gate = i + i / static_cast<std::size_t>(width) * static_cast<std::size_t>(width);
      const std::size_t value = gate + static_cast<std::size_t>(width);
      y[i] = SwiGLU::let_through(p.x[gate], p.x[value]);
      dx[gate] = SwiGLU::backward_of_gate(p.x[gate], p.x[value], p.dy[i]);
      dx[value] = SwiGLU::backward_of_value(p.x[gate], p.dy[i]);
    }
    CHECK((close(p.y, y) && close(p.dx, dx)));
  }
}
