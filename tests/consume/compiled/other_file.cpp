// SPDX-License-Identifier: MIT
// One file of a program, compiled otherwise than heddle::compiled and all other files.
#include <heddle/run/build_flags.hpp>
