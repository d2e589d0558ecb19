// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/reshape.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "compute/cuda/on_card.hpp"
#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"

using namespace heddle;
using conformance::CardTensors;
using conformance::UploadedCuda;
using on_card::Card;

TEST_CASE_TEMPLATE("another shape has on a card the same elements, of any extents and rows", L, Flatten, Unflatten<3, 4>) {
  const Card card;
  CHECK(conformance::broken_law_of_layer<L, UploadedCuda>(20) == "");
}

TEST_CASE("nothing is copied where input and output are one array, or where nobody needs the gradient") {
  const Card card;
  const Leaf leaf = Flatten::describe(Spec{Shape{3, 4}});
  Floats x = conformance::drawn(24, 1), y(24);
  const auto copies = [&](Floats& out) {
    CardTensors tensors;
    ForwardCallIn<CudaMemory> forward{&leaf, 2, tensors.made(x.data(), 24), tensors.made(out.data(), 24)};
    forward.space = tensors.space({});
    BackwardCallIn<CudaMemory> backward{&leaf, 2};
    backward.output_gradient = forward.output;
    backward.space = forward.space;
    const long before = cuda_emulator::counts().copies;
    Kernel<Flatten, CudaCompute>::forward(forward);
    Kernel<Flatten, CudaCompute>::backward(backward);
    const long made = cuda_emulator::counts().copies - before;
    tensors.finish();
    return made;
  };
  CHECK(copies(x) == 0);
  CHECK(copies(y) == 1);
  CHECK(conformance::equal_bits(x, y));
}
