// SPDX-License-Identifier: MIT
// Room: compute. Eigen, as Heddle includes it: found, new enough, without the warnings that compilers make of it.
// Sees: Eigen.  Does not see: every other room but core/language.
// In: a command with the folder that has Eigen.  Out: Eigen/Core, or one error.
#pragma once

#include "heddle/core/rooms.hpp"

#if !__has_include(<Eigen/Core>)
#include "[heddle.L14] Eigen/Core is not found. Fix: apt install libeigen3-dev, and add -I /usr/include/eigen3 or the folder that has Eigen."
#endif

// GCC 12 takes the deliberately undefined registers of its own AVX-512 intrinsics for uninitialised variables (GCC bug 105593).
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <Eigen/Core>
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif
