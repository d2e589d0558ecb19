// SPDX-License-Identifier: MIT
// Room: backend. What every pairing on cards has: kernels of CUDA, and those of the host that they are held against.
// Sees: compute/cuda, backend/cpu.  Does not see: any transport.
// In: nothing.  Out: CudaCompute with all layers, losses and optimizers.
#pragma once

#include "heddle/backend/cpu.hpp"
#include "heddle/compute/cuda/attention.hpp"
#include "heddle/compute/cuda/batch_norm.hpp"
#include "heddle/compute/cuda/concat.hpp"
#include "heddle/compute/cuda/convolution.hpp"
#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/dropout.hpp"
#include "heddle/compute/cuda/elementwise.hpp"
#include "heddle/compute/cuda/embedding.hpp"
#include "heddle/compute/cuda/linear.hpp"
#include "heddle/compute/cuda/losses.hpp"
#include "heddle/compute/cuda/norm.hpp"
#include "heddle/compute/cuda/optimizers.hpp"
#include "heddle/compute/cuda/pool.hpp"
#include "heddle/compute/cuda/positions.hpp"
#include "heddle/compute/cuda/rescaling.hpp"
#include "heddle/compute/cuda/reshape.hpp"
#include "heddle/compute/cuda/several_losses.hpp"
#include "heddle/compute/cuda/softmax.hpp"
#include "heddle/compute/cuda/swiglu.hpp"
#if defined(HEDDLE_CUDA_KERNELS) && !defined(__CUDACC__)
#include "heddle/compute/cuda/built_in_kernels.hpp"  // a file of the host's compiler has its kernels from heddle::cuda_kernels
#endif
