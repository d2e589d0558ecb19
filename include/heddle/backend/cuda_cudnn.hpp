// SPDX-License-Identifier: MIT
// Room: backend. WithCuDNN: a backend of cards whose convolutions and attention cuDNN computes, where it takes them.
// Sees: compute/cuda/cudnn, backend/cuda_words, run/card_options.  Does not see: which transport.
// In: CudaOneCard, CudaThreads, CudaMpi or CudaFiles.  Out: WithCuDNN.
#pragma once

#include <string_view>

#include "heddle/backend/cuda_words.hpp"
#include "heddle/compute/cuda/cudnn.hpp"
#include "heddle/run/card_options.hpp"

namespace heddle::backend_room {

/// cuDNN is asked for each layer that it may compute.
struct CuDNNWord {
  static constexpr std::string_view name = "WithCuDNN", and_so = "";
  static void say(run_room::CardOptions& cards) { cards.library = &compute_room::make_cudnn; }
  template <class Backend> using On = SaidTo<Backend, CuDNNWord>;
};

/// Trainer<MyPlan, WithCuDNN<CudaOneCard>> asks cuDNN at construction for each Conv2d, and under Mixed for each SelfAttention, whether it computes
/// them; kernels of Heddle compute the others. trainer.session().layers_of_library() says of each which it is, and why. AllowTF32<WithCuDNN<...>>
/// allows cuDNN to round as it allows products. No plan, and no Program, depends on it.
///
/// Law     a program has the same bits again: algorithms are deterministic, and chosen for the rows of the whole batch. Between layouts of a plan
///         bits of convolutions and attention may differ, since those of a row may depend on the rows beside it
/// Errors  L09 of a backend without cards; R08 if processes differ in it; R36
/// Source  sources.md#cudnn
/// Tested  backend/cuda_cudnn_test
template <class Backend> using WithCuDNN = typename WordOn<CuDNNWord, Backend>::type;

}  // namespace heddle::backend_room

namespace heddle::extending {
using backend_room::WithCuDNN;
}  // namespace heddle::extending
