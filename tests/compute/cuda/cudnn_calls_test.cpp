// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/cudnn_calls.hpp"

#include <doctest/doctest.h>

#include <string>

#include "compute/cuda/on_card.hpp"

using namespace heddle;
using compute_room::accepted_by_cudnn;
using compute_room::CudnnTensor;

TEST_CASE("no is an answer of cuDNN, and anything else a failure that is said with its name") {
  const on_card::Card card;
  CHECK(accepted_by_cudnn(CUDNN_STATUS_SUCCESS, "a question"));
  CHECK_FALSE(accepted_by_cudnn(CUDNN_STATUS_NOT_SUPPORTED, "a question"));
  CHECK_FALSE(accepted_by_cudnn(CUDNN_STATUS_NOT_SUPPORTED_SHAPE, "a question"));
  CHECK_FALSE(accepted_by_cudnn(CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH, "a question"));
  std::string said;
  try {
    static_cast<void>(accepted_by_cudnn(CUDNN_STATUS_EXECUTION_FAILED, "a question"));
  } catch (const HeddleError& error) {
    said = error.what();
  }
  CHECK(said.find("[heddle.R36] a question failed with CUDNN_STATUS_EXECUTION_FAILED. Fix: ") == 0);
}

TEST_CASE("a descriptor is given back by whoever owns it last") {
  const on_card::Card card;
  CudnnTensor first;
  compute_room::check_cudnn(cudnnCreateTensorDescriptor(first.slot()), "cudnnCreateTensorDescriptor");
  const CudnnTensor second = std::move(first);
  CHECK(second.get() != nullptr);
  CHECK(cuda_emulator::alive() == "1 descriptors of tensors");
}
