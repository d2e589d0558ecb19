// SPDX-License-Identifier: MIT
// Room: backend. WithCuDNN: a backend of cards whose convolutions and attention cuDNN computes, where it takes them.
// Sees: compute/cuda/cudnn, backend/cuda_tf32, run/transport_needs, core.  Does not see: which transport.
// In: CudaOneCard, CudaThreads, CudaMpi or CudaFiles.  Out: WithCuDNN.
#pragma once

#include <chrono>

#include "heddle/backend/cuda_tf32.hpp"
#include "heddle/compute/cuda/cudnn.hpp"
#include "heddle/core/fire.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/run/transport_needs.hpp"

namespace heddle::backend_room {

/// A session of cards that compute so: it asks for them as every session does, and says by what.
template <class Session> class SessionWithCuDNN : public Session {
 public:
  HEDDLE_APART SessionWithCuDNN(const run_room::TransportNeeds& needs, std::chrono::nanoseconds deadline) : Session(with_library(needs), deadline) {}

 private:
  [[nodiscard]] static run_room::TransportNeeds with_library(run_room::TransportNeeds needs) {
    needs.library = &compute_room::make_cudnn;
    return needs;
  }
};
/// A backend of cards whose sessions say cuDNN.
template <class Backend> struct ComputesByCuDNN : Backend { using Session = SessionWithCuDNN<typename Backend::Session>; };
/// L09 of a backend without cards.
template <class Backend> struct NamedForCuDNN {
  static constexpr Diagnosis found = [] {
    if (ComputesOnCards<Backend>) return Diagnosis{};
    return Diagnosis{Code{'L', 9}, "WithCuDNN names "}
           << type_name<Backend>().view()
           << ", which computes on cores. Fix: name CudaOneCard, CudaThreads, CudaMpi or CudaFiles in it, or "
              "leave it out.";
  }();
};
/// Refused where it is named, before a Trainer asks what it is.
template <class Backend, bool OnCards = ComputesOnCards<Backend>> struct CuDNNOf { using type = ComputesByCuDNN<Backend>; };
template <class Backend> struct CuDNNOf<Backend, false> {
  static_assert(sizeof(fired<NamedForCuDNN<Backend>>) > 0);
  using type = Backend;
};

/// Trainer<MyPlan, WithCuDNN<CudaOneCard>> asks cuDNN at construction for each Conv2d, and under Mixed for each SelfAttention, whether it computes
/// them; kernels of Heddle compute the others. trainer.session().layers_of_library() says of each which it is, and why. AllowTF32<WithCuDNN<...>>
/// allows cuDNN to round as it allows products. No plan, and no Program, depends on it.
///
/// Law     a program has the same bits again: algorithms are deterministic, and chosen for the rows of the whole batch. Between layouts of a plan
/// bits
///         of convolutions and attention may differ, since those of a row may depend on the rows beside it
/// Errors  L09 of a backend without cards; R08 if processes differ in it; R36
/// Source  sources.md#cudnn
/// Tested  backend/cuda_cudnn_test
template <class Backend> using WithCuDNN = typename CuDNNOf<Backend>::type;

}  // namespace heddle::backend_room

namespace heddle::extending {
using backend_room::WithCuDNN;
}  // namespace heddle::extending
