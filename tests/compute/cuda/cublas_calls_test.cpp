// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/cublas_calls.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "compute/cuda/on_card.hpp"

using namespace heddle;
using compute_room::accepted;
using compute_room::LtProduct;

TEST_CASE("no is an answer of cuBLASLt, and anything else a failure that is said with its name") {
  const on_card::Card card;
  CHECK(accepted(CUBLAS_STATUS_SUCCESS, "a question"));
  CHECK_FALSE(accepted(CUBLAS_STATUS_NOT_SUPPORTED, "a question"));
  CHECK_FALSE(accepted(CUBLAS_STATUS_INVALID_VALUE, "a question"));
  CHECK_FALSE(accepted(CUBLAS_STATUS_ARCH_MISMATCH, "a question"));
  std::string said;
  try {
    static_cast<void>(accepted(CUBLAS_STATUS_EXECUTION_FAILED, "a question"));
  } catch (const HeddleError& error) {
    said = error.what();
  }
  CHECK(said.find("[heddle.R36] a question failed with CUBLAS_STATUS_EXECUTION_FAILED: ") == 0);
}

TEST_CASE("a descriptor is given back by whoever owns it last") {
  const on_card::Card card;
  {
    LtProduct first;
    compute_room::check_cublas(cublasLtMatmulDescCreate(first.slot(), CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
    const LtProduct second = std::move(first);
    CHECK(second.get() != nullptr);
    CHECK(cuda_emulator::alive() != "");
  }
  CHECK(cuda_emulator::alive() == "");
}
