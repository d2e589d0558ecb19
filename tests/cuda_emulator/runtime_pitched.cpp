// SPDX-License-Identifier: MIT
// The CUDA runtime: copies of rows that lie apart. Emulated:
//   cudaMemcpy2DAsync
#include <cuda_runtime_api.h>

#include <cstddef>

extern "C" cudaError_t cudaMemcpy2DAsync(void* target, size_t target_pitch, const void* source, size_t source_pitch, size_t width, size_t height,
                                         cudaMemcpyKind kind, cudaStream_t stream) {
  if (width > target_pitch || width > source_pitch) return height > 1 ? cudaErrorInvalidPitchValue : cudaErrorInvalidValue;
  for (std::size_t row = 0; row < height && width > 0; ++row) {  // each a copy of its own, in the order of the stream
    const cudaError_t error =
        cudaMemcpyAsync(static_cast<char*>(target) + row * target_pitch, static_cast<const char*>(source) + row * source_pitch, width, kind, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}
