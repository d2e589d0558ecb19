// SPDX-License-Identifier: MIT
// Kernels of CUDA whose queue has cuDNN, which the emulator stands for.
#pragma once

#include "compute/cuda/on_card.hpp"
#include "conformance/bfloat16.hpp"
#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"
#include "cuda_emulator/one_card.hpp"
#include "heddle/compute/cuda/cudnn.hpp"

namespace cudnn_cases {

template <bool tf32 = false, class Value = float> using ByCuDNN = conformance::UploadedAs<Value, tf32, &heddle::compute_room::make_cudnn>;

}  // namespace cudnn_cases
