// SPDX-License-Identifier: MIT
// Room: backend. AllowTF32: a backend of cards whose float32 products round their factors to TF32.
// Sees: backend/cuda_words, run/card_options.  Does not see: which transport, kernels.
// In: CudaOneCard, CudaThreads, CudaMpi or CudaFiles.  Out: AllowTF32.
#pragma once

#include <string_view>
#include <type_traits>

#include "heddle/backend/cuda_words.hpp"
#include "heddle/core/fire.hpp"
#include "heddle/core/not_included.hpp"
#include "heddle/run/card_options.hpp"

namespace heddle::backend_room {

/// float32 factors may be rounded.
struct TF32Word {
  static constexpr std::string_view name = "AllowTF32", and_so = " and rounds no factors";
  static void say(run_room::CardOptions& cards) { cards.tf32 = true; }
  /// A backend of cards that rounds them.
  template <class Backend> struct On : SaidTo<Backend, TF32Word> {
    /// For verify: a product is within 2^-10 of its largest element, and ten of them stand one behind the other.
    static constexpr double verified_within = 1e-2;
  };
};

/// Trainer<MyPlan, AllowTF32<CudaOneCard>> multiplies float32 with factors rounded to TF32, 10 bits behind the point, and adds in float32: several
/// times as fast, with an error of a product of about 3e-4. It is a word of the backend, since it says how a card multiplies: no plan, and no
/// Program, depends on it. Values in bfloat16 are multiplied as they are without it.
///
/// Law     plans have the bits that they have of one device under it, as CudaProducts says
/// Errors  L09 of a backend without cards; R08 if processes differ in it
/// Source  sources.md#tf32
/// Tested  backend/cuda_tf32_test, fail/L09_tf32_of_the_host, fail/L17_tf32_header_forgotten
template <class Backend> struct BackendWith<TF32Word, Backend> {  // what AllowTF32 of core/not_included names; clang quotes each base on the way
  static_assert(sizeof(fired<NamedInWord<Backend, TF32Word>>) > 0);
  using type = std::conditional_t<ComputesOnCards<Backend>, TF32Word::On<Backend>, Backend>;
};

}  // namespace heddle::backend_room

namespace heddle {
using backend_room::AllowTF32;
}  // namespace heddle
