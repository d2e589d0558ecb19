// SPDX-License-Identifier: MIT
// What a .cu file with a plan of processes needs of its command, in less than a plan: C++20, MPI, NCCL and cuBLASLt, headers and libraries.
#include <cublasLt.h>
#include <mpi.h>
#include <nccl.h>

#include <heddle/heddle.hpp>

int main(int count, char** words) {
  int version = 0;
  MPI_Init(&count, &words);
  const bool there = ncclGetVersion(&version) == ncclSuccess && cublasLtGetVersion() > 0;
  MPI_Finalize();
  return there ? 0 : 1;
}
