// SPDX-License-Identifier: MIT
// Room: compute. One product of row-major matrices as cuBLASLt is told of it: descriptors, the algorithms that it offers, and the call.
// Sees: compute/cuda/cublas_calls, compute/cuda/product_shape, seams/error, core.  Does not see: which algorithm is taken, layers.
// In: a TypedProduct, pointers of a card.  Out: CudaProductOptions, TypedProduct, ProductKey, ProductPlan, OfferedAlgorithms, LtProducts.
#pragma once

#include <cublasLt.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>

#include "heddle/compute/cuda/cublas_calls.hpp"
#include "heddle/compute/cuda/product_shape.hpp"
#include "heddle/compute/cuda/resources.hpp"
#include "heddle/core/grouped_digits.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/shape.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::compute_room {

/// How products are made. 32 MiB of workspace are what NVIDIA advises for an H100.
struct CudaProductOptions {
  std::size_t workspace_bytes = std::size_t{32} << 20U;
  bool tf32 = false;            ///< float32 factors are rounded to 10 bits behind the point: an error of 3e-4 for 3.6 to 8 times the speed
  std::int64_t usual_rows = 0;  ///< rows of the whole batch of a step; 0: those of the first product that is planned
  bool autotunes = false;       ///< products are tried before the first step, and the fastest algorithms and epilogues are taken
};

/// A shape and the types of its elements: of a gradient of a weight {shape, {bfloat16, float32}}.
struct TypedProduct : ProductShape {
  ProductTypes types;
};
/// Bytes that the addresses of a, b, c and the bias are multiples of: {16, 16, 4, 16}.
using ProductAlignments = std::array<std::uint32_t, 4>;

/// A product as a key of a map: nvcc 13 uses a defaulted <=> before it is defined. Whether c is added to is no part of it, since no plan knows: so
/// gradients that are added to zeros are those that overwrite.
using ProductKey = std::array<std::int64_t, 13>;
[[nodiscard]] inline ProductKey key_of(const TypedProduct& s, const ProductAlignments& at) {
  std::int64_t how = static_cast<std::int64_t>(s.grows);
  for (const int part : {int{s.a_transposed}, int{s.b_transposed}, int{s.bias}, static_cast<int>(s.epilogue), static_cast<int>(s.types.factors),
                         static_cast<int>(s.types.made)})
    how = 8 * how + part;
  for (const std::uint32_t bytes : at) how = 32 * how + bytes;
  return {s.m, s.n, s.k, s.a_pitch, s.b_pitch, s.c_pitch, s.batch, s.a_stride, s.b_stride, s.c_stride, s.rows, s.usual, how};
}

/// Descriptors and the algorithm of one product.
struct ProductPlan {
  LtProduct product;
  LtLayout a, b, c;
  cublasLtMatmulAlgo_t algorithm{};
  bool there = true;         // false: no algorithm makes the epilogue as well
  bool bias_behind = false;  // cuBLASLt has no algorithm that adds it, so a kernel does
};
/// What the heuristic offers, the best first. An array: nvcc 13.0 fails on a vector of this nameless struct.
struct OfferedAlgorithms {
  cublasLtMatmulHeuristicResult_t all[8] = {};
  int count = 0;
};
/// Addresses of one product, of whatever types: those that its shape does not ask for may be null.
struct ProductAddresses {
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  const void* bias = nullptr;
  void* kept = nullptr;
  void* sums = nullptr;
};

/// A handle of cuBLASLt with a workspace, in one stream: of 32 MiB, and 8 algorithms for a product at most.
///
/// Errors  R36 if a call fails; R14 if the card has no room for the workspace
/// Tested  compute/cuda/lt_products_test, compute/cuda/products_test
class LtProducts {
 public:
  LtProducts(cudaStream_t stream, std::size_t workspace_bytes, bool tf32)
      : stream_(stream), workspace_bytes_(workspace_bytes), tf32_(tf32),
        workspace_(card_memory<std::byte>(workspace_bytes, "the workspace of products")) {
    check_cublas(cublasLtCreate(handle_.slot()), "cublasLtCreate");
  }

  [[nodiscard]] static bool can_be_described(const ProductShape& s) { return s.batch <= std::numeric_limits<std::int32_t>::max(); }
  /// A plan without its algorithm.
  [[nodiscard]] ProductPlan described(const TypedProduct& s, const ProductAlignments& at) const {
    ProductPlan made;
    const bool rounds = tf32_ && s.types.factors == ElementType::float32;
    check_cublas(cublasLtMatmulDescCreate(made.product.slot(), rounds ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
                 "cublasLtMatmulDescCreate");
    set(made.product, CUBLASLT_MATMUL_DESC_TRANSA, s.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(made.product, CUBLASLT_MATMUL_DESC_TRANSB, s.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (const cublasLtEpilogue_t epilogue = lt_epilogue(s); epilogue != CUBLASLT_EPILOGUE_DEFAULT)
      set(made.product, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    if (const bool sums = s.epilogue == Epilogue::sums_of_a; s.bias || sums) {
      set(made.product, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, sums ? CUDA_R_32F : lt_type(s.types.made));
      set(made.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(workspace_.get() + at[3]));  // the heuristic takes its alignment
    }
    if (keeps(s.epilogue)) {
      set(made.product, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, s.n);
      set(made.product, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<void*>(workspace_.get()));
    }
    const ElementType factors = s.types.factors;
    made.a = s.a_transposed ? layout(s, factors, s.k, s.m, s.a_pitch, s.a_stride) : layout(s, factors, s.m, s.k, s.a_pitch, s.a_stride);
    made.b = s.b_transposed ? layout(s, factors, s.n, s.k, s.b_pitch, s.b_stride) : layout(s, factors, s.k, s.n, s.b_pitch, s.b_stride);
    made.c = layout(s, s.types.made, s.m, s.n, s.c_pitch, s.c_stride);
    return made;
  }
  /// What the heuristic has for a plan that makes numbers of a type: a sum is rounded once, when all of it is there.
  [[nodiscard]] OfferedAlgorithms offered(const ProductPlan& plan, ElementType made, const ProductAlignments& at) const {
    LtPreference preference;
    check_cublas(cublasLtMatmulPreferenceCreate(preference.slot()), "cublasLtMatmulPreferenceCreate");
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      check_cublas(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value), "cublasLtMatmulPreferenceSetAttribute");
    };
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, at[1]);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, at[0]);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, at[2]);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, at[2]);
    if (made == ElementType::bfloat16)  // else shares of a sum may be kept, and added, as numbers of the result
      prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, std::uint32_t{CUBLASLT_REDUCTION_SCHEME_NONE | CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE});
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(workspace_bytes_));
    OfferedAlgorithms offers;
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle_.get(), plan.product.get(), plan.b.get(), plan.a.get(), plan.c.get(), plan.c.get(), preference.get(),
                                       static_cast<int>(std::size(offers.all)), offers.all, &found);
    if (!accepted(status, "cublasLtMatmulAlgoGetHeuristic")) return {};
    for (int i = 0; i < found; ++i)
      if (offers.all[i].state == CUBLAS_STATUS_SUCCESS) offers.all[offers.count++] = offers.all[i];
    return offers;
  }
  /// Whether an algorithm that was chosen elsewhere, as for other rows, can make this product.
  [[nodiscard]] bool takes(const ProductPlan& plan, const cublasLtMatmulAlgo_t& algorithm) const {
    cublasLtMatmulHeuristicResult_t facts{};
    const cublasStatus_t status =
        cublasLtMatmulAlgoCheck(handle_.get(), plan.product.get(), plan.b.get(), plan.a.get(), plan.c.get(), plan.c.get(), &algorithm, &facts);
    return accepted(status, "cublasLtMatmulAlgoCheck") && facts.workspaceSize <= workspace_bytes_;
  }
  /// Queues the product, but for a bias that a kernel adds behind it.
  void multiply(const ProductPlan& plan, const cublasLtMatmulAlgo_t& algorithm, const ProductShape& s, const ProductAddresses& at,
                float scale) const {
    if (s.bias && !plan.bias_behind) set(plan.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, at.bias);
    if (s.epilogue == Epilogue::sums_of_a) set(plan.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(at.sums));
    if (keeps(s.epilogue)) set(plan.product, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, at.kept);
    const float beta = s.add ? 1.0F : 0.0F;
    // cuBLASLt stores by columns: it reads a row-major matrix as its transposed, and c^T = op(b)^T op(a)^T.
    check_cublas(cublasLtMatmul(handle_.get(), plan.product.get(), &scale, at.b, plan.b.get(), at.a, plan.a.get(), &beta, at.c, plan.c.get(), at.c,
                                plan.c.get(), &algorithm, workspace_.get(), workspace_bytes_, stream_),
                 "cublasLtMatmul");
  }
  /// "the product of 64 x 784 and 784 x 128 (transposed) in bfloat16"
  [[nodiscard]] std::string in_words(const TypedProduct& s) const {
    const char* const words = s.types.factors == ElementType::bfloat16 ? " in bfloat16" : tf32_ ? " in TF32" : " in float32";
    const auto matrix = [](std::int64_t rows, std::int64_t columns, bool transposed) {
      return grouped_digits(rows) + " x " + grouped_digits(columns) + (transposed ? " (transposed)" : "");
    };
    return "the product of " + matrix(s.m, s.k, s.a_transposed) + " and " + matrix(s.k, s.n, s.b_transposed) + words +
           (s.batch > 1 ? ", " + grouped_digits(s.batch) + " in a batch" : "");
  }
  [[noreturn]] HEDDLE_COLD void refuse(const TypedProduct& s) const {
    throw Error(Code{'R', 36}, "cuBLASLt has no algorithm for " + in_words(s) + ". Fix: take sizes below 2,147,483,648, or smaller micro-batches.");
  }
  [[nodiscard]] bool tf32() const { return tf32_; }
  [[nodiscard]] cudaStream_t stream() const { return stream_; }

 private:
  template <class V> static void set(const LtProduct& product, cublasLtMatmulDescAttributes_t attribute, V value) {
    check_cublas(cublasLtMatmulDescSetAttribute(product.get(), attribute, static_cast<const void*>(&value), sizeof value),
                 "cublasLtMatmulDescSetAttribute");
  }
  static cudaDataType_t lt_type(ElementType type) { return type == ElementType::bfloat16 ? CUDA_R_16BF : CUDA_R_32F; }
  static bool keeps(Epilogue e) { return e == Epilogue::gelu || e == Epilogue::gelu_gradient; }
  static cublasLtEpilogue_t lt_epilogue(const ProductShape& s) {
    switch (s.epilogue) {
      case Epilogue::relu: return s.bias ? CUBLASLT_EPILOGUE_RELU_BIAS : CUBLASLT_EPILOGUE_RELU;
      case Epilogue::gelu: return s.bias ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
      case Epilogue::gelu_gradient: return CUBLASLT_EPILOGUE_DGELU;
      case Epilogue::sums_of_a: return CUBLASLT_EPILOGUE_BGRADB;  // of its b, which is our a
      default: return s.bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    }
  }
  /// Of a matrix that is stored as (rows, columns).
  static LtLayout layout(const ProductShape& s, ElementType type, std::int64_t rows, std::int64_t columns, std::int64_t pitch, std::int64_t stride) {
    LtLayout made;
    check_cublas(cublasLtMatrixLayoutCreate(made.slot(), lt_type(type), static_cast<std::uint64_t>(columns), static_cast<std::uint64_t>(rows),
                                            pitch == 0 ? columns : pitch),
                 "cublasLtMatrixLayoutCreate");
    if (s.batch == 1) return made;
    const auto set_attribute = [&](cublasLtMatrixLayoutAttribute_t attribute, auto value) {
      check_cublas(cublasLtMatrixLayoutSetAttribute(made.get(), attribute, &value, sizeof value), "cublasLtMatrixLayoutSetAttribute");
    };
    set_attribute(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(s.batch));
    set_attribute(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, stride);
    return made;
  }

  cudaStream_t stream_;
  std::size_t workspace_bytes_;
  bool tf32_;
  CardMemory<std::byte> workspace_;
  LtHandle handle_;
};

}  // namespace heddle::compute_room
