// SPDX-License-Identifier: MIT
// Of heddle::compiled: the matrix products, the only file that includes Eigen.
#include "heddle/compute/eigen/found_products.hpp"
#include "heddle/compute/eigen/gemm.hpp"

namespace heddle::compute_room {

void EigenProducts::nt(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c, Into into, void* workspace,
                       const Tail* tail) {
  FoundProducts::nt(m, n, k, a, b, c, into, workspace, tail);
}
void EigenProducts::nt_plus_row(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, const float* row, float* c,
                                void* workspace, const Tail* tail) {
  FoundProducts::nt_plus_row(m, n, k, a, b, row, c, workspace, tail);
}
void EigenProducts::nn(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c, Into into, void* workspace,
                       const Tail* tail) {
  FoundProducts::nn(m, n, k, a, b, c, into, workspace, tail);
}
void EigenProducts::tn(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, const float* b, float* c, Into into, void* workspace) {
  FoundProducts::tn(m, n, k, a, b, c, into, workspace);
}

}  // namespace heddle::compute_room
