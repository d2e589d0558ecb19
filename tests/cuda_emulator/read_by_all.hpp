// SPDX-License-Identifier: MIT
// What most tests of cards include: precompiled for them, with Heddle's kernels from the unit of kernels (HEDDLE_CUDA_KERNELS).
#pragma once

#include "instantiated.hpp"

#include "cuda_emulator/cuda_emulator.hpp"
#include "shared_ranks_on_cards.hpp"
