// SPDX-License-Identifier: MIT
// Room: compute. What every call of cuBLASLt has: a check of its status, and owners of what it hands out.
// Sees: compute/cuda/resources, seams/error, cuBLASLt.  Does not see: layers, policies, programs.
// In: statuses and descriptors.  Out: check_cublas, accepted, LtHandle and owners of descriptors.
#pragma once

#include <cublasLt.h>

#include <string>

#include "heddle/compute/cuda/resources.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/seams/error.hpp"

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

}  // namespace heddle::compute_room
