// SPDX-License-Identifier: MIT
// Tests have Heddle's kernels from the unit of kernels, as a file of the host's compiler has. What a test launches beside those is compiled with the
// test, where it includes this header; elsewhere it is L28.
#pragma once

#include "heddle/compute/cuda/built_in_kernels.hpp"

#if defined(HEDDLE_CUDA_KERNELS)
namespace heddle::compute_room {

template <class K, class... A>
requires(number_of_kernel<KernelOf<K, A...>>() < 0) struct InTheUnit<KernelOf<K, A...>> {
  static const void* entry() { return entry_of<K, A...>(); }
};
template <class K>
requires(number_of_kernel<BuiltIn<K>>() < 0) struct RefusedHere<K> {
  static constexpr Diagnosis found{};
};

}  // namespace heddle::compute_room
#endif
