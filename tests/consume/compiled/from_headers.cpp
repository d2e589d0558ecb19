// SPDX-License-Identifier: MIT
// Compiled with Heddle in it.
#include "training.hpp"

std::string trained_from_headers() { return trained(); }
