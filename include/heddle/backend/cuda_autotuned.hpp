// SPDX-License-Identifier: MIT
// Room: backend. Autotuned: a backend of cards that tries products before the first step, and takes the fastest algorithms and epilogues.
// Sees: backend/cuda_words, run/card_options.  Does not see: which transport, kernels.
// In: CudaOneCard, CudaThreads, CudaMpi or CudaFiles.  Out: Autotuned.
#pragma once

#include <string_view>

#include "heddle/backend/cuda_words.hpp"
#include "heddle/run/card_options.hpp"

namespace heddle::backend_room {

/// Products are timed at construction.
struct AutotunedWord {
  static constexpr std::string_view name = "Autotuned", and_so = " and tries no algorithms";
  static void say(run_room::CardOptions& cards) { cards.autotunes = true; }
  template <class Backend> using On = SaidTo<Backend, AutotunedWord>;
};

/// Trainer<MyPlan, Autotuned<CudaOneCard>> times the products of each Linear at construction: the algorithms that cuBLASLt offers for a grain of the
/// plan, and epilogues (ReLU, GELUTanh and its gradient, the gradient of a bias) against the kernels in whose place they would stand. The fastest is
/// taken. trainer.session().layers_of_library() says what was found. Where HEDDLE_TUNED names a folder it is kept there, in a file with the hash of
/// the Program for each rank, and the next trainer of the same Program, card and cuBLASLt reads it and times nothing.
///
/// Law     a program has the same bits again where it reads the file of an earlier run. Else, and between layouts of a plan, bits may differ: which
///         algorithm is the fastest is measured, and GELUTanh in an epilogue sees numbers that are not rounded yet
/// Errors  L09 of a backend without cards; R08 if processes differ in it; R36; R43 of a file that is none of these; D20 of a folder that takes none
/// Source  sources.md#cublaslt-algorithms
/// Tested  backend/cuda_autotuned_test
template <class Backend> using Autotuned = typename WordOn<AutotunedWord, Backend>::type;

}  // namespace heddle::backend_room

namespace heddle::extending {
using backend_room::Autotuned;
}  // namespace heddle::extending
