// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/dropout.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "compute/cuda/on_card.hpp"
#include "compute/cuda/one_pass.hpp"
#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"
#include "heddle/compute/eigen/dropout.hpp"

using namespace heddle;
using conformance::equal_bits;
using conformance::UploadedCuda;
using on_card::Card;
using one_pass::Pass;

TEST_CASE_TEMPLATE("a layer that drops computes on a card what loops in double compute, of any extents and rows", L, Dropout<1, 10>, Dropout<2, 3>,
                   Dropout<0>) {
  const Card card;
  CHECK(conformance::broken_law_of_layer<L, UploadedCuda>(20) == "");
}

TEST_CASE("the mask has the bits that the CPU draws, whole and in parts, whose blocks of four elements begin anywhere") {
  const Card card;
  using L = Dropout<1, 3>;
  for (const auto& shape : {Shape{4, 6}, Shape{3, 700}, Shape{5}})
    for (const std::int64_t runs : {1, 2, 3}) {
      const Leaf leaf = L::describe(Spec{shape});
      if (leaf.in.elements() % runs != 0) continue;
      CallContext context{Seed{7}, 3, 5};
      context.first_row = 11;
      context.runs = runs;
      for (context.parts = 1; context.parts <= 3; context.parts += 2)
        for (context.part = 0; context.part < context.parts; ++context.part) {
          const Pass here = Pass::of<L, UploadedCuda>(leaf, 3, context), there = Pass::of<L, EigenCompute>(leaf, 3, context);
          CHECK((equal_bits(here.y, there.y) && equal_bits(here.dx, there.dx)));
        }
    }
}

TEST_CASE("the step of a mask is that of the card, whatever the call says, so a captured call draws anew in each replay") {
  const Card card;
  using L = Dropout<1, 2>;
  const Leaf leaf = L::describe(Spec{Shape{64}});
  const std::int64_t rows = 5, n = rows * 64;
  const Stream stream = make_stream();
  const CardMemory<float> x = card_memory<float>(static_cast<std::size_t>(n), "x"), y = card_memory<float>(static_cast<std::size_t>(n), "y");
  const CardMemory<CudaNumbers> there = card_memory<CudaNumbers>(1, "numbers");
  const CudaQueue queue{stream.get(), nullptr, there.get()};
  const Floats ones(static_cast<std::size_t>(n), 1.0F);
  check_cuda(cudaMemcpyAsync(x.get(), ones.data(), ones.size() * sizeof(float), cudaMemcpyHostToDevice, stream.get()), "cudaMemcpyAsync");
  wait_for(stream.get());
  const CallContext context{Seed{7}, 1'000, 5};
  ForwardCallIn<CudaMemory> call{&leaf, rows, x.get(), y.get()};
  call.context = context;
  call.space = {&queue};
  const RunnableGraph graph = captured(stream.get(), [&] { Kernel<L, CudaCompute>::forward(call); });
  for (const std::int64_t step : {3, 4, 3}) {
    CudaNumbers numbers;
    numbers.step = step;
    check_cuda(cudaMemcpyAsync(there.get(), &numbers, sizeof numbers, cudaMemcpyHostToDevice, stream.get()), "cudaMemcpyAsync");
    check_cuda(cudaGraphLaunch(graph.get(), stream.get()), "cudaGraphLaunch");
    Floats made(ones.size()), wanted(ones.size());
    check_cuda(cudaMemcpyAsync(made.data(), y.get(), made.size() * sizeof(float), cudaMemcpyDeviceToHost, stream.get()), "cudaMemcpyAsync");
    wait_for(stream.get());
    CallContext of_step = context;
    of_step.step = step;
    Kernel<L, EigenCompute>::forward({&leaf, rows, ones.data(), wanted.data(), nullptr, nullptr, 0, nullptr, nullptr, of_step});
    CHECK(equal_bits(made, wanted));
  }
}
