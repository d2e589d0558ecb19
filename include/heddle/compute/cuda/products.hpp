// SPDX-License-Identifier: MIT
// Room: compute. Products of row-major matrices by cuBLASLt, each planned once.
// Sees: compute/cuda.  Does not see: layers, policies, programs.
// In: a ProductShape, then pointers of a card.  Out: CudaProducts, product.
#pragma once

#include <cublasLt.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <utility>

#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/product_shape.hpp"
#include "heddle/compute/cuda/resources.hpp"
#include "heddle/compute/cuda/step_kernels.hpp"
#include "heddle/core/bfloat16.hpp"
#include "heddle/core/shape.hpp"

namespace heddle::compute_room {

/// R36: a call of cuBLASLt has failed. `what` names it.
[[noreturn]] HEDDLE_COLD inline void refuse_cublas(cublasStatus_t status, const std::string& what) {
  throw Error(Code{'R', 36}, what + " failed with " + cublasLtGetStatusName(status) + ": " + cublasLtGetStatusString(status) +
                                 ". Fix: look at the first such sentence of any rank; ./heddle doctor says which cards there are.");
}
inline void check_cublas(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) refuse_cublas(status, what);
}
/// Whether an algorithm can be had or used: no is an answer, any other status a failure.
[[nodiscard]] inline bool accepted(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE || status == CUBLAS_STATUS_ARCH_MISMATCH) return false;
  check_cublas(status, what);
  return true;
}

/// Gives a handle of cuBLASLt back.
struct DestroyLt {
  cublasStatus_t operator()(cublasLtHandle_t handle) const { return cublasLtDestroy(handle); }
};
/// Gives the description of a product back.
struct DestroyLtProduct {
  cublasStatus_t operator()(cublasLtMatmulDesc_t product) const { return cublasLtMatmulDescDestroy(product); }
};
/// Gives the layout of a matrix back.
struct DestroyLtLayout {
  cublasStatus_t operator()(cublasLtMatrixLayout_t layout) const { return cublasLtMatrixLayoutDestroy(layout); }
};
/// Gives the wishes for a heuristic back.
struct DestroyLtPreference {
  cublasStatus_t operator()(cublasLtMatmulPreference_t preference) const { return cublasLtMatmulPreferenceDestroy(preference); }
};
using LtHandle = Owner<cublasLtHandle_t, DestroyLt>;
using LtProduct = Owner<cublasLtMatmulDesc_t, DestroyLtProduct>;
using LtLayout = Owner<cublasLtMatrixLayout_t, DestroyLtLayout>;
using LtPreference = Owner<cublasLtMatmulPreference_t, DestroyLtPreference>;

/// How products are made. 32 MiB of workspace are what NVIDIA advises for an H100.
struct CudaProductOptions {
  std::size_t workspace_bytes = std::size_t{32} << 20U;
  bool tf32 = false;            ///< float32 factors are rounded to 10 bits behind the point: an error of 3e-4 for 8 times the speed
  std::int64_t usual_rows = 0;  ///< rows of the whole batch of a step; 0: those of the first product that is planned
};

/// The products of one stream: a handle, a workspace on the card, and a plan for each ProductShape, made when it is first run: descriptors and an
/// algorithm. A run of what has a plan creates nothing, allocates nothing and asks no heuristic; a capture of its stream may be the first.
///
/// What keeps its bits. The heuristic chooses another algorithm for 8 rows than for 64, and then the bits of a row depend on the rows beside it. So
/// products that differ only in the rows that `grows` names share the algorithm of `usual` rows: replicas with 8 of 64 rows, or a smaller last batch,
/// take that of 64 rows if cublasLtMatmulAlgoCheck accepts it for them. plans_of_their_own() counts those where it does not. Of those tried on a card
/// (docs/gpu-results.md, Bits) all of float32 then keep the bits of a row, and all but one of TF32. Sums over rows depend on them in any case.
///
/// Errors  R36 if a call fails, or if cuBLASLt has no algorithm; R14 if the card has no room for the workspace
/// Tested  compute/cuda/products_test
class CudaProducts {
 public:
  CudaProducts(cudaStream_t stream, const CudaProductOptions& options)
      : options_(options), stream_(stream), workspace_(card_memory<std::byte>(options.workspace_bytes, "the workspace of products")) {
    check_cublas(cublasLtCreate(handle_.slot()), "cublasLtCreate");
  }
  /// For a few products, as of a test of one layer: with a workspace of 1 MiB, which is made sooner.
  explicit CudaProducts(cudaStream_t stream) : CudaProducts(stream, {.workspace_bytes = std::size_t{1} << 20U}) {}

  /// Queues the product. `bias` has n numbers if shape.bias says so. Nothing is queued if m, n or batch is 0.
  template <class In, class Made>
  void run(const ProductShape& shape, const In* a, const In* b, Made* c, const std::type_identity_t<Made>* bias = nullptr, float scale = 1) {
    static_assert(std::is_same_v<Made, float> || std::is_same_v<Made, In>);
    if (shape.m == 0 || shape.n == 0 || shape.batch == 0) return;
    const Plan& plan = plan_of(
        {shape, {type_of_values<In>, type_of_values<Made>}},
        {alignment(a, shape, shape.a_stride), alignment(b, shape, shape.b_stride), alignment(c, shape, shape.c_stride), alignment(bias, shape, 0)});
    if (shape.bias && !plan.bias_behind) set(plan.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    const float beta = shape.add ? 1.0F : 0.0F;
    // cuBLASLt stores by columns: it reads a row-major matrix as its transposed, and c^T = op(b)^T op(a)^T.
    check_cublas(cublasLtMatmul(handle_.get(), plan.product.get(), &scale, b, plan.b.get(), a, plan.a.get(), &beta, c, plan.c.get(), c, plan.c.get(),
                                &plan.algorithm, workspace_.get(), options_.workspace_bytes, stream_),
                 "cublasLtMatmul");
    if (plan.bias_behind)
      launch_each<AddBias>(stream_, shape.batch * shape.m * shape.n, shape.m, shape.n, shape.row_pitch(), shape.c_stride, bias, c);
  }
  [[nodiscard]] bool tf32() const { return options_.tf32; }
  [[nodiscard]] std::int64_t plans() const { return static_cast<std::int64_t>(plans_.size()); }
  /// Plans for which the algorithm of the usual rows was refused: bits of their rows may be others.
  [[nodiscard]] std::int64_t plans_of_their_own() const { return of_their_own_; }

 private:
  /// Bytes that the addresses of a, b, c and the bias are multiples of: {16, 16, 4, 16}.
  using Alignments = std::array<std::uint32_t, 4>;
  using Key = std::array<std::int64_t, 13>;
  /// A shape and the types of its elements: of a gradient of a weight {shape, {bfloat16, float32}}.
  struct Typed : ProductShape {
    ProductTypes types;
  };
  /// A shape as a key of a map: nvcc 13 uses a defaulted <=> before it is defined. Whether c is added to is no part of it, since no plan knows: so
  /// gradients that are added to zeros are those that overwrite.
  static Key key_of(const Typed& s, const Alignments& at) {
    std::int64_t how = static_cast<std::int64_t>(s.grows);
    for (const int part : {int{s.a_transposed}, int{s.b_transposed}, int{s.bias}, static_cast<int>(s.types.factors), static_cast<int>(s.types.made)})
      how = 8 * how + part;
    for (const std::uint32_t bytes : at) how = 32 * how + bytes;
    return {s.m, s.n, s.k, s.a_pitch, s.b_pitch, s.c_pitch, s.batch, s.a_stride, s.b_stride, s.c_stride, s.rows, s.usual, how};
  }
  /// Descriptors and the algorithm of one shape.
  struct Plan {
    LtProduct product;
    LtLayout a, b, c;
    cublasLtMatmulAlgo_t algorithm{};
    bool bias_behind = false;  // cuBLASLt has no algorithm that adds it, so a kernel does
  };
  /// The algorithm of all shapes that differ in rows alone.
  struct Shared {
    cublasLtMatmulAlgo_t algorithm{};
  };

  template <class Value> static std::uint32_t alignment(const Value* p, const ProductShape& s, std::int64_t stride) {
    constexpr std::uint32_t pack = 16;
    const bool each = s.batch == 1 || stride % Pack<Value>::count == 0;
    return each && reinterpret_cast<std::uintptr_t>(p) % pack == 0 ? pack : std::uint32_t{sizeof(Value)};
  }
  template <class V> static void set(const LtProduct& product, cublasLtMatmulDescAttributes_t attribute, V value) {
    check_cublas(cublasLtMatmulDescSetAttribute(product.get(), attribute, static_cast<const void*>(&value), sizeof value),
                 "cublasLtMatmulDescSetAttribute");
  }
  static cudaDataType_t lt_type(ElementType type) { return type == ElementType::bfloat16 ? CUDA_R_16BF : CUDA_R_32F; }
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
  /// A plan without its algorithm.
  Plan described(const Typed& s, const Alignments& at) {
    Plan made;
    const bool rounds = options_.tf32 && s.types.factors == ElementType::float32;
    check_cublas(cublasLtMatmulDescCreate(made.product.slot(), rounds ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F, CUDA_R_32F),
                 "cublasLtMatmulDescCreate");
    set(made.product, CUBLASLT_MATMUL_DESC_TRANSA, s.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(made.product, CUBLASLT_MATMUL_DESC_TRANSB, s.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (s.bias) {
      set(made.product, CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
      set(made.product, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, lt_type(s.types.made));
      set(made.product, CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(workspace_.get() + at[3]));  // the heuristic takes its alignment
    }
    const ElementType factors = s.types.factors;
    made.a = s.a_transposed ? layout(s, factors, s.k, s.m, s.a_pitch, s.a_stride) : layout(s, factors, s.m, s.k, s.a_pitch, s.a_stride);
    made.b = s.b_transposed ? layout(s, factors, s.n, s.k, s.b_pitch, s.b_stride) : layout(s, factors, s.k, s.n, s.b_pitch, s.b_stride);
    made.c = layout(s, s.types.made, s.m, s.n, s.c_pitch, s.c_stride);
    return made;
  }
  /// The first choice of the heuristic, if it has one.
  [[nodiscard]] bool choose(Plan& plan, const Alignments& at) {
    LtPreference preference;
    check_cublas(cublasLtMatmulPreferenceCreate(preference.slot()), "cublasLtMatmulPreferenceCreate");
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, auto value) {
      check_cublas(cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value), "cublasLtMatmulPreferenceSetAttribute");
    };
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, at[1]);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, at[0]);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, at[2]);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, at[2]);
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<std::uint64_t>(options_.workspace_bytes));
    constexpr int asked = 8;
    cublasLtMatmulHeuristicResult_t offered[asked] = {};  // nvcc 13.0 fails on a vector of this nameless struct
    int found = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(handle_.get(), plan.product.get(), plan.b.get(), plan.a.get(), plan.c.get(),
                                                                 plan.c.get(), preference.get(), asked, offered, &found);
    if (!accepted(status, "cublasLtMatmulAlgoGetHeuristic")) return false;
    for (int i = 0; i < found; ++i)
      if (offered[i].state == CUBLAS_STATUS_SUCCESS) {
        plan.algorithm = offered[i].algo;
        return true;
      }
    return false;
  }
  [[noreturn]] HEDDLE_COLD void refuse_shape(const Typed& s) const {
    const char* const words = s.types.factors == ElementType::bfloat16 ? " in bfloat16" : options_.tf32 ? " in TF32" : " in float32";
    const auto matrix = [](std::int64_t rows, std::int64_t columns, bool transposed) {
      return grouped_digits(rows) + " x " + grouped_digits(columns) + (transposed ? " (transposed)" : "");
    };
    throw Error(Code{'R', 36}, "cuBLASLt has no algorithm for the product of " + matrix(s.m, s.k, s.a_transposed) + " and " +
                                   matrix(s.k, s.n, s.b_transposed) + words + (s.batch > 1 ? ", " + grouped_digits(s.batch) + " in a batch" : "") +
                                   ". Fix: take sizes below 2,147,483,648, or smaller micro-batches.");
  }
  /// Whether an algorithm that was chosen for other rows can run this one.
  [[nodiscard]] bool takes(const Plan& plan, const Shared& shared) const {
    cublasLtMatmulHeuristicResult_t facts{};
    const cublasStatus_t status =
        cublasLtMatmulAlgoCheck(handle_.get(), plan.product.get(), plan.b.get(), plan.a.get(), plan.c.get(), plan.c.get(), &shared.algorithm, &facts);
    return accepted(status, "cublasLtMatmulAlgoCheck") && facts.workspaceSize <= options_.workspace_bytes;
  }

  const Plan& plan_of(const Typed& s, const Alignments& at) {
    const Key key = key_of(s, at);
    const auto known = plans_.find(key);
    return known != plans_.end() ? known->second : plans_.emplace(key, made_plan(s, at)).first->second;
  }
  static bool can_be_described(const ProductShape& s) { return s.batch <= std::numeric_limits<std::int32_t>::max(); }
  Plan made_plan(const Typed& s, const Alignments& at) {
    if (!can_be_described(s)) refuse_shape(s);
    Plan made = described(s, at);
    if (s.grows != GrowsIn::nothing) {
      if (const Shared* const shared = shared_of(s, at); shared != nullptr && takes(made, *shared)) {
        made.algorithm = shared->algorithm;
        return made;
      }
    }
    if (!choose(made, at)) return without_bias(s, at);
    if (s.grows != GrowsIn::nothing) ++of_their_own_;
    return made;
  }
  Plan without_bias(Typed s, const Alignments& at) {
    if (!s.bias) refuse_shape(s);
    s.bias = false;
    Plan made = made_plan(s, at);
    made.bias_behind = true;
    return made;
  }
  /// That of the usual rows; null if there is none for so many.
  const Shared* shared_of(const Typed& s, const Alignments& at) {
    const Key key = key_of(with_rows(s, 1), at);
    const auto known = shared_.find(key);
    if (known != shared_.end()) return &known->second;
    const std::int64_t usual = s.usual != 0 ? s.usual : options_.usual_rows != 0 ? options_.usual_rows : s.rows;
    const Typed shape = with_rows(s, usual);
    if (!can_be_described(shape)) return nullptr;
    Plan like = described(shape, at);
    if (!choose(like, at)) return nullptr;
    return &shared_.emplace(key, Shared{like.algorithm}).first->second;
  }
  static Typed with_rows(Typed s, std::int64_t rows) {
    std::int64_t& extent = s.grows == GrowsIn::m ? s.m : s.grows == GrowsIn::n ? s.n : s.batch;
    extent = extent / s.rows * rows;
    s.rows = rows;
    return s;
  }

  CudaProductOptions options_;
  cudaStream_t stream_;
  CardMemory<std::byte> workspace_;
  LtHandle handle_;
  std::map<Key, Plan> plans_;
  std::map<Key, Shared> shared_;
  std::int64_t of_their_own_ = 0;
};

/// Queues a product on the queue of a call: of floats, or of bfloat16 that make bfloat16 or floats.
template <class In, class Made>
void product(const CudaQueue& queue, const ProductShape& shape, const In* a, const In* b, Made* c, const std::type_identity_t<Made>* bias = nullptr,
             float scale = 1) {
  queue.products->run(shape, a, b, c, bias, scale);
}

}  // namespace heddle::compute_room
