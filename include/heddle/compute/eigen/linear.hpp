// SPDX-License-Identifier: MIT
// Room: compute. Linear on Eigen: three products, the bias and its gradient.
// Sees: graph/layers/linear, seams/concepts, compute/eigen.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall, Tail.  Out: Kernel<Linear, EigenCompute>.
#pragma once

#include <concepts>
#include <cstdint>

#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/compute/eigen/gemm.hpp"
#include "heddle/graph/layers/linear.hpp"

namespace heddle::compute_room {

/// Run-time extents of one call: vectors of `in` features become vectors of `out` features.
/// 8 rows of shape (5, 4) through Linear<4, 3> are 40 vectors, with in 4 and out 3.
struct LinearExtents {
  std::int64_t vectors;
  std::int64_t in;
  std::int64_t out;
  LinearExtents(const Leaf& leaf, std::int64_t rows)
      : vectors(rows * (leaf.in.elements() / leaf.in.shape.last())), in(leaf.in.shape.last()), out(leaf.out.shape.last()) {}
};

inline bool has_bias(const Leaf& leaf) { return leaf.parameter_count == 2; }

/// target (columns) = or += sum over rows of source (rows, columns), in the order of the rows.
inline void column_sums(std::int64_t rows, std::int64_t columns, const float* source, float* target, Into into) {
  for (std::int64_t j = 0; j < columns; j += block_elements) {
    FloatBlock sum{};
    for (std::int64_t i = 0; i < rows; ++i) {
      FloatBlock row;
      row.load(source + i * columns + j, columns - j);
      for_lanes([&](int l) { sum.values[l] += row.values[l]; });
    }
    if (into == Into::add)
      EigenCompute::add(target + j, target + j, sum.values, columns - j < block_elements ? columns - j : block_elements);
    else
      sum.store(target + j, columns - j);
  }
}

/// Products that run a tail on what is final of them.
template <class Products>
concept ProductsWithTail = requires(const float* from, float* to, const Tail* tail) {
  Products::nn(1, 1, 1, from, from, to, Into::overwrite, nullptr, tail);
};
/// product(), or product(tail) with its `elements`: of products that take no tail it runs when all are there.
template <class Products, class Product> void run_product(const Product& product, const Tail* tail, std::int64_t elements) {
  if constexpr (ProductsWithTail<Products>) {
    product(tail);
  } else {
    product();
    if (tail != nullptr) (*tail)(0, elements);
  }
}

/// The sums of a row start at the bias: it costs no pass of its own.
template <class Products> void linear_forward(const ForwardCall& call, const Tail* tail = nullptr) {
  const LinearExtents e(*call.leaf, call.rows);
  const auto product = [&](auto... last) {
    if (has_bias(*call.leaf))
      Products::nt_plus_row(e.vectors, e.out, e.in, call.input, call.parameters[0], call.parameters[1], call.output, call.workspace, last...);
    else
      Products::nt(e.vectors, e.out, e.in, call.input, call.parameters[0], call.output, Into::overwrite, call.workspace, last...);
  };
  run_product<Products>(product, tail, e.vectors * e.out);
}

/// dW (Out, In) = dY^T X, db = column sums of dY, dX (rows, In) = dY W.
template <class Products> void linear_backward(const BackwardCall& call, const Tail* tail = nullptr) {
  const LinearExtents e(*call.leaf, call.rows);
  const Into into = call.add ? Into::add : Into::overwrite;
  if (call.parameter_gradients != nullptr) {
    Products::tn(e.out, e.in, e.vectors, call.output_gradient, call.input, call.parameter_gradients[0], into, call.workspace);
    if (has_bias(*call.leaf)) column_sums(e.vectors, e.out, call.output_gradient, call.parameter_gradients[1], into);
  }
  if (call.input_gradient == nullptr) return;
  const auto product = [&](auto... last) {
    Products::nn(e.vectors, e.in, e.out, call.output_gradient, call.parameters[0], call.input_gradient, Into::overwrite, call.workspace, last...);
  };
  run_product<Products>(product, tail, e.vectors * e.in);
}

}  // namespace heddle::compute_room

namespace heddle {

/// Linear on EigenCompute or what derives from it; the code does not depend on In and Out.
///
/// Errors  none; rows may be 0
/// Tested  compute/eigen/linear_test
template <std::int64_t In, std::int64_t Out, class Bias, std::derived_from<compute_room::EigenCompute> C>
struct Kernel<graph_room::Linear<In, Out, Bias>, C> {
  using TakesTail = Kernel;
  using Products = typename compute_room::ProductsOf<C>::type;
  static constexpr bool backward_in_parts = true;
  static void forward(const seams_room::ForwardCall& call) { compute_room::linear_forward<Products>(call); }
  static void backward(const seams_room::BackwardCall& call) { compute_room::linear_backward<Products>(call); }
  static void forward_with_tail(const seams_room::ForwardCall& call, const seams_room::Tail& tail) {
    compute_room::linear_forward<Products>(call, &tail);
  }
  static void backward_with_tail(const seams_room::BackwardCall& call, const seams_room::Tail& tail) {
    compute_room::linear_backward<Products>(call, &tail);
  }
};

}  // namespace heddle
