// SPDX-License-Identifier: MIT
// Room: tests. What the opaque types of cuBLASLt hold, and which products are refused.
// Sees: state, product.  Does not see: how products are made.
// In: descriptors.  Out: ProductDescription, MatrixLayout, Wishes, Algorithm, planned, cublaslt_call.
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <cstring>
#include <string>

#include "product.hpp"
#include "state.hpp"

namespace cuda_emulator {

struct ProductDescription {
  static constexpr const char* kind = "descriptions of products";
  cublasComputeType_t compute = CUBLAS_COMPUTE_32F;
  cudaDataType_t scale_type = CUDA_R_32F;
  std::int32_t a_operation = CUBLAS_OP_N;
  std::int32_t b_operation = CUBLAS_OP_N;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
  std::int32_t bias_type = -1;  ///< -1: that of the result
  std::int64_t bias_stride = 0;
  void* kept = nullptr;
  std::int64_t kept_pitch = 0;
  std::int64_t kept_stride = 0;
};
struct MatrixLayout {
  static constexpr const char* kind = "layouts of matrices";
  cudaDataType_t type = CUDA_R_32F;
  std::int64_t rows = 0, columns = 0, pitch = 0;
  std::int32_t batches = 1;
  std::int64_t batch_stride = 0;
};
/// What the heuristic is told: 32 MiB of workspace at most, addresses that are multiples of 256 bytes.
struct Wishes {
  static constexpr const char* kind = "preferences of products";
  std::uint64_t workspace_bytes = 0;
  std::uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_MASK;  ///< how shares of a sum may be added
  std::uint32_t alignment_of_a = 256, alignment_of_b = 256, alignment_of_c = 256, alignment_of_d = 256;
};
/// What cublasLtMatmulAlgo_t holds: the way to make the products of one kind, with `parts` shares of each sum.
struct Algorithm {
  std::uint64_t mark = 0;
  std::uint64_t made_for = 0;  ///< types, transposes, epilogue
  std::int32_t number = 0;
  std::int32_t parts = 1;
  std::uint32_t alignments[5] = {};  ///< of a, b, c and d, as wished, and of the bias whose address was told
};
static_assert(sizeof(ProductDescription) <= sizeof(cublasLtMatmulDescOpaque_t));
static_assert(sizeof(MatrixLayout) <= sizeof(cublasLtMatrixLayoutOpaque_t));
static_assert(sizeof(Wishes) <= sizeof(cublasLtMatmulPreferenceOpaque_t));
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

/// A product without pointers, as the heuristic sees it.
struct Asked {
  ProductDescription description;
  MatrixLayout a, b, c, d;
  [[nodiscard]] std::int64_t m() const { return d.rows; }
  [[nodiscard]] std::int64_t n() const { return d.columns; }
  [[nodiscard]] std::int64_t k() const { return description.a_operation == CUBLAS_OP_N ? a.columns : a.rows; }
  [[nodiscard]] EpilogueSteps steps() const;
  [[nodiscard]] bool uses_bias() const;
  [[nodiscard]] cudaDataType_t bias_type() const;
};
/// Reads a descriptor; false, with a violation, if it does not exist.
template <class Held, class Opaque> [[nodiscard]] bool read(const Opaque* from, Held& to) {
  const auto known = state().library_objects.find(from);
  if (known == state().library_objects.end() || known->second != Held::kind) {
    violation(std::string("cuBLASLt is given one of its ") + Held::kind + " that does not exist.");
    return false;
  }
  std::memcpy(static_cast<void*>(&to), from, sizeof to);
  return true;
}
[[nodiscard]] bool read(const cublasLtMatmulDescOpaque_t* description, const cublasLtMatrixLayoutOpaque_t* a, const cublasLtMatrixLayoutOpaque_t* b,
                        const cublasLtMatrixLayoutOpaque_t* c, const cublasLtMatrixLayoutOpaque_t* d, Asked& to);

/// What the real one says of types, extents and epilogues. What is no product at all is a violation, what is only not offered a refusal.
[[nodiscard]] cublasStatus_t refused(const Asked& asked);

/// The body of a function of cuBLASLt.
template <class Body> cublasStatus_t cublaslt_call(const char* name, Body&& body) {
  Call call(name);
  return call.failed() ? CUBLAS_STATUS_INTERNAL_ERROR : body(call);
}
/// The same of one that gives something back.
template <class Body> cublasStatus_t cublaslt_release(const char* name, Body&& body) {
  Call call(name, Call::Kind::release);
  return body();
}

}  // namespace cuda_emulator
