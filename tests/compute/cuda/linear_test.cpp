// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "compute/cuda/on_card.hpp"
#include "compute/eigen/arrays.hpp"
#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"
#include "heddle/compute/cuda/linear.hpp"
#include "heddle/compute/eigen/linear.hpp"

using namespace heddle;
using arrays::Array;
using conformance::UploadedCuda;
using on_card::Card;

namespace {

/// One layer with random operands, run by a backend of the host's memory.
template <class L, class C> struct Run {
  Leaf leaf;
  Array y, dx, dw, db, workspace;
  Run(const Shape& in, std::int64_t rows, bool add = false)
      : leaf(L::describe(Spec{in})), y(rows * leaf.out.elements(), 0, arrays::nan), dx(rows * leaf.in.elements(), 0, arrays::nan),
        dw(leaf.parameters[0].shape.elements(), 5), db(leaf.out.shape.last(), 6), workspace(EigenCompute::workspace.value / 4) {
    const Array x{rows * leaf.in.elements(), 1}, w{dw.elements(), 2}, b{db.elements(), 3}, dy{y.elements(), 4};
    const float* const parameters[] = {w.data(), b.data()};
    float* const gradients[] = {dw.data(), db.data()};
    run_room::KernelFor<L, C>::forward({&leaf, rows, x.data(), y.data(), parameters, workspace.data()});
    run_room::KernelFor<L, C>::backward({&leaf, rows, x.data(), nullptr, dy.data(), dx.data(), parameters, gradients, add, workspace.data()});
    for (const Array* array : {&y, &dx, &dw, &db}) CHECK(array->guarded());
  }
};
double distance(const Array& a, const Array& b) {
  double far = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) far = std::max(far, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return far;
}
/// Sums of at most 310 products below 1 are off by 312 u of 310 on each side.
constexpr double bound = 2 * 312 * 310 * arrays::unit_roundoff;

template <class L> void agrees_with_eigen(const Shape& in, std::int64_t rows, bool add) {
  const Run<L, UploadedCuda> card{in, rows, add}, again{in, rows, add};
  const Run<L, EigenCompute> host{in, rows, add};
  CAPTURE(card.leaf.spelled.view());
  CAPTURE(rows);
  CHECK(distance(card.y, host.y) <= bound);
  CHECK(distance(card.dx, host.dx) <= bound);
  CHECK(distance(card.dw, host.dw) <= bound);
  CHECK(distance(card.db, host.db) <= bound);
  CHECK(card.y.same_bits(again.y));
  CHECK(card.dx.same_bits(again.dx));
  CHECK(card.dw.same_bits(again.dw));
  CHECK(card.db.same_bits(again.db));
}

}  // namespace

TEST_CASE("Linear with and without a bias keeps the laws of every Compute") {
  const Card card;
  CHECK(conformance::broken_law_of_layer<Linear<4, 3>, UploadedCuda>(20) == "");
  CHECK(conformance::broken_law_of_layer<Linear<4, 3, NoBias>, UploadedCuda>(20) == "");
}

TEST_CASE("Linear agrees with Eigen's kernel for odd and large extents, and has the same bits each time") {
  const Card card;
  agrees_with_eigen<Linear<33, 10>>(Shape{33}, 96, false);
  agrees_with_eigen<Linear<33, 10>>(Shape{33}, 301, true);
  agrees_with_eigen<Linear<64, 129, NoBias>>(Shape{3, 64}, 41, false);
  agrees_with_eigen<Linear<300, 64>>(Shape{2, 300}, 65, true);
  agrees_with_eigen<Linear<1, 1>>(Shape{1}, 1, false);
}

TEST_CASE("of no rows the gradients of parameters are 0, or stay") {
  const Card card;
  const Run<Linear<5, 3>, UploadedCuda> empty{Shape{5}, 0};
  for (std::int64_t i = 0; i < 15; ++i) CHECK(empty.dw[i] == 0);
  for (std::int64_t i = 0; i < 3; ++i) CHECK(empty.db[i] == 0);
  const Run<Linear<5, 3>, UploadedCuda> kept{Shape{5}, 0, true};
  CHECK(kept.dw.same_bits(Array{15, 5}));
  CHECK(kept.db.same_bits(Array{3, 6}));
}

TEST_CASE("a forward is one product with the bias in it, a backward two and the sums") {
  const Card card;
  const auto launched = [] { return cuda_emulator::counts().products * 1000 + cuda_emulator::counts().kernels; };
  const long before = launched();
  const Run<Linear<5, 3>, UploadedCuda> run{Shape{5}, 9};
  CHECK(launched() - before == 3001);
  const Run<Linear<5, 3, NoBias>, UploadedCuda> without{Shape{5}, 9};
  CHECK(launched() - before == 6001);
}

namespace {
/// An array on the card, brought there and back.
struct OnCard {
  Array& here;
  CardMemory<float> there;
  cudaStream_t stream;
  OnCard(const Stream& on, Array& array)
      : here(array), there(card_memory<float>(static_cast<std::size_t>(array.elements()), "an array")), stream(on.get()) {
    check_cuda(cudaMemcpyAsync(there.get(), here.data(), bytes(), cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
  }
  void bring_back() const {
    check_cuda(cudaMemcpyAsync(here.data(), there.get(), bytes(), cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    wait_for(stream);
  }
  [[nodiscard]] std::size_t bytes() const { return static_cast<std::size_t>(here.elements()) * sizeof(float); }
};
}  // namespace

TEST_CASE("a sample has the same output and gradient among any number of samples") {
  const Card card;
  using L = Linear<33, 10>;
  constexpr std::int64_t most = 24, vectors = 3;
  const Stream stream = make_stream();
  CudaProducts products{stream.get(), {.workspace_bytes = std::size_t{1} << 16U, .usual_rows = most}};
  const CudaQueue queue{stream.get(), &products, nullptr};
  const Leaf leaf = L::describe(Spec{Shape{vectors, 33}});
  Array x{most * leaf.in.elements(), 1}, w{330, 2}, b{10, 3}, dy{most * leaf.out.elements(), 4};
  const OnCard x_there{stream, x}, w_there{stream, w}, b_there{stream, b}, dy_there{stream, dy};
  const auto first_sample = [&](std::int64_t rows) {
    Array y{rows * leaf.out.elements(), 0, arrays::nan}, dx{rows * leaf.in.elements(), 0, arrays::nan};
    const OnCard y_there{stream, y}, dx_there{stream, dx};
    const float* const parameters[] = {w_there.there.get(), b_there.there.get()};
    ForwardCallIn<CudaMemory> forward{&leaf, rows, x_there.there.get(), y_there.there.get(), parameters};
    BackwardCallIn<CudaMemory> backward{&leaf, rows, nullptr, nullptr, dy_there.there.get(), dx_there.there.get(), parameters};
    forward.space = backward.space = {&queue};
    Kernel<L, CudaCompute>::forward(forward);
    Kernel<L, CudaCompute>::backward(backward);
    y_there.bring_back();
    dx_there.bring_back();
    std::vector<float> both(y.data(), y.data() + leaf.out.elements());
    both.insert(both.end(), dx.data(), dx.data() + leaf.in.elements());
    return both;
  };
  const std::vector<float> alone = first_sample(1);
  for (std::int64_t rows = 2; rows <= most; ++rows) CHECK(first_sample(rows) == alone);
  CHECK(products.plans_of_their_own() == 0);
}
