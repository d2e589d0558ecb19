// SPDX-License-Identifier: MIT
// cuBLASLt, algorithms and products:
//   cublasLtMatmulAlgoGetHeuristic cublasLtMatmulAlgoCheck cublasLtMatmul
#include <cublasLt.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "cublaslt.hpp"
#include "queues.hpp"
#include "sanitizers.hpp"
#include "touch.hpp"

namespace cuda_emulator {
namespace {

constexpr std::uint64_t algorithm_mark = 0x616C676F726974ULL;
constexpr std::uint64_t workspace_of_a_part = 4096;
constexpr std::uint32_t pack_bytes = 16;
constexpr std::int32_t number_that_depends_on_rows = 5;  // one algorithm of TF32 on a card does
constexpr std::int32_t most_parts = 16;

/// Where an algorithm keeps the shares of a sum: two of them as numbers of the result, which are rounded if that is bfloat16.
std::uint32_t reduction_of(const Algorithm& algorithm) {
  if (algorithm.parts == 1) return CUBLASLT_REDUCTION_SCHEME_NONE;
  return algorithm.number == 4   ? CUBLASLT_REDUCTION_SCHEME_INPLACE
         : algorithm.number == 7 ? CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE
                                 : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
}
/// Types, transposes and epilogue as one number: an algorithm runs products of one kind.
std::uint64_t kind_of(const Asked& asked) {
  const ProductDescription& how = asked.description;
  std::uint64_t kind = 0;
  for (const std::uint64_t part :
       {static_cast<std::uint64_t>(how.compute), static_cast<std::uint64_t>(asked.a.type), static_cast<std::uint64_t>(asked.d.type),
        static_cast<std::uint64_t>(how.a_operation), static_cast<std::uint64_t>(how.b_operation), static_cast<std::uint64_t>(how.epilogue)})
    kind = kind * 1024 + part;
  return kind;
}
/// Bytes that an algorithm of this number takes for a product: some have none, that of others may grow with the result.
std::uint64_t workspace_of(std::int32_t number, const Asked& asked) {
  if (number % 2 == 0) return 0;
  const auto results = static_cast<std::uint64_t>(asked.m() * asked.n()) * sizeof(float);
  return workspace_of_a_part * static_cast<std::uint64_t>(number) + (state().options.workspace_grows ? results : 0);
}
Algorithm numbered(std::int32_t number, const Asked& asked, const Wishes& wishes) {
  Algorithm made;
  made.mark = algorithm_mark;
  made.made_for = kind_of(asked);
  made.number = number;
  made.parts = number + 1;
  const std::uint32_t wished[] = {wishes.alignment_of_a, wishes.alignment_of_b, wishes.alignment_of_c, wishes.alignment_of_d};
  std::transform(std::begin(wished), std::end(wished), made.alignments, [](std::uint32_t bytes) { return std::min(bytes, pack_bytes); });
  const auto bias = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(asked.description.bias) % pack_bytes);
  made.alignments[4] = bias == 0 ? pack_bytes : bias & ~(bias - 1);
  return made;
}
/// Whether the algorithm can make the product, whatever it was chosen for.
bool can_make(const Algorithm& algorithm, const Asked& asked) {
  return algorithm.mark == algorithm_mark && algorithm.made_for == kind_of(asked) && algorithm.parts <= asked.k();
}
/// Shares of a sum. Those of one algorithm depend on the rows beside, as a card has shown of one of TF32.
std::int64_t parts_of(const Algorithm& algorithm, const Asked& asked) {
  if (asked.description.compute != CUBLAS_COMPUTE_32F_FAST_TF32 || algorithm.number != number_that_depends_on_rows) return algorithm.parts;
  return std::min<std::int64_t>(1 + (asked.m() + asked.n()) / 8 % algorithm.parts, asked.k());
}
/// The first choice depends on the extents, so that a product of fewer rows has other bits unless it takes the algorithm of all rows.
std::int32_t favourite(const Asked& asked, std::int32_t of) {
  const std::uint64_t mixed = static_cast<std::uint64_t>(asked.m()) * 31 + static_cast<std::uint64_t>(asked.n()) * 17 + asked.k();
  return static_cast<std::int32_t>(mixed / 4 % static_cast<std::uint64_t>(of));
}
int choose(const Asked& asked, const Wishes& wishes, int wanted, cublasLtMatmulHeuristicResult_t* results) {
  const std::int32_t there = std::min(
      {most_parts, static_cast<std::int32_t>(std::min<std::int64_t>(asked.k(), most_parts)), static_cast<std::int32_t>(state().options.algorithms)});
  int found = 0;
  for (std::int32_t i = 0; i < there && found < wanted; ++i) {
    const Algorithm algorithm = numbered((favourite(asked, there) + i) % there, asked, wishes);
    if (workspace_of(algorithm.number, asked) > wishes.workspace_bytes || (reduction_of(algorithm) & ~wishes.reductions) != 0) continue;
    cublasLtMatmulHeuristicResult_t& result = results[found++];
    result = {};
    std::memcpy(&result.algo, &algorithm, sizeof algorithm);
    result.workspaceSize = workspace_of(algorithm.number, asked);
    result.state = CUBLAS_STATUS_SUCCESS;
    result.wavesCount = 1;
  }
  return found;
}

/// The pointers of one call.
struct Pointers {
  const void* a;
  const void* b;
  const void* c;
  void* d;
  void* workspace;
  std::size_t workspace_bytes;
};
std::size_t bytes_held(const MatrixLayout& layout) {
  const std::int64_t last = layout.batch_stride * (layout.batches - 1) + layout.pitch * (layout.columns - 1) + layout.rows;
  return static_cast<std::size_t>(last) * bytes_of(layout.type);
}
cublasStatus_t mistake(const std::string& sentence) {
  violation("cublasLtMatmul " + sentence + ".");
  return CUBLAS_STATUS_INVALID_VALUE;
}
/// Every pointer lies on the card with all that the layout says, at an address that the algorithm can use, and so does every matrix of a batch.
cublasStatus_t look_at_pointers(const Asked& asked, const Pointers& at, const Algorithm& algorithm, float add_scale, int number, Work& work) {
  const auto look = [&](const char* name, const void* begin, std::size_t bytes, std::uint32_t alignment, std::int64_t apart = 0) {
    if (reinterpret_cast<std::uintptr_t>(begin) % alignment != 0 || apart % alignment != 0)
      return mistake(std::string("is given ") + name + " at no multiple of " + std::to_string(alignment) + " bytes" +
                     (apart % alignment != 0 ? ", in a batch" : ""));
    if (!state().memory.on_device(begin, bytes, number)) {
      char text[160];
      state().memory.describe(begin, text, sizeof text);
      return mistake(std::string("is given ") + name + " with " + std::to_string(bytes) + " bytes at " + text);
    }
    work.ranges.push_back({begin, bytes});
    return CUBLAS_STATUS_SUCCESS;
  };
  const ProductDescription& how = asked.description;
  const std::int64_t bias_numbers = (asked.steps().sums_of_b ? asked.n() : asked.m()) + how.bias_stride * (asked.d.batches - 1);
  const std::int64_t kept = how.kept_pitch * (asked.n() - 1) + asked.m() + how.kept_stride * (asked.d.batches - 1);
  const bool mask = asked.steps().relu || asked.steps().relu_gradient;
  const std::size_t kept_bytes = mask ? static_cast<std::size_t>(kept + 7) / 8 : static_cast<std::size_t>(kept) * bytes_of(asked.d.type);
  const auto look_at_matrix = [&](const char* name, const void* begin, const MatrixLayout& layout, std::uint32_t alignment) {
    const std::int64_t apart = layout.batches > 1 ? layout.batch_stride * static_cast<std::int64_t>(bytes_of(layout.type)) : 0;
    return look(name, begin, bytes_held(layout), alignment, apart);
  };
  cublasStatus_t status = look_at_matrix("a", at.a, asked.a, algorithm.alignments[0]);
  if (status == CUBLAS_STATUS_SUCCESS) status = look_at_matrix("b", at.b, asked.b, algorithm.alignments[1]);
  if (status == CUBLAS_STATUS_SUCCESS) status = look_at_matrix("d", at.d, asked.d, algorithm.alignments[3]);
  if (status == CUBLAS_STATUS_SUCCESS && add_scale != 0) status = look_at_matrix("c", at.c, asked.c, algorithm.alignments[2]);
  if (status == CUBLAS_STATUS_SUCCESS && at.workspace_bytes > 0) status = look("a workspace", at.workspace, at.workspace_bytes, pack_bytes);
  if (status == CUBLAS_STATUS_SUCCESS && asked.uses_bias())
    status = look("a bias", how.bias, static_cast<std::size_t>(bias_numbers) * bytes_of(asked.bias_type()), algorithm.alignments[4]);
  if (status == CUBLAS_STATUS_SUCCESS && how.kept != nullptr) status = look("an auxiliary matrix", how.kept, kept_bytes, pack_bytes);
  return status;
}
bool overlap(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes) {
  const auto* const a_begin = static_cast<const char*>(a);
  const auto* const b_begin = static_cast<const char*>(b);
  return a_begin < b_begin + b_bytes && b_begin < a_begin + a_bytes;
}
bool is_one_piece(const MatrixLayout& layout) { return layout.batches == 1 && layout.pitch == layout.rows; }
cublasStatus_t look_at_results(const Asked& asked, const Pointers& at, float add_scale) {
  const auto lies_under_result = [&](const MatrixLayout& factor, const void* begin) {
    return is_one_piece(asked.d) && is_one_piece(factor) && overlap(at.d, bytes_held(asked.d), begin, bytes_held(factor));
  };
  if (lies_under_result(asked.a, at.a) || lies_under_result(asked.b, at.b)) return mistake("writes its result over a factor");
  const ProductDescription& how = asked.description;
  const bool mask = asked.steps().relu || asked.steps().relu_gradient;
  const auto kept_bytes = static_cast<std::size_t>(how.kept_pitch * asked.n()) * (mask ? 1 : 8 * bytes_of(asked.d.type)) / 8;
  if (how.kept != nullptr && overlap(at.d, bytes_held(asked.d), how.kept, kept_bytes)) return mistake("has its auxiliary matrix where its result is");
  if (add_scale != 0 && at.c == at.d && (asked.c.pitch != asked.d.pitch || asked.c.batch_stride != asked.d.batch_stride))
    return mistake("adds to its result, but c and d have different layouts");
  return CUBLAS_STATUS_SUCCESS;
}
Product product_of(const Asked& asked, const Pointers& at, const Algorithm& algorithm, float scale, float add_scale) {
  const ProductDescription& how = asked.description;
  const auto matrix = [](const MatrixLayout& layout, const void* numbers) {
    return Matrix{const_cast<void*>(numbers), layout.type, layout.pitch, layout.batch_stride};
  };
  Product made;
  made.m = asked.m(), made.n = asked.n(), made.k = asked.k(), made.batches = asked.d.batches;
  made.a_transposed = how.a_operation != CUBLAS_OP_N;
  made.b_transposed = how.b_operation != CUBLAS_OP_N;
  made.tf32 = how.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  made.parts = parts_of(algorithm, asked);
  made.rounds_parts = (reduction_of(algorithm) & ~CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) != 0;
  made.a = matrix(asked.a, at.a), made.b = matrix(asked.b, at.b), made.c = matrix(asked.c, at.c), made.d = matrix(asked.d, at.d);
  made.scale = scale, made.add_scale = add_scale;
  made.steps = asked.steps();
  made.relu_keeps_nan = state().options.relu_keeps_nan;
  made.bias = how.bias, made.bias_type = asked.bias_type(), made.bias_stride = how.bias_stride;
  made.kept = {how.kept, asked.d.type, how.kept_pitch, how.kept_stride};
  made.workspace = at.workspace;
  made.workspace_bytes = workspace_of(algorithm.number, asked);
  return made;
}
cublasStatus_t queue_product(const Asked& asked, const Pointers& at, const Algorithm& algorithm, float scale, float add_scale, Stream& stream) {
  Work work{"cublasLtMatmul", {}};
  const bool ends = (asked.description.epilogue & ~static_cast<std::uint32_t>(CUBLASLT_EPILOGUE_DEFAULT | CUBLASLT_EPILOGUE_BIAS)) != 0;
  work.ms = (algorithm.number == state().options.fastest ? 1 : 2) + (ends ? state().options.epilogue_ms : 0);
  if (const std::uint64_t takes = workspace_of(algorithm.number, asked); takes > at.workspace_bytes)
    return mistake("is given " + std::to_string(at.workspace_bytes) + " bytes of workspace, of which its algorithm takes " + std::to_string(takes));
  if (const auto status = look_at_pointers(asked, at, algorithm, add_scale, stream.device, work); status != CUBLAS_STATUS_SUCCESS) return status;
  if (const auto status = look_at_results(asked, at, add_scale); status != CUBLAS_STATUS_SUCCESS) return status;
  work.start = [product = product_of(asked, at, algorithm, scale, add_scale)]() mutable -> std::shared_ptr<Unfinished> {
    ++state().counts.products;
    std::unique_ptr<float[]> scratch;  // not on the stack of whoever runs the queues, which has a history for the thread sanitizer
    if (const tsan::Silence silence; true) scratch = std::make_unique_for_overwrite<float[]>(product.scratch_numbers());
    product.scratch = scratch.get();
    touch_product(product);
    const tsan::Silence silence;
    scratch.reset();
    return nullptr;
  };
  return enqueue(stream, std::move(work)) == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace
}  // namespace cuda_emulator

using namespace cuda_emulator;

extern "C" {

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t description, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  return cublaslt_call(__func__, [&](Call&) {
    ++state().counts.heuristics;
    *found = 0;
    Asked asked;
    Wishes wishes;
    if (!read(description, a, b, c, d, asked) || !read(preference, wishes) || wanted < 1) return CUBLAS_STATUS_INVALID_VALUE;
    if (const cublasStatus_t status = refused(asked); status != CUBLAS_STATUS_SUCCESS) return status;
    *found = choose(asked, wishes, wanted, results);
    return *found > 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
  });
}
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t, cublasLtMatmulDesc_t description, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d, const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result) {
  return cublaslt_call(__func__, [&](Call&) {
    Asked asked;
    if (algorithm == nullptr || !read(description, a, b, c, d, asked)) return CUBLAS_STATUS_INVALID_VALUE;
    if (const cublasStatus_t status = refused(asked); status != CUBLAS_STATUS_SUCCESS) return status;
    Algorithm held;
    std::memcpy(static_cast<void*>(&held), algorithm, sizeof held);
    if (!can_make(held, asked)) return CUBLAS_STATUS_NOT_SUPPORTED;
    *result = {};
    result->algo = *algorithm;
    result->workspaceSize = workspace_of(held.number, asked);
    result->state = CUBLAS_STATUS_SUCCESS;
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description, const void* scale, const void* a,
                              cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout, const void* add_scale, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm,
                              void* workspace, size_t workspace_bytes, cudaStream_t stream_handle) {
  return cublaslt_call(__func__, [&](Call&) {
    Asked asked;
    if (scale == nullptr || add_scale == nullptr || !read(description, a_layout, b_layout, c_layout, d_layout, asked))
      return CUBLAS_STATUS_INVALID_VALUE;
    Stream* const stream = stream_of(stream_handle);
    if (stream == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
    const auto known = state().library_objects.find(handle);
    if (known == state().library_objects.end()) return mistake("is given a handle that does not exist");
    if (*reinterpret_cast<const int*>(handle) != stream->device) return mistake("is given a handle of another device than its stream's");
    if (const cublasStatus_t status = refused(asked); status != CUBLAS_STATUS_SUCCESS) return status;
    Algorithm held = numbered(0, asked, {});
    if (algorithm != nullptr) std::memcpy(static_cast<void*>(&held), algorithm, sizeof held);
    if (algorithm == nullptr) ++state().counts.heuristics;  // it asks by itself
    if (!can_make(held, asked)) return mistake("is given an algorithm that was chosen for another kind of product");
    return queue_product(asked, {a, b, c, d, workspace, workspace_bytes}, held, *static_cast<const float*>(scale),
                         *static_cast<const float*>(add_scale), *stream);
  });
}

}  // extern "C"
