// SPDX-License-Identifier: MIT
// Room: transport. <mpi.h>, or one sentence if there is none.
// Sees: MPI.  Does not see: every other room.
// In: the folders that the compiler searches.  Out: the functions of MPI.
#pragma once

#if !__has_include(<mpi.h>)
#if defined(__CUDACC__)
#include "[heddle.L14] mpi.h of MPI is not found. Fix: add -ccbin mpicxx to the command of nvcc, after apt install libopenmpi-dev."
#endif
#include "[heddle.L14] mpi.h of MPI is not found. Fix: compile with mpicxx in place of g++, after apt install libopenmpi-dev."
#endif
#include <mpi.h>

#include "heddle/core/rooms.hpp"
