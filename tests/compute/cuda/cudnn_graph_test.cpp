// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/cudnn_graph.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "compute/cuda/on_card.hpp"
#include "heddle/compute/cuda/cudnn_attention.hpp"

using namespace heddle;
using namespace heddle::compute_room;
using on_card::Card;

namespace {

/// The forward of one sequence of 4 positions with a head of 8 features; its keys have so many features.
std::vector<CudnnRole> roles_of(std::int64_t of_keys) {
  const auto tensor = [](std::int64_t id, std::int64_t features) {
    return CudnnTensorFacts{id, {1, 1, 4, features}, {4 * features, features, features, 1}};
  };
  return {{CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, tensor(1, 8)},
          {CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, tensor(2, of_keys)},
          {CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, tensor(3, of_keys)},
          {CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, tensor(4, 8)},
          {CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, CudnnAttentionTensors::scaled()}};
}

}  // namespace

TEST_CASE("an operation holds its tensors; one that cuDNN does not take is none, and its plan is none") {
  const Card card{cuda_emulator::Options{.seed = 1}};
  const CudnnOperation made = cudnn_operation(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, roles_of(8));
  CHECK(made.operation.get() != nullptr);
  CHECK(made.tensors.size() == 5);
  CudnnTensorFacts of_doubles = roles_of(8)[0].facts;
  of_doubles.type = CUDNN_DATA_FLOAT;
  auto odd = roles_of(8);
  odd[0].facts = of_doubles;
  CHECK(cudnn_operation(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, odd).operation.get() == nullptr);
  CudnnHandle handle;
  check_cudnn(cudnnCreate(handle.slot()), "cudnnCreate");
  CHECK(cudnn_plan(handle.get(), cudnn_operation(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, odd)).plan.get() == nullptr);
  CHECK(cudnn_plan(handle.get(), cudnn_operation(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, roles_of(8))).plan.get() != nullptr);
  CHECK(cuda_emulator::violations().empty());
}

TEST_CASE("the emulator sees an operation whose tensors do not fit, and a plan that is made while a stream captures") {
  cuda_emulator::reset({});
  CHECK(cudnn_operation(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, roles_of(16)).operation.get() == nullptr);
  CHECK(cuda_emulator::violations().size() == 1);
  cuda_emulator::reset({});
  {
    CudnnHandle handle;
    check_cudnn(cudnnCreate(handle.slot()), "cudnnCreate");
    const Stream stream = make_stream();
    CHECK_THROWS(static_cast<void>(captured(stream.get(), [&] {
      static_cast<void>(cudnn_plan(handle.get(), cudnn_operation(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, roles_of(8))));
    })));
  }
  CHECK(cuda_emulator::violations().size() >= 1);
  CHECK(cuda_emulator::alive() == "");
}
