// SPDX-License-Identifier: MIT
// Room: tests. What tests of the emulated cuBLASLt share: one product as the library describes it, and the same in double.
// Sees: one_card, the toolkit's cuBLASLt.  Does not see: how the emulator works.
// In: extents and numbers.  Out: Described, drawn, right, distance.
#pragma once

#include <cublasLt.h>
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "cuda_emulator/one_card.hpp"

namespace cuda_emulator::tests {

inline constexpr std::size_t workspace_bytes = std::size_t{1} << 20;

inline std::vector<float> drawn(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> numbers(n);
  for (float& x : numbers) x = std::normal_distribution<float>(0, 1)(random);
  return numbers;
}
/// Descriptors of one product d (m, n) = op(a) op(b), stored by columns and packed.
class Described {
 public:
  struct Extents {
    std::uint64_t m, n, k;
    bool a_transposed = false, b_transposed = false;
  };
  explicit Described(Extents e, cublasComputeType_t compute = CUBLAS_COMPUTE_32F, cudaDataType_t of_factors = CUDA_R_32F,
                     cudaDataType_t of_result = CUDA_R_32F) {
    REQUIRE(cublasLtCreate(&handle) == CUBLAS_STATUS_SUCCESS);
    REQUIRE(cublasLtMatmulDescCreate(&product, compute, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS);
    set(CUBLASLT_MATMUL_DESC_TRANSA, e.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(CUBLASLT_MATMUL_DESC_TRANSB, e.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
    layout(a, of_factors, e.a_transposed ? e.k : e.m, e.a_transposed ? e.m : e.k);
    layout(b, of_factors, e.b_transposed ? e.n : e.k, e.b_transposed ? e.k : e.n);
    layout(d, of_result, e.m, e.n);
  }
  Described(const Described&) = delete;
  Described& operator=(const Described&) = delete;
  ~Described() {
    for (const cublasLtMatrixLayout_t each : {a, b, d}) CHECK(cublasLtMatrixLayoutDestroy(each) == CUBLAS_STATUS_SUCCESS);
    CHECK(cublasLtMatmulDescDestroy(product) == CUBLAS_STATUS_SUCCESS);
    CHECK(cublasLtDestroy(handle) == CUBLAS_STATUS_SUCCESS);
  }
  template <class V> void set(cublasLtMatmulDescAttributes_t attribute, V value) const {
    CHECK(cublasLtMatmulDescSetAttribute(product, attribute, &value, sizeof value) == CUBLAS_STATUS_SUCCESS);
  }
  template <class V> static void set(cublasLtMatrixLayout_t at, cublasLtMatrixLayoutAttribute_t attribute, V value) {
    CHECK(cublasLtMatrixLayoutSetAttribute(at, attribute, &value, sizeof value) == CUBLAS_STATUS_SUCCESS);
  }
  /// The algorithms that the heuristic offers.
  std::vector<cublasLtMatmulAlgo_t> offered(int wanted = 8, std::uint64_t most_bytes = workspace_bytes, std::uint32_t alignment_of_a = 16) {
    cublasLtMatmulPreference_t wishes = nullptr;
    CHECK(cublasLtMatmulPreferenceCreate(&wishes) == CUBLAS_STATUS_SUCCESS);
    CHECK(cublasLtMatmulPreferenceSetAttribute(wishes, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most_bytes, sizeof most_bytes) ==
          CUBLAS_STATUS_SUCCESS);
    CHECK(cublasLtMatmulPreferenceSetAttribute(wishes, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &alignment_of_a, sizeof alignment_of_a) ==
          CUBLAS_STATUS_SUCCESS);
    std::vector<cublasLtMatmulHeuristicResult_t> results(static_cast<std::size_t>(wanted));
    int found = 0;
    status = cublasLtMatmulAlgoGetHeuristic(handle, product, a, b, d, d, wishes, wanted, results.data(), &found);
    CHECK(cublasLtMatmulPreferenceDestroy(wishes) == CUBLAS_STATUS_SUCCESS);
    std::vector<cublasLtMatmulAlgo_t> algorithms;
    for (int i = 0; i < found; ++i) algorithms.push_back(results[static_cast<std::size_t>(i)].algo);
    return algorithms;
  }
  cublasStatus_t run(const OneCard& card, const void* from_a, const void* from_b, void* to, const cublasLtMatmulAlgo_t& algorithm, void* workspace,
                     float scale = 1, float add_scale = 0, std::size_t bytes = workspace_bytes) const {
    return cublasLtMatmul(handle, product, &scale, from_a, a, from_b, b, &add_scale, to, d, to, d, &algorithm, workspace, bytes, card.stream());
  }

  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t product = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  cublasStatus_t status = CUBLAS_STATUS_SUCCESS;

 private:
  static void layout(cublasLtMatrixLayout_t& made, cudaDataType_t type, std::uint64_t rows, std::uint64_t columns) {
    REQUIRE(cublasLtMatrixLayoutCreate(&made, type, rows, columns, static_cast<std::int64_t>(rows)) == CUBLAS_STATUS_SUCCESS);
  }
};
/// The product in double: {2, 2, 1} of {1, 2} and {3, 4} is {3, 6, 4, 8}.
inline std::vector<double> right(const Described::Extents& e, const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<double> d(e.m * e.n, 0);
  for (std::uint64_t j = 0; j < e.n; ++j)
    for (std::uint64_t i = 0; i < e.m; ++i)
      for (std::uint64_t at = 0; at < e.k; ++at)
        d[i + j * e.m] += static_cast<double>(a[e.a_transposed ? at + i * e.k : i + at * e.m]) *
                          static_cast<double>(b[e.b_transposed ? j + at * e.n : at + j * e.k]);
  return d;
}
inline double distance(const std::vector<float>& got, const std::vector<double>& wanted) {
  double far = 0;
  double length = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    far += std::pow(static_cast<double>(got[i]) - wanted[i], 2);
    length += wanted[i] * wanted[i];
  }
  return std::sqrt(far / length);
}

}  // namespace cuda_emulator::tests
