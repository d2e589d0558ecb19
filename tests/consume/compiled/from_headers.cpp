// SPDX-License-Identifier: MIT
// Compiled with Heddle in it.
#include "handed.hpp"
#include "training.hpp"

static_assert(heddle::check<HandedPlan>().ok());
std::string trained_from_headers() { return trained(); }
