// SPDX-License-Identifier: MIT
// mistake: `g++` in place of `mpicxx`
// The compiler finds no mpi.h: g++ is called where mpicxx is meant.
// broken-without: mpi.h
// compilers: g++ clang++ clang++-14 nvcc
// slow: clang++-14
// expect: fatal error: '?\[heddle\.L14\] mpi\.h of MPI is not found\. Fix: \S
// expect-g++: compile with mpicxx in place of g\+\+
// expect-clang: compile with mpicxx in place of g\+\+
// expect-nvcc: add -ccbin mpicxx to the command of nvcc
#ifdef HEDDLE_REPAIRED
#include "heddle/transport/movement.hpp"
#else
#include "heddle/backend/cpu_mpi.hpp"
#endif

static_assert(__cplusplus >= 202002L);
