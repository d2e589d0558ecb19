// SPDX-License-Identifier: MIT
// What the emulated cuBLASLt refuses: products that a card does not offer, and products that are mistakes.
#include <doctest/doctest.h>

#include "cuda_emulator/described_product.hpp"

namespace {
using namespace cuda_emulator;
using namespace cuda_emulator::tests;

TEST_CASE("what a card does not offer is refused and is no mistake") {
  reset({});
  {
    const auto refused = [](cublasComputeType_t compute, cudaDataType_t of_factors, cudaDataType_t of_result, cublasLtEpilogue_t epilogue,
                            cudaDataType_t of_bias) {
      Described described({16, 16, 16}, compute, of_factors, of_result);
      const auto bias = OneCard::unset(16);
      const auto kept = OneCard::unset(16 * 16);
      described.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
      described.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.get());
      described.set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, of_bias);
      if (epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD) {
        described.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, kept.get());
        described.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{16});
      }
      const bool none = described.offered().empty();
      CHECK(none == (described.status != CUBLAS_STATUS_SUCCESS));
      return described.status;
    };
    CHECK(refused(CUBLAS_COMPUTE_32F, CUDA_R_16BF, CUDA_R_16BF, CUBLASLT_EPILOGUE_BIAS, CUDA_R_32F) == CUBLAS_STATUS_INVALID_VALUE);
    CHECK(refused(CUBLAS_COMPUTE_32F, CUDA_R_16BF, CUDA_R_16BF, CUBLASLT_EPILOGUE_BIAS, CUDA_R_16BF) == CUBLAS_STATUS_SUCCESS);
    CHECK(refused(CUBLAS_COMPUTE_32F, CUDA_R_16BF, CUDA_R_16BF, CUBLASLT_EPILOGUE_DGELU_BGRAD, CUDA_R_32F) == CUBLAS_STATUS_INVALID_VALUE);
    CHECK(refused(CUBLAS_COMPUTE_32F, CUDA_R_16BF, CUDA_R_32F, CUBLASLT_EPILOGUE_BGRADB, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS);
    CHECK(refused(CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_16BF, CUDA_R_16BF, CUBLASLT_EPILOGUE_BIAS, CUDA_R_16BF) == CUBLAS_STATUS_NOT_SUPPORTED);
    CHECK(refused(CUBLAS_COMPUTE_16F, CUDA_R_32F, CUDA_R_32F, CUBLASLT_EPILOGUE_BIAS, CUDA_R_32F) == CUBLAS_STATUS_NOT_SUPPORTED);
    CHECK(refusals().size() == 4);
    CHECK(says(refusals(), {"whose bias, or gradient of one, has another type than its result"}));
    CHECK(std::string(cublasLtGetStatusString(CUBLAS_STATUS_INVALID_VALUE)).find("an unsupported value or parameter") == 0);
  }
  check_right();
}
TEST_CASE("a bias of one number, or of products of depth 1, is not offered unless the test says that a card does") {
  for (const bool offered : {false, true}) {
    reset({.bias_of_one = offered});
    const OneCard card;
    const auto bias = card.up(8, 1.0F);
    for (const Described::Extents& e : {Described::Extents{1, 8, 8}, Described::Extents{8, 8, 1}}) {
      Described described(e);
      CHECK_FALSE(described.offered().empty());
      described.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      described.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(bias.get()));
      CHECK(described.offered().empty() == !offered);
    }
    CHECK(says(refusals(), {"of one column or of depth 1 with a bias"}) == !offered);
    CHECK(violations().empty());
  }
}
TEST_CASE("a product that is none, or whose memory does not fit, is a mistake") {
  reset({});
  const OneCard card;
  const auto workspace = card.unset<std::byte>(workspace_bytes);
  const auto numbers = card.up(64, 1.0F);
  const auto to = card.unset(64);
  Described described({8, 8, 8});
  const auto algorithms = described.offered();
  const auto run = [&](const void* a, void* d, std::size_t bytes = workspace_bytes) {
    for (const auto& algorithm : algorithms)
      if (const auto status = described.run(card, a, numbers.get(), d, algorithm, workspace.get(), 1, 0, bytes); status != CUBLAS_STATUS_SUCCESS)
        return status;
    return CUBLAS_STATUS_SUCCESS;
  };
  CHECK(run(numbers.get(), to.get()) == CUBLAS_STATUS_SUCCESS);
  CHECK(violations().empty());
  CHECK(run(numbers.get() + 4, to.get()) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(says(violations(), {"cublasLtMatmul is given a with 256 bytes at byte 16 of the memory", "which has 256 bytes"}));
  CHECK(run(numbers.get() + 1, to.get()) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(says(violations(), {"a at no multiple of 16 bytes"}));
  CHECK(run(numbers.get(), numbers.get()) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(says(violations(), {"writes its result over a factor"}));
  CHECK(run(numbers.get(), to.get(), 4096) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(says(violations(), {"is given 4096 bytes of workspace, of which its algorithm takes"}));
  Described other({8, 8, 8, true, false});
  CHECK(other.run(card, numbers.get(), numbers.get(), to.get(), algorithms[0], workspace.get()) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(says(violations(), {"an algorithm that was chosen for another kind of product"}));
  Described::set(other.b, CUBLASLT_MATRIX_LAYOUT_ROWS, std::uint64_t{7});
  CHECK(other.offered().empty());
  CHECK(says(violations(), {"extents do not fit: a is 8 x 8 transposed, b is 7 x 8, c is 8 x 8, d is 8 x 8"}));
  described.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  CHECK(described.offered().empty());
  CHECK(says(violations(), {"epilogue has no bias pointer"}));
  const auto with_bias = [&](int off) { described.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(numbers.get() + off)); };
  const auto chosen_for = [&](int off) {
    with_bias(off);
    return described.offered(1).at(0);
  };
  const auto aligned = chosen_for(4), odd = chosen_for(1);
  CHECK(described.run(card, numbers.get(), numbers.get(), to.get(), odd, workspace.get()) == CUBLAS_STATUS_SUCCESS);
  CHECK(described.run(card, numbers.get(), numbers.get(), to.get(), aligned, workspace.get()) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(says(violations(), {"is given a bias at no multiple of 16 bytes"}));
  CHECK(cublasLtMatrixLayoutDestroy(reinterpret_cast<cublasLtMatrixLayout_t>(to.get())) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(says(violations(), {"one of its layouts of matrices that does not exist"}));
}
TEST_CASE("every matrix of a batch lies at such an address as the heuristic was told of") {
  reset({});
  const OneCard card;
  const auto workspace = card.unset<std::byte>(workspace_bytes);
  const auto numbers = card.up(130, 1.0F);
  const auto to = card.unset(130);
  Described described({8, 8, 8});
  const auto lies_apart = [&](std::int64_t of_a, std::int64_t of_d) {
    for (const cublasLtMatrixLayout_t each : {described.a, described.b, described.d}) {
      Described::set(each, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{2});
      Described::set(each, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, each == described.a ? of_a : each == described.d ? of_d : 64);
    }
    return described.run(card, numbers.get(), numbers.get(), to.get(), described.offered(1)[0], workspace.get());
  };
  CHECK(lies_apart(64, 64) == CUBLAS_STATUS_SUCCESS);
  CHECK(violations().empty());
  CHECK(lies_apart(65, 64) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(says(violations(), {"a at no multiple of 16 bytes, in a batch"}));
  CHECK(lies_apart(64, 66) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(says(violations(), {"d at no multiple of 16 bytes, in a batch"}));
}
TEST_CASE("an algorithm takes more workspace for a larger product where the test says so") {
  for (const bool grows : {false, true}) {
    reset({.workspace_grows = grows});
    Described few({8, 8, 8}), many({8, 4096, 8});
    for (const auto& algorithm : few.offered()) {
      cublasLtMatmulHeuristicResult_t of_few{}, of_many{};
      CHECK(cublasLtMatmulAlgoCheck(few.handle, few.product, few.a, few.b, few.d, few.d, &algorithm, &of_few) == CUBLAS_STATUS_SUCCESS);
      CHECK(cublasLtMatmulAlgoCheck(many.handle, many.product, many.a, many.b, many.d, many.d, &algorithm, &of_many) == CUBLAS_STATUS_SUCCESS);
      CHECK((of_many.workspaceSize > of_few.workspaceSize) == (grows && of_few.workspaceSize > 0));
    }
  }
}
TEST_CASE("odd addresses are said to the heuristic, and without a workspace fewer algorithms are offered") {
  reset({});
  const OneCard card;
  const auto numbers = card.up(65, 1.0F);
  const auto to = card.unset(64);
  Described described({8, 8, 8});
  CHECK(described.offered(8, 0).size() == 4);
  const auto algorithm = described.offered(1, 0, 4)[0];
  CHECK(described.run(card, numbers.get() + 1, numbers.get(), to.get(), algorithm, nullptr, 1, 0, 0) == CUBLAS_STATUS_SUCCESS);
  CHECK(all_are(card.down(to, 64), 8.0F));
  reset({.algorithms = 1});
  CHECK(described.offered().size() == 1);
}
}  // namespace
