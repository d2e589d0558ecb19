// SPDX-License-Identifier: MIT
// Room: compute. One launch for every compiler: cudaLaunchKernel. What differs is the address: a __global__ function of nvcc, one that the unit of
// kernels has, which nvcc compiled (HEDDLE_CUDA_KERNELS), else a HostKernel, which the emulator of the tests runs.
// Sees: compute/cuda/block, seams/error, cuda_runtime_api.  Does not see: tensors, layers.
// In: a stream, a kernel, its arguments.  Out: launch, extents_of, check_cuda.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include "heddle/compute/cuda/block.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/seams/error.hpp"

#if !defined(__CUDACC__)
/// In the emulator of the tests alone: it gives back the HostKernel that it is given. Elsewhere a file that launches a HostKernel has no kernel for a
/// card, and the name is what a linker says of the file.
extern "C" const void* heddle_R41_compile_this_file_with_nvcc_or_link_the_target_heddle_cuda_kernels(const void* kernel);
#endif

namespace heddle::compute_room {

/// Whether a launch failed because the program has no kernel that the card can run.
[[nodiscard]] constexpr bool lacks_kernel(cudaError_t e) {
  return e == cudaErrorNoKernelImageForDevice || e == cudaErrorInvalidDeviceFunction || e == cudaErrorUnsupportedPtxVersion;
}
/// What a card of this compute capability, 80 of 8.0, can be given; 0 of one that is not known.
[[nodiscard]] HEDDLE_COLD inline std::string remedy_of_kernel(int capability) {
  if (capability > 0 && capability < 80) return "take a card of compute capability 8.0 or newer; Heddle's kernels run on no older one";
  const std::string named = capability > 0 ? std::to_string(capability) : "native";
#if defined(HEDDLE_CUDA_KERNELS) && !defined(__CUDACC__)
  return "configure with -DHEDDLE_CUDA_ARCHITECTURES=" + named + ", and build heddle::cuda_kernels again";
#else
  return "give nvcc -arch=" + (capability > 0 ? "sm_" + named : named);
#endif
}
/// R41: the kernels of the program are those of other cards. A card of compute capability 8.0 runs none of sm_90.
[[noreturn]] HEDDLE_COLD inline void refuse_kernel(cudaError_t e, const char* kernel) {
  int card = 0, major = 0, minor = 0, capability = 0;
  if (cudaGetDevice(&card) == cudaSuccess && cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, card) == cudaSuccess &&
      cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, card) == cudaSuccess)
    capability = 10 * major + minor;
  throw Error(Code{'R', 41}, std::string{"the kernel "} + kernel + " is not compiled for this card" +
                                 (capability == 0 ? "" : ", which is sm_" + std::to_string(capability)) + ": " + cudaGetErrorName(e) +
                                 ". Fix: " + remedy_of_kernel(capability) + ".");
}

/// R36: a call of the runtime has failed. `what` names it.
/// R14 where memory is lacking, R41 where a kernel is. After R14 a program may go on with less: no library finds that error later as the last one.
[[noreturn]] HEDDLE_COLD inline void refuse_cuda(cudaError_t e, const char* what) {
  if (e == cudaErrorMemoryAllocation) {
    static_cast<void>(cudaGetLastError());
    throw Error(Code{'R', 14}, std::string{what} + " failed with " + cudaGetErrorName(e) + ": " + cudaGetErrorString(e) +
                                   ". The card, or the host for what is pinned, has no memory left. Fix: free memory, take smaller micro-batches or "
                                   "fewer devices on this card.");
  }
  if (lacks_kernel(e)) refuse_kernel(e, what);
  throw Error(Code{'R', 36}, std::string{what} + " failed with " + cudaGetErrorName(e) + ": " + cudaGetErrorString(e) +
                                 ". Fix: look at the first such sentence of any rank; ./heddle doctor says which cards there are.");
}
inline void check_cuda(cudaError_t e, const char* what) {
  if (e != cudaSuccess) refuse_cuda(e, what);
}

/// An argument as a launch has it: const of what a pointer points at is left out, so a kernel is compiled once for both. A kernel that takes a
/// reference reads the argument where the launch has put it.
template <class A> struct AsLaunched { using type = A; };
template <class T> struct AsLaunched<const T&> { using type = T; };
template <class T> struct AsLaunched<const T*> { using type = T*; };
/// A kernel with what it is launched with: KernelOf<FinishLoss, std::int64_t, double, double*, float*>.
template <class K, class... A> struct KernelOf {};

#if defined(__CUDACC__)

template <class K, class... A> __global__ void kernel_entry(A... arguments) {
  CardBlock block;
  K{}(block, arguments...);
}
/// Of a kernel that says how many of its blocks a multiprocessor should have at once, and of how many threads at most they are: so many registers a
/// thread has. With 256 threads and 4 blocks it is 64.
template <class K, class... A> __global__ void __launch_bounds__(K::most_threads, K::blocks_at_once) bounded_kernel_entry(A... arguments) {
  CardBlock block;
  K{}(block, arguments...);
}
template <class K, class... A> [[nodiscard]] const void* entry_of() {
  if constexpr (requires { K::blocks_at_once; })
    return reinterpret_cast<const void*>(&bounded_kernel_entry<K, A...>);
  else
    return reinterpret_cast<const void*>(&kernel_entry<K, A...>);
}

#else

/// Stands where a __global__ function would: its address is what cudaLaunchKernel gets. A kernel that is not cooperative calls neither sync, nor
/// shared, nor a shuffle, so its threads may run one after another. Of a kernel that takes n, x and y `arguments` is 3.
struct HostKernel {
  std::uint64_t magic;
  const char* name;
  bool cooperative;
  int arguments;
  const std::size_t* sizes;
  const bool* pointers;  // which arguments must lie on the card
  void (*invoke)(ExecutedBlock&, void* const*);
};
inline constexpr std::uint64_t host_kernel_magic = 0x6865646C6B65726EULL;

/// One undefined name in a file, wherever it launches kernels. Errors  R41
[[nodiscard]] HEDDLE_COLD inline const void* kernel_of_emulator(const void* kernel) {
  return heddle_R41_compile_this_file_with_nvcc_or_link_the_target_heddle_cuda_kernels(kernel);
}

/// The one HostKernel of K and its arguments.
template <class K, class... A> struct HostEntry {
  static constexpr std::size_t sizes[] = {sizeof(A)..., 0};
  static constexpr bool pointers[] = {std::is_pointer_v<A>..., false};
  template <std::size_t... I> static void call(ExecutedBlock& block, void* const* a, std::index_sequence<I...>) {
    K{}(block, *static_cast<A*>(a[I])...);
  }
  static void invoke(ExecutedBlock& block, void* const* a) { call(block, a, std::index_sequence_for<A...>{}); }
  static constexpr HostKernel kernel{host_kernel_magic, K::name, K::cooperative, sizeof...(A), sizes, pointers, &invoke};
};
template <class K, class... A> [[nodiscard]] const void* entry_of() { return &HostEntry<K, A...>::kernel; }

#endif

#if defined(HEDDLE_CUDA_KERNELS) && !defined(__CUDACC__)
// Both are defined in compute/cuda/built_in_kernels.
/// The address that the unit of kernels has; L28 of a kernel that it does not have.
template <class Kernel> struct InTheUnit;
/// L28 of a kernel that the unit does not have.
template <class K> struct RefusedHere;
template <class K, class... A> [[nodiscard]] const void* launched_entry() { return InTheUnit<KernelOf<K, A...>>::entry(); }
#else
/// Every kernel can be launched from this file.
template <class K> struct RefusedHere { static constexpr Diagnosis found{}; };
#if defined(__CUDACC__)
template <class K, class... A> [[nodiscard]] const void* launched_entry() { return entry_of<K, A...>(); }
#else
template <class K, class... A> [[nodiscard]] const void* launched_entry() { return kernel_of_emulator(entry_of<K, A...>()); }
#endif
#endif

/// How much of a card a launch takes: 96 rows of a block each with 256 threads are {96, 256}, with 32 floats of shared memory {96, 256, 128}.
struct Extents {
  std::int64_t blocks;
  int threads;
  std::size_t shared_bytes = 0;
};
/// Blocks for n elements, `each` a thread: 1000 elements of 4 a thread of 256 take 1.
[[nodiscard]] constexpr Extents extents_of(std::int64_t n, int each = 1, int threads = 256) {
  const std::int64_t of_block = std::int64_t{threads} * each;
  return {(n + of_block - 1) / of_block, threads};
}

/// Queues a kernel; nothing is launched for 0 blocks. K has `static constexpr const char* name`, `static constexpr bool cooperative`, and a call
/// operator over a BlockOfThreads and the arguments, which travel by value: pointers are of the card. It may have `static constexpr int most_threads,
/// blocks_at_once`, which bound its registers.
///
/// Errors  R36; R41
/// Tested  compute/cuda/launch_test
template <class K, class... A> void launch(cudaStream_t stream, Extents e, A... arguments) {
  if (e.blocks == 0) return;
  void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))..., nullptr};
  check_cuda(cudaLaunchKernel(launched_entry<K, typename AsLaunched<A>::type...>(), dim3(static_cast<unsigned>(e.blocks)),
                              dim3(static_cast<unsigned>(e.threads)), pointers, e.shared_bytes, stream),
             K::name);
}

}  // namespace heddle::compute_room
