// SPDX-License-Identifier: MIT
// cuBLASLt, what a product is described by:
//   cublasLtCreate cublasLtDestroy cublasLtGetVersion cublasLtGetCudartVersion cublasLtGetStatusName cublasLtGetStatusString
//   cublasLtMatmulDescCreate cublasLtMatmulDescDestroy cublasLtMatmulDescSetAttribute
//   cublasLtMatrixLayoutCreate cublasLtMatrixLayoutDestroy cublasLtMatrixLayoutSetAttribute
//   cublasLtMatmulPreferenceCreate cublasLtMatmulPreferenceDestroy cublasLtMatmulPreferenceSetAttribute
#include <cublasLt.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "code_texts.hpp"
#include "cublaslt.hpp"

namespace cuda_emulator {
namespace {

template <class Opaque, class Held> cublasStatus_t create(Opaque** made, const Held& held) {
  auto* const opaque = new Opaque{};
  std::memcpy(static_cast<void*>(opaque), &held, sizeof held);
  state().library_objects[opaque] = Held::kind;
  ++state().counts.descriptors;
  *made = opaque;
  return CUBLAS_STATUS_SUCCESS;
}
template <class Held, class Opaque> cublasStatus_t destroy(Opaque* opaque) {
  Held held;
  if (opaque == nullptr) return CUBLAS_STATUS_SUCCESS;
  if (!read(opaque, held)) return CUBLAS_STATUS_INVALID_VALUE;
  state().library_objects.erase(opaque);
  delete opaque;
  return CUBLAS_STATUS_SUCCESS;
}
/// Changes one field of what a descriptor holds; choose(held, set) calls set(field).
template <class Held, class Opaque, class Choose>
cublasStatus_t change(const char* name, Opaque* opaque, const void* value, std::size_t bytes, Choose&& choose) {
  Held held;
  if (value == nullptr || !read(opaque, held)) return CUBLAS_STATUS_INVALID_VALUE;
  const auto set = [&](auto& field) {
    if (bytes != sizeof field) {
      violation(std::string(name) + " is given " + std::to_string(bytes) + " bytes for an attribute that has " + std::to_string(sizeof field) + ".");
      return CUBLAS_STATUS_INVALID_VALUE;
    }
    std::memcpy(&field, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  };
  const cublasStatus_t status = choose(held, set);
  if (status == CUBLAS_STATUS_SUCCESS) std::memcpy(static_cast<void*>(opaque), &held, sizeof held);
  return status;
}
cublasStatus_t unknown_attribute(const char* name) {
  violation(std::string(name) + " is given an attribute that the emulator does not know.");
  return CUBLAS_STATUS_NOT_SUPPORTED;
}
/// Of an attribute that may only have its default value.
template <class T> cublasStatus_t only(const char* name, T wanted, const void* value, std::size_t bytes) {
  T given{};
  std::memcpy(&given, value, std::min(bytes, sizeof given));
  return given == wanted ? CUBLAS_STATUS_SUCCESS : unknown_attribute(name);
}

constexpr CodeText<cublasStatus_t> status_texts[] = {
    CUDA_EMULATOR_CODE(CUBLAS_STATUS_SUCCESS, "success"),
    CUDA_EMULATOR_CODE(CUBLAS_STATUS_NOT_INITIALIZED, "the library was not initialized"),
    CUDA_EMULATOR_CODE(CUBLAS_STATUS_ALLOC_FAILED, "the resource allocation failed"),
    CUDA_EMULATOR_CODE(CUBLAS_STATUS_INVALID_VALUE, "an unsupported value or parameter was passed to the function"),
    CUDA_EMULATOR_CODE(CUBLAS_STATUS_EXECUTION_FAILED, "the function failed to launch on the GPU"),
    CUDA_EMULATOR_CODE(CUBLAS_STATUS_INTERNAL_ERROR, "an internal operation failed"),
    CUDA_EMULATOR_CODE(CUBLAS_STATUS_NOT_SUPPORTED, "the functionality requested is not supported"),
};
constexpr CodeText<cublasStatus_t> unknown_status{CUBLAS_STATUS_INTERNAL_ERROR, "unknown status", "a status that the emulator does not name"};
const CodeText<cublasStatus_t>& text_of(cublasStatus_t status) { return text_of(status_texts, unknown_status, status); }

}  // namespace
}  // namespace cuda_emulator

using namespace cuda_emulator;

extern "C" {

size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
size_t cublasLtGetCudartVersion() { return CUDART_VERSION; }
const char* cublasLtGetStatusName(cublasStatus_t status) { return text_of(status).name; }
const char* cublasLtGetStatusString(cublasStatus_t status) { return said_of(text_of(status), status != CUBLAS_STATUS_SUCCESS); }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* made) {
  return cublaslt_call(__func__, [&](Call&) {
    auto* const handle = new int(current_device());
    state().library_objects[handle] = "handles of cuBLASLt";
    *made = reinterpret_cast<cublasLtHandle_t>(handle);
    return CUBLAS_STATUS_SUCCESS;
  });
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return cublaslt_release(__func__, [&] {
    if (state().library_objects.erase(handle) == 0) {
      violation("A handle of cuBLASLt is destroyed that does not exist.");
      return CUBLAS_STATUS_NOT_INITIALIZED;
    }
    delete reinterpret_cast<int*>(handle);
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t compute, cudaDataType_t scale_type) {
  return cublaslt_call(__func__, [&](Call&) {
    ProductDescription description;
    description.compute = compute;
    description.scale_type = scale_type;
    return create(made, description);
  });
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  return cublaslt_release(__func__, [&] { return destroy<ProductDescription>(description); });
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description, cublasLtMatmulDescAttributes_t attribute, const void* value,
                                              size_t bytes) {
  return cublaslt_call(__func__, [&, name = __func__](Call&) {
    return change<ProductDescription>(name, description, value, bytes, [&](ProductDescription& held, auto set) {
      switch (attribute) {
        case CUBLASLT_MATMUL_DESC_TRANSA: return set(held.a_operation);
        case CUBLASLT_MATMUL_DESC_TRANSB: return set(held.b_operation);
        case CUBLASLT_MATMUL_DESC_EPILOGUE: return set(held.epilogue);
        case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return set(held.bias);
        case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: return set(held.bias_type);
        case CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE: return set(held.bias_stride);
        case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER: return set(held.kept);
        case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: return set(held.kept_pitch);
        case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE: return set(held.kept_stride);
        case CUBLASLT_MATMUL_DESC_POINTER_MODE: return only<std::int32_t>(name, CUBLASLT_POINTER_MODE_HOST, value, bytes);
        default: return unknown_attribute(name);
      }
    });
  });
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType type, uint64_t rows, uint64_t columns, int64_t pitch) {
  return cublaslt_call(__func__, [&](Call&) {
    MatrixLayout layout;
    layout.type = type;
    layout.rows = static_cast<std::int64_t>(rows);
    layout.columns = static_cast<std::int64_t>(columns);
    layout.pitch = pitch;
    return create(made, layout);
  });
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return cublaslt_release(__func__, [&] { return destroy<MatrixLayout>(layout); });
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t attribute, const void* value,
                                                size_t bytes) {
  return cublaslt_call(__func__, [&, name = __func__](Call&) {
    return change<MatrixLayout>(name, layout, value, bytes, [&](MatrixLayout& held, auto set) {
      switch (attribute) {
        case CUBLASLT_MATRIX_LAYOUT_ROWS: return set(held.rows);
        case CUBLASLT_MATRIX_LAYOUT_COLS: return set(held.columns);
        case CUBLASLT_MATRIX_LAYOUT_LD: return set(held.pitch);
        case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return set(held.batches);
        case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return set(held.batch_stride);
        case CUBLASLT_MATRIX_LAYOUT_ORDER: return only<std::int32_t>(name, CUBLASLT_ORDER_COL, value, bytes);
        default: return unknown_attribute(name);
      }
    });
  });
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  return cublaslt_call(__func__, [&](Call&) { return create(made, Wishes{}); });
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return cublaslt_release(__func__, [&] { return destroy<Wishes>(preference); });
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference, cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  return cublaslt_call(__func__, [&, name = __func__](Call&) {
    return change<Wishes>(name, preference, value, bytes, [&](Wishes& held, auto set) {
      switch (attribute) {
        case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES: return set(held.workspace_bytes);
        case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK: return set(held.reductions);
        case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES: return set(held.alignment_of_a);
        case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES: return set(held.alignment_of_b);
        case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES: return set(held.alignment_of_c);
        case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES: return set(held.alignment_of_d);
        default: return unknown_attribute(name);
      }
    });
  });
}

}  // extern "C"
