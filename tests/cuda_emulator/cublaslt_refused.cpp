// SPDX-License-Identifier: MIT
// Which products cuBLASLt takes: what its documentation says, and what a card has shown (docs/gpu-results.md).
#include <algorithm>
#include <array>
#include <string>

#include "cublaslt.hpp"

namespace cuda_emulator {
namespace {

constexpr std::uint32_t relu_bit = 2, bias_bit = 4, relu_gradient_bit = 8, bias_gradient_bit = 16, gelu_bit = 32, gelu_gradient_bit = 64,
                        kept_bit = 128, sums_of_a_bit = 256, sums_of_b_bit = 512;
constexpr std::int64_t mask_pitch = 128;  // bits
constexpr std::int64_t most_extent = 0x7FFFFFFF;

cublasStatus_t mistake(const std::string& sentence) {
  violation("cuBLASLt is asked for a product whose " + sentence + ".");
  return CUBLAS_STATUS_INVALID_VALUE;
}
cublasStatus_t not_offered(const std::string& sentence, cublasStatus_t status) {
  refusal("cuBLASLt does not offer a product " + sentence + ".");
  return status;
}
std::string extents(const MatrixLayout& layout) { return std::to_string(layout.rows) + " x " + std::to_string(layout.columns); }

cublasStatus_t look_at_extents(const Asked& asked) {
  const ProductDescription& how = asked.description;
  const std::int64_t m = how.a_operation == CUBLAS_OP_N ? asked.a.rows : asked.a.columns;
  const std::int64_t k_of_b = how.b_operation == CUBLAS_OP_N ? asked.b.rows : asked.b.columns;
  const std::int64_t n = how.b_operation == CUBLAS_OP_N ? asked.b.columns : asked.b.rows;
  if (asked.k() != k_of_b || asked.m() != m || asked.n() != n || asked.c.rows != m || asked.c.columns != n)
    return mistake("extents do not fit: a is " + extents(asked.a) + (how.a_operation == CUBLAS_OP_N ? "" : " transposed") + ", b is " +
                   extents(asked.b) + (how.b_operation == CUBLAS_OP_N ? "" : " transposed") + ", c is " + extents(asked.c) + ", d is " +
                   extents(asked.d));
  if (m <= 0 || n <= 0 || asked.k() <= 0) return mistake("extents are not all above 0");
  for (const MatrixLayout* const layout : {&asked.a, &asked.b, &asked.c, &asked.d}) {
    if (layout->pitch < layout->rows)
      return mistake("leading dimension " + std::to_string(layout->pitch) + " is less than its " + std::to_string(layout->rows) + " rows");
    if (layout->batches != asked.d.batches) return mistake("matrices have different numbers of batches");
    if (layout->rows > most_extent || layout->columns > most_extent || layout->pitch > most_extent)
      return not_offered("with extents of 2,147,483,648 or more", CUBLAS_STATUS_NOT_SUPPORTED);
  }
  if (asked.d.batches > 1 && asked.d.batch_stride < asked.d.pitch * (asked.d.columns - 1) + asked.d.rows &&
      asked.d.pitch < asked.d.batch_stride * (asked.d.batches - 1) + asked.d.rows)  // matrices of a batch may lie side by side in one with more rows
    return mistake("results of a batch lie on each other");
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t look_at_types(const Asked& asked) {
  const ProductDescription& how = asked.description;
  if (asked.a.type != asked.b.type || asked.c.type != asked.d.type)
    return not_offered("whose factors, or c and d, differ in type", CUBLAS_STATUS_NOT_SUPPORTED);
  if (how.scale_type != CUDA_R_32F) return not_offered("whose scale is not float32", CUBLAS_STATUS_NOT_SUPPORTED);
  const bool from_float = asked.a.type == CUDA_R_32F && asked.d.type == CUDA_R_32F;
  const bool from_bf16 = asked.a.type == CUDA_R_16BF && (asked.d.type == CUDA_R_16BF || asked.d.type == CUDA_R_32F);
  const bool as_float = how.compute == CUBLAS_COMPUTE_32F || how.compute == CUBLAS_COMPUTE_32F_PEDANTIC;
  const bool as_less = how.compute == CUBLAS_COMPUTE_32F_FAST_TF32 || how.compute == CUBLAS_COMPUTE_32F_EMULATED_16BFX9;
  if ((from_float && (as_float || as_less)) || (from_bf16 && as_float)) return CUBLAS_STATUS_SUCCESS;
  return not_offered("of these types with this type of computation, or the emulator does not know it", CUBLAS_STATUS_NOT_SUPPORTED);
}
cublasStatus_t look_at_epilogue(const Asked& asked) {
  constexpr std::array known{CUBLASLT_EPILOGUE_DEFAULT,   CUBLASLT_EPILOGUE_RELU,   CUBLASLT_EPILOGUE_RELU_AUX,      CUBLASLT_EPILOGUE_BIAS,
                             CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_GELU,   CUBLASLT_EPILOGUE_RELU_AUX_BIAS, CUBLASLT_EPILOGUE_GELU_AUX,
                             CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_DRELU,  CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUBLASLT_EPILOGUE_DRELU_BGRAD,
                             CUBLASLT_EPILOGUE_DGELU,     CUBLASLT_EPILOGUE_BGRADA, CUBLASLT_EPILOGUE_DGELU_BGRAD,   CUBLASLT_EPILOGUE_BGRADB};
  const ProductDescription& how = asked.description;
  if (std::find(known.begin(), known.end(), static_cast<cublasLtEpilogue_t>(how.epilogue)) == known.end())
    return not_offered("with epilogue " + std::to_string(how.epilogue), CUBLAS_STATUS_INVALID_VALUE);
  if (asked.uses_bias() && how.bias == nullptr) return mistake("epilogue has no bias pointer");
  if (!asked.uses_bias() && how.bias != nullptr) return mistake("epilogue does not use the bias pointer that it is given");
  if (asked.uses_bias() && asked.bias_type() != asked.d.type)
    return not_offered("whose bias, or gradient of one, has another type than its result", CUBLAS_STATUS_INVALID_VALUE);
  if ((how.epilogue & bias_bit) != 0 && (asked.m() == 1 || asked.k() == 1) && !state().options.bias_of_one)
    return not_offered("of one column or of depth 1 with a bias, of which it is not known whether a card does", CUBLAS_STATUS_NOT_SUPPORTED);
  const bool keeps = (how.epilogue & kept_bit) != 0;
  if (!keeps && how.kept != nullptr) return mistake("epilogue does not use the auxiliary pointer that it is given");
  if (!keeps) return CUBLAS_STATUS_SUCCESS;
  if (how.kept == nullptr || how.kept_pitch < asked.m()) return mistake("epilogue has no auxiliary matrix, or one with too few rows");
  constexpr std::int64_t gelu_pitch = 8;
  if ((how.epilogue & (gelu_bit | gelu_gradient_bit)) != 0 && how.kept_pitch % gelu_pitch != 0)
    return not_offered("whose auxiliary matrix has a leading dimension that is no multiple of 8", CUBLAS_STATUS_INVALID_VALUE);
  const bool mask = (how.epilogue & (relu_bit | relu_gradient_bit)) != 0;
  if (mask && how.kept_pitch % mask_pitch != 0) return mistake("auxiliary mask has a leading dimension that is no multiple of 128 bits");
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

EpilogueSteps Asked::steps() const {
  const auto has = [&](std::uint32_t bit) { return (description.epilogue & bit) != 0; };
  EpilogueSteps steps;
  steps.bias = has(bias_bit);
  steps.relu = has(relu_bit);
  steps.gelu = has(gelu_bit);
  steps.relu_gradient = has(relu_gradient_bit);
  steps.gelu_gradient = has(gelu_gradient_bit);
  steps.bias_gradient = has(bias_gradient_bit);
  steps.keeps = has(kept_bit);
  steps.sums_of_a = has(sums_of_a_bit);
  steps.sums_of_b = has(sums_of_b_bit);
  return steps;
}
bool Asked::uses_bias() const { return (description.epilogue & (bias_bit | bias_gradient_bit | sums_of_a_bit | sums_of_b_bit)) != 0; }
cudaDataType_t Asked::bias_type() const { return description.bias_type < 0 ? d.type : static_cast<cudaDataType_t>(description.bias_type); }

bool read(const cublasLtMatmulDescOpaque_t* description, const cublasLtMatrixLayoutOpaque_t* a, const cublasLtMatrixLayoutOpaque_t* b,
          const cublasLtMatrixLayoutOpaque_t* c, const cublasLtMatrixLayoutOpaque_t* d, Asked& to) {
  return read(description, to.description) && read(a, to.a) && read(b, to.b) && read(c, to.c) && read(d, to.d);
}
cublasStatus_t refused(const Asked& asked) {
  if (const cublasStatus_t status = look_at_extents(asked); status != CUBLAS_STATUS_SUCCESS) return status;
  if (const cublasStatus_t status = look_at_types(asked); status != CUBLAS_STATUS_SUCCESS) return status;
  return look_at_epilogue(asked);
}

}  // namespace cuda_emulator
