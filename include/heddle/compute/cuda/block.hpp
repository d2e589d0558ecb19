// SPDX-License-Identifier: MIT
// Room: compute. What a kernel sees of a card: one thread of one block. nvcc takes the card's own block, every other compiler one of an executor.
// Sees: nothing of Heddle but core/bfloat16 and core/host_device.  Does not see: tensors, layers, streams.
// In: a compiler.  Out: BlockOfThreads, TensorFloat, BFloat16Pair, Pack, as_one, first_of_thread, warp_fold, block_fold.
#pragma once

// Tensor cores multiply bfloat16 and TF32 from there on. nvcc 13 compiles for sm_75 unless it is told of another card.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
#include "[heddle.L29] Heddle's kernels run on cards of compute capability 8.0 or newer, but this file is compiled for an older one. Fix: nvcc -arch=sm_90 for an H100 or H200, sm_80 for an A100."
#endif

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "heddle/core/bfloat16.hpp"
#include "heddle/core/host_device.hpp"

#if defined(__CUDACC__)
#define HEDDLE_DEVICE __device__
#else
#define HEDDLE_DEVICE
#include <atomic>
#endif

namespace heddle::compute_room {

inline constexpr int warp_threads = 32;

/// A float32 with 10 bits behind the point (TF32), as tensor cores multiply it. 1 + 2^-11 becomes 1 + 2^-10: ties are rounded away from 0.
///
/// Source  sources.md#ptx-mma
/// Tested  compute/cuda/block_test
struct TensorFloat {
  std::uint32_t bits;
  static constexpr int depth = 8;  // so many of a row are multiplied at once
};
/// Two bfloat16 as tensor cores multiply them; the first lies in the lower half. 1 and 2 are 0x40003F80.
struct BFloat16Pair {
  std::uint32_t bits;
  static constexpr int depth = 16;
};
[[nodiscard]] HEDDLE_DEVICE inline TensorFloat tensor_float(float x) {
#if defined(__CUDACC__)
  TensorFloat made;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(made.bits) : "f"(x));
  return made;
#else
  const auto bits = __builtin_bit_cast(std::uint32_t, x);
  if ((bits & 0x7F800000U) == 0x7F800000U) return {x != x ? 0x7FFFFFFFU : bits};
  return {(bits + 0x1000U) & ~0x1FFFU};
#endif
}
/// Each rounded to the nearest, ties to even.
[[nodiscard]] HEDDLE_DEVICE inline BFloat16Pair bfloat16_pair(float first, float second) {
#if defined(__CUDACC__)
  BFloat16Pair made;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(made.bits) : "f"(second), "f"(first));
  return made;
#else
  return {std::uint32_t{core_room::rounded(second).bits} << 16U | core_room::rounded(first).bits};
#endif
}

/// One thread of a block of a launch. All threads of a block ask alike for shared<T>(n), the next n elements of the shared bytes of the launch,
/// 16-byte aligned and unset; all meet at sync(), and all 32 of a warp at a shuffle or product. Block 3 of 8 with 256 threads has index() 3,
/// blocks() 8, threads() 256.
///
/// add_product(sums, left, right): sums += left right, of a left operand of 16 rows, a right one of 8 columns, and sums (16, 8) of float32, all of
/// which the 32 lanes of a warp hold together on the tensor cores. With g = lane / 4 and t = lane % 4 a lane has sums (g, 2 t), (g, 2 t + 1),
/// (g + 8, 2 t), (g + 8, 2 t + 1); of the left rows g, g + 8, g, g + 8 the words t, t, t + 4, t + 4; of the right column g the words t, t + 4. A word
/// is a TensorFloat, or the two BFloat16 that lie behind one another in a row of the left, or column of the right.
template <class B>
concept BlockOfThreads = requires(B& b, float x, float* p, int n, float (&sums)[4], const TensorFloat (&left)[4], const TensorFloat (&right)[2],
                                  const BFloat16Pair (&left_pairs)[4], const BFloat16Pair (&right_pairs)[2]) {
  { b.index() } -> std::same_as<int>;
  { b.blocks() } -> std::same_as<int>;
  { b.thread() } -> std::same_as<int>;
  { b.threads() } -> std::same_as<int>;
  b.sync();
  { b.template shared<float>(n) } -> std::same_as<float*>;
  { b.shuffle_xor(x, n) } -> std::same_as<float>;
  { b.shuffle_down(x, n) } -> std::same_as<float>;
  { b.shuffle_from(x, n) } -> std::same_as<float>;
  b.add_product(sums, left, right);
  b.add_product(sums, left_pairs, right_pairs);
  b.atomic_add(p, x);
};

#if defined(__CUDACC__)

/// The block of a card. Two arrays of 5 floats take 64 of its shared bytes, since each begins at a multiple of 16.
class CardBlock {
 public:
  __device__ int index() const { return static_cast<int>(blockIdx.x); }
  __device__ int blocks() const { return static_cast<int>(gridDim.x); }
  __device__ int thread() const { return static_cast<int>(threadIdx.x); }
  __device__ int threads() const { return static_cast<int>(blockDim.x); }
  __device__ void sync() { __syncthreads(); }
  template <class T> __device__ T* shared(int n) {
    extern __shared__ __align__(16) unsigned char heddle_shared[];
    T* const at = reinterpret_cast<T*>(heddle_shared + used_);
    used_ += (n * static_cast<int>(sizeof(T)) + 15) / 16 * 16;
    return at;
  }
  template <class T> __device__ T shuffle_xor(T x, int mask) { return __shfl_xor_sync(0xffffffffU, x, mask); }
  template <class T> __device__ T shuffle_down(T x, int by) { return __shfl_down_sync(0xffffffffU, x, by); }
  template <class T> __device__ T shuffle_from(T x, int lane) { return __shfl_sync(0xffffffffU, x, lane); }
  __device__ void add_product(float (&d)[4], const TensorFloat (&a)[4], const TensorFloat (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0].bits), "r"(a[1].bits), "r"(a[2].bits), "r"(a[3].bits), "r"(b[0].bits), "r"(b[1].bits));
  }
  __device__ void add_product(float (&d)[4], const BFloat16Pair (&a)[4], const BFloat16Pair (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0].bits), "r"(a[1].bits), "r"(a[2].bits), "r"(a[3].bits), "r"(b[0].bits), "r"(b[1].bits));
  }
  __device__ void atomic_add(float* p, float x) { atomicAdd(p, x); }

 private:
  int used_ = 0;
};
static_assert(BlockOfThreads<CardBlock>);

#else

/// Where a kernel asked for something. clang 14 has no std::source_location beside libstdc++ 12.
struct KernelLine {
  const char* file = "";
  int line = 0;
};

/// What one lane has of a product of its warp, as add_product of BlockOfThreads says; `depth` is that of the factors, 8 or 16.
struct LaneOfProduct {
  float* sums;
  std::uint32_t left[4], right[2];
  int depth;
};

/// What runs kernels where there is no card implements this: the emulator of the tests.
class BlockExecutor {
 public:
  virtual void sync(const KernelLine& at) = 0;
  virtual void* shared(std::size_t bytes, const KernelLine& at) = 0;
  virtual void shuffle(const void* mine, void* theirs, std::size_t bytes, int lane, const KernelLine& at) = 0;
  virtual void add_product(const LaneOfProduct& mine, const KernelLine& at) = 0;

 protected:
  BlockExecutor() = default;
  BlockExecutor(const BlockExecutor&) = default;
  BlockExecutor& operator=(const BlockExecutor&) = default;
  ~BlockExecutor() = default;
};

/// One thread of a block that an executor runs: thread 40 of 64 is lane 8 of its warp.
class ExecutedBlock {
 public:
  ExecutedBlock(BlockExecutor& executor, int index, int blocks, int thread, int threads)
      : executor_(&executor), index_(index), blocks_(blocks), thread_(thread), threads_(threads) {}
  [[nodiscard]] int index() const { return index_; }
  [[nodiscard]] int blocks() const { return blocks_; }
  [[nodiscard]] int thread() const { return thread_; }
  [[nodiscard]] int threads() const { return threads_; }
  void sync(KernelLine at = {__builtin_FILE(), __builtin_LINE()}) { executor_->sync(at); }
  template <class T> [[nodiscard]] T* shared(int n, KernelLine at = {__builtin_FILE(), __builtin_LINE()}) {
    return static_cast<T*>(executor_->shared(static_cast<std::size_t>(n) * sizeof(T), at));
  }
  template <class T> [[nodiscard]] T shuffle_xor(T x, int mask, KernelLine at = {__builtin_FILE(), __builtin_LINE()}) {
    return shuffled(x, (thread_ % warp_threads) ^ mask, at);
  }
  template <class T> [[nodiscard]] T shuffle_down(T x, int by, KernelLine at = {__builtin_FILE(), __builtin_LINE()}) {
    const int lane = thread_ % warp_threads;
    return shuffled(x, lane + by < warp_threads ? lane + by : lane, at);
  }
  template <class T> [[nodiscard]] T shuffle_from(T x, int lane, KernelLine at = {__builtin_FILE(), __builtin_LINE()}) {
    return shuffled(x, lane, at);
  }
  template <class Factor>
  void add_product(float (&sums)[4], const Factor (&left)[4], const Factor (&right)[2], KernelLine at = {__builtin_FILE(), __builtin_LINE()}) {
    executor_->add_product({sums, {left[0].bits, left[1].bits, left[2].bits, left[3].bits}, {right[0].bits, right[1].bits}, Factor::depth}, at);
  }
  void atomic_add(float* p, float x) { std::atomic_ref<float>(*p).fetch_add(x, std::memory_order_relaxed); }

 private:
  template <class T> T shuffled(T x, int lane, const KernelLine& at) {
    T theirs;
    executor_->shuffle(&x, &theirs, sizeof(T), lane, at);
    return theirs;
  }
  BlockExecutor* executor_;
  int index_, blocks_, thread_, threads_;
};
static_assert(BlockOfThreads<ExecutedBlock>);

#endif

/// 16 bytes at once, one load or store of a card: 4 floats, 8 elements of 2 bytes.
///
/// Tested  compute/cuda/block_test
template <class T> struct alignas(16) Pack {
  static constexpr int count = 16 / static_cast<int>(sizeof(T));
  T values[static_cast<std::size_t>(count)];
};
#if defined(__CUDACC__)
/// Several values at p as one. A card faults where p is no multiple of their bytes.
template <class Together, class T> [[nodiscard]] HEDDLE_DEVICE inline Together* as_one(T* p) { return reinterpret_cast<Together*>(p); }
#else
/// What runs kernels where there is no card is told of an address at which a card would fault, and of the multiple that it should be.
inline void (*told_of_misaligned)(const void* address, std::size_t multiple) = nullptr;
/// Several values at p as one.
template <class Together, class T> [[nodiscard]] Together* as_one(T* p) {
  if (reinterpret_cast<std::uintptr_t>(p) % alignof(Together) != 0 && told_of_misaligned != nullptr) told_of_misaligned(p, alignof(Together));
  return reinterpret_cast<Together*>(p);
}
#endif
template <class T> [[nodiscard]] HEDDLE_DEVICE inline Pack<T> load_pack(const T* p) { return *as_one<const Pack<T>>(p); }
template <class T> HEDDLE_DEVICE inline void store_pack(T* p, const Pack<T>& pack) { *as_one<Pack<T>>(p) = pack; }
[[nodiscard]] constexpr bool is_whole_packs(std::int64_t floats) { return floats % Pack<float>::count == 0; }

/// The first element of a thread that takes `each`: thread 3 of block 1 of 256 threads begins at 1,036 with 4 each.
template <int each, BlockOfThreads B> [[nodiscard]] HEDDLE_DEVICE std::int64_t first_of_thread(const B& b) {
  return (std::int64_t{b.index()} * b.threads() + b.thread()) * each;
}

/// How two numbers of a block become one: 2 and 3 become 5.
struct Sum {
  [[nodiscard]] HEDDLE_DEVICE static float of(float a, float b) { return a + b; }
};
/// The larger of two: of 2 and 3 it is 3.
struct Most {
  [[nodiscard]] HEDDLE_DEVICE static float of(float a, float b) { return a > b ? a : b; }
};

/// Every lane of the warp has the result of all 32, in one order.
template <class Fold, BlockOfThreads B> [[nodiscard]] HEDDLE_DEVICE float warp_fold(B& block, float x) {
  for (int d = warp_threads / 2; d > 0; d /= 2) x = Fold::of(x, block.shuffle_xor(x, d));
  return x;
}
/// Every thread has the result of the block; the order depends on threads() alone, a multiple of 32. `scratch` has 32 floats and may be used again at
/// once.
///
/// Tested  compute/cuda/block_test
template <class Fold, BlockOfThreads B> [[nodiscard]] HEDDLE_DEVICE float block_fold(B& block, float x, float* scratch) {
  x = warp_fold<Fold>(block, x);
  if (block.thread() % warp_threads == 0) scratch[block.thread() / warp_threads] = x;
  block.sync();
  x = scratch[0];
  for (int w = 1; w < block.threads() / warp_threads; ++w) x = Fold::of(x, scratch[w]);
  block.sync();
  return x;
}

}  // namespace heddle::compute_room
