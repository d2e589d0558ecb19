// SPDX-License-Identifier: MIT
// Compiled for heddle::compiled.
#include "training.hpp"

#ifndef HEDDLE_COMPILED
#error "the target does not say HEDDLE_COMPILED"
#endif

std::string trained_from_library() { return trained(); }
