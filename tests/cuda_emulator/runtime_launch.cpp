// SPDX-License-Identifier: MIT
// The CUDA runtime, kernels:
//   cudaLaunchKernel cudaFuncSetAttribute cudaOccupancyMaxActiveBlocksPerMultiprocessor
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "grid.hpp"
#include "queues.hpp"
#include "state.hpp"

namespace cuda_emulator {
namespace {

using heddle::compute_room::HostKernel;
using heddle::compute_room::warp_threads;

constexpr unsigned most_threads = 1024;
constexpr unsigned most_blocks = 0x7FFFFFFF;
constexpr std::size_t shared_bytes = std::size_t{48} << 10;
constexpr std::size_t shared_bytes_on_demand = std::size_t{227} << 10;
constexpr int threads_of_multiprocessor = 2048;

cudaError_t wrong_launch(const HostKernel& kernel, const std::string& what, cudaError_t error) {
  violation(std::string(kernel.name) + " is launched with " + what + ".");
  return error;
}
cudaError_t look_at_extents(const HostKernel& kernel, dim3 grid, dim3 block, std::size_t shared) {
  if (grid.y != 1 || grid.z != 1 || block.y != 1 || block.z != 1)
    return wrong_launch(kernel, "extents of more than one dimension", cudaErrorInvalidConfiguration);
  if (grid.x == 0 || grid.x > most_blocks) return wrong_launch(kernel, std::to_string(grid.x) + " blocks", cudaErrorInvalidConfiguration);
  if (block.x == 0 || block.x > most_threads)
    return wrong_launch(kernel, std::to_string(block.x) + " threads of a block", cudaErrorInvalidConfiguration);
  if (kernel.cooperative && block.x % warp_threads != 0)
    violation(std::string(kernel.name) + " is cooperative and is launched with " + std::to_string(block.x) + " threads, no multiple of 32.");
  const auto limit = state().shared_limits.find(&kernel);
  if (shared > (limit == state().shared_limits.end() ? shared_bytes : limit->second))
    return wrong_launch(kernel, std::to_string(shared) + " bytes of shared memory, more than 48 KiB or cudaFuncSetAttribute allow",
                        cudaErrorInvalidValue);
  return cudaSuccess;
}

/// The arguments of a launch by value, and the memory that they name.
struct Arguments {
  std::vector<std::vector<char>> values;
  std::vector<void*> pointers;
};
std::shared_ptr<Arguments> copied(const HostKernel& kernel, void* const* arguments) {
  auto made = std::make_shared<Arguments>();
  for (int i = 0; i < kernel.arguments; ++i) {
    const char* const begin = static_cast<const char*>(arguments[i]);
    made->values.emplace_back(begin, begin + kernel.sizes[i]);
  }
  for (auto& value : made->values) made->pointers.push_back(value.data());
  return made;
}
bool may_touch(const Allocation& memory, int number) {
  return memory.pinned || memory.device == number || device(number).peers.count(memory.device) > 0;
}
cudaError_t look_at_pointers(const HostKernel& kernel, void* const* arguments, const Stream& stream, Work& work) {
  for (int i = 0; i < kernel.arguments; ++i) {
    if (!kernel.pointers[i]) continue;
    const void* pointer = nullptr;
    std::memcpy(&pointer, arguments[i], sizeof pointer);
    if (pointer == nullptr) continue;
    const Allocation* const memory = state().memory.around(pointer, 0);
    if (memory == nullptr || !may_touch(*memory, stream.device)) {
      char text[160];
      state().memory.describe(pointer, text, sizeof text);
      return wrong_launch(kernel, "argument " + std::to_string(i) + ", a pointer to " + text + ", on device " + std::to_string(stream.device),
                          cudaErrorIllegalAddress);
    }
    work.ranges.push_back({pointer, 0});
    if (memory->pinned) work.host_reads.push_back({memory->data, memory->bytes});
  }
  return cudaSuccess;
}
void run(const HostKernel& kernel, const Arguments& arguments, GridExtents extents, int number) {
  State& all = state();
  const GridResult result = run_grid(kernel, arguments.pointers.data(), extents, all.random);
  ++all.counts.kernels;
  all.counts.blocks += result.blocks;
  all.counts.switches += result.switches;
  all.counts.barriers += result.barriers;
  all.counts.warp_products += result.warp_products;
  if (!result.wrong.empty()) fault(number, result.wrong, result.error);
}
const HostKernel* kernel_of(const void* function) {
  const auto* const kernel = static_cast<const HostKernel*>(function);
  return kernel != nullptr && kernel->magic == heddle::compute_room::host_kernel_magic ? kernel : nullptr;
}

}  // namespace
}  // namespace cuda_emulator

using namespace cuda_emulator;

extern "C" {

const void* heddle_R41_compile_this_file_with_nvcc_or_link_the_target_heddle_cuda_kernels(const void* kernel) { return kernel; }

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t handle) {
  return runtime_call(__func__, cudaErrorLaunchOutOfResources, [&](Call&) {
    Stream* const stream = stream_of(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    const HostKernel* const kernel = kernel_of(function);
    if (kernel == nullptr) return cudaErrorInvalidDeviceFunction;
    if (const cudaError_t error = look_at_extents(*kernel, grid, block, shared); error != cudaSuccess) return error;
    Work work{kernel->name, {}};
    if (const cudaError_t error = look_at_pointers(*kernel, arguments, *stream, work); error != cudaSuccess) return error;
    const GridExtents extents{static_cast<int>(grid.x), static_cast<int>(block.x), shared};
    work.start = [kernel, values = copied(*kernel, arguments), extents, number = stream->device]() -> std::shared_ptr<Unfinished> {
      run(*kernel, *values, extents, number);
      return nullptr;
    };
    return enqueue(*stream, std::move(work));
  });
}
cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  return runtime_call(__func__, cudaErrorUnknown, [&](Call&) {
    if (kernel_of(function) == nullptr) return cudaErrorInvalidDeviceFunction;
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (value < 0 || static_cast<std::size_t>(value) > shared_bytes_on_demand) return cudaErrorInvalidValue;
    state().shared_limits[function] = static_cast<std::size_t>(value);
    return cudaSuccess;
  });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads, size_t shared) {
  return runtime_call(__func__, cudaErrorUnknown, [&](Call&) {
    if (kernel_of(function) == nullptr || threads <= 0) return cudaErrorInvalidValue;
    *blocks = threads_of_multiprocessor / threads;
    if (shared > 0) *blocks = std::min(*blocks, static_cast<int>(shared_bytes_on_demand / shared));
    return cudaSuccess;
  });
}

}  // extern "C"
