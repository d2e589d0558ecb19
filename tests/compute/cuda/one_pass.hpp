// SPDX-License-Identifier: MIT
// One forward and one backward of a leaf with a backend, for tests that hold two backends against each other.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"

namespace one_pass {

using namespace heddle;
using conformance::drawn;

/// Forward and backward of one leaf on a backend of the host's tensors.
struct Pass {
  Floats x, second, dy, y, dx, dsecond;
  template <class L, class C> static Pass of(const Leaf& leaf, std::int64_t rows, const CallContext& context = {}) {
    Pass p;
    p.x = drawn(rows * leaf.in.elements(), 1);
    p.second = drawn(rows * leaf.other.elements() * (leaf.operands - 1), 2);
    p.dy = drawn(rows * leaf.out.elements(), 3);
    p.y.assign(p.dy.size(), conformance::nan);
    p.dx.assign(p.x.size(), conformance::nan);
    p.dsecond.assign(p.second.size(), conformance::nan);
    ForwardCall forward{&leaf, rows, p.x.data(), p.y.data()};
    forward.second = p.second.data();
    forward.context = context;
    run_room::KernelFor<L, C>::forward(forward);
    for (std::int8_t operand = 0; operand < leaf.operands; ++operand) {
      BackwardCall backward{&leaf, rows};
      if (leaf.saves == Saves::input) backward.input = p.x.data();
      if (leaf.saves == Saves::output) backward.output = p.y.data();
      backward.output_gradient = p.dy.data();
      backward.input_gradient = operand == 0 ? p.dx.data() : p.dsecond.data();
      backward.operand = operand;
      backward.context = context;
      run_room::KernelFor<L, C>::backward(backward);
    }
    return p;
  }
};

/// A compiler may fuse a kernel's loop differently from another one.
inline bool close(const Floats& a, const Floats& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!(std::abs(a[i] - b[i]) <= 16 * 0x1p-24F * (1 + std::abs(b[i])))) return false;
  return a.size() == b.size();
}

}  // namespace one_pass
