// SPDX-License-Identifier: MIT
// Room: compute. Optimizer steps over flat arrays, for every OptimizerDescription.
// Sees: graph/optimizer, seams/concepts, compute/eigen.  Does not see: policies, programs.
// In: Constants and arrays of a multiple of 16 elements.  Out: OptimizerKernel<Optimizer, EigenCompute>.
#pragma once

#if defined(__AVX__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <xmmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>

#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/graph/optimizer.hpp"

namespace heddle::compute_room {

/// Correctly rounded roots. std::sqrt may set errno, which keeps GCC and clang from making vector code of it.
inline FloatRegister square_roots(FloatRegister x) {
#if defined(__AVX512F__)
  return (FloatRegister)_mm512_sqrt_ps((__m512)x);
#elif defined(__AVX__)
  return (FloatRegister)_mm256_sqrt_ps((__m256)x);
#elif defined(__SSE2__)
  return (FloatRegister)_mm_sqrt_ps((__m128)x);
#elif defined(__aarch64__)
  return (FloatRegister)vsqrtq_f32((float32x4_t)x);
#else
  for (int i = 0; i < register_floats; ++i) x[i] = std::sqrt(x[i]);
  return x;
#endif
}

/// Keeps what comes after from being fused with the product that made x: GCC would do so for some processors and not for others.
[[gnu::always_inline]] inline void round_apart([[maybe_unused]] FloatRegister& x) {
#if defined(__AVX512F__)
  asm("" : "+v"(x));
#elif defined(__AVX__)
  asm("" : "+x"(x));
#elif defined(__aarch64__)
  asm("" : "+w"(x));
#endif
}

/// An update in two halves around one square root of its second state, as Adam has it, written for any type of number.
template <class O>
concept TakesRootOfSecond = OptimizerDescription<O> && O::states == 2 && requires(const typename O::Constants& c, FloatRegister& x, FloatRegister g) {
  O::moments(c, x, g, x, x);
  O::apply(c, x, g, g);
};

/// nvcc compiles the functions of a description for cards as well, which have no such registers.
#if defined(__CUDACC__)
template <class O> inline constexpr bool takes_registers = false;
#else
template <class O> inline constexpr bool takes_registers = TakesRootOfSecond<O>;
#endif

/// From load to store every number stays in a register of one width. Compilers choose a width of their own for loops over floats, and a root that
/// reads a wider register than the one just stored to memory waits for the store: it made Adam four times slower on AVX2 and on Intel's AVX-512.
template <TakesRootOfSecond O>
void step_in_registers(const typename O::Constants& c, std::int64_t elements, float* parameters, const float* gradients, float* firsts,
                       float* seconds) {
  for (std::int64_t i = 0; i < elements; i += register_floats) {
    FloatRegister p, g, first, second;
    std::memcpy(&p, parameters + i, sizeof p);
    std::memcpy(&g, gradients + i, sizeof g);
    std::memcpy(&first, firsts + i, sizeof first);
    std::memcpy(&second, seconds + i, sizeof second);
    O::moments(c, p, g, first, second);
    round_apart(p);
    O::apply(c, p, first, square_roots(second));
    std::memcpy(parameters + i, &p, sizeof p);
    std::memcpy(firsts + i, &first, sizeof first);
    std::memcpy(seconds + i, &second, sizeof second);
  }
}

/// body(lane) for every lane of a block of arrays that do not overlap.
template <class Body> [[gnu::always_inline]] inline void for_lanes_apart(const Body& body) {
#ifndef __CUDACC__
#pragma GCC unroll 1
#ifndef __clang__
#pragma GCC ivdep
#endif
#endif
  for (int lane = 0; lane < block_elements; ++lane) body(lane);
}

/// Adam in registers, every other description in loops of a constant length, which compilers make vector code of at -O2.
///
/// Law     an element's bits depend on its operands alone, never on its position or address
/// Tested  compute/eigen/optimizers_test
template <OptimizerDescription O> struct OptimizerOfBlocks {
  static void step(const typename O::Constants& constants, std::int64_t elements, float* parameters, const float* gradients, float* const* states) {
    const typename O::Constants c = constants;  // a copy: no store to the arrays can change it
    if constexpr (takes_registers<O>)
      step_in_registers<O>(c, elements, parameters, gradients, states[0], states[1]);
    else
      for (std::int64_t i = 0; i < elements; i += block_elements) step_of_block(c, i, parameters, gradients, states);
  }

 private:
  /// Read, update, write: nothing goes through a local array, for a compiler that copies such an array in narrower pieces waits for its own stores.
  [[gnu::always_inline]] static inline void step_of_block(const typename O::Constants& c, std::int64_t i, float* parameters, const float* gradients,
                                                          float* const* states) {
    float* const first = O::states > 0 ? states[0] : nullptr;
    float* const second = O::states > 1 ? states[1] : nullptr;
    for_lanes_apart([&](int l) {
      float p = parameters[i + l];
      if constexpr (O::states == 2) {
        float s = first[i + l];
        float t = second[i + l];
        O::update(c, p, gradients[i + l], s, t);
        first[i + l] = s;
        second[i + l] = t;
      } else if constexpr (O::states == 1) {
        float s = first[i + l];
        O::update(c, p, gradients[i + l], s);
        first[i + l] = s;
      } else {
        O::update(c, p, gradients[i + l]);
      }
      parameters[i + l] = p;
    });
  }
};

}  // namespace heddle::compute_room

namespace heddle {

template <graph_room::OptimizerDescription O, std::derived_from<compute_room::EigenCompute> C>
struct OptimizerKernel<O, C> : compute_room::OptimizerOfBlocks<O> {};

}  // namespace heddle
