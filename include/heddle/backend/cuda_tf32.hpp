// SPDX-License-Identifier: MIT
// Room: backend. AllowTF32: a backend of cards whose float32 products round their factors to TF32.
// Sees: run/transport_needs, core.  Does not see: which transport, kernels.
// In: CudaOneCard, CudaThreads, CudaMpi or CudaFiles.  Out: AllowTF32.
#pragma once

#include <chrono>

#include "heddle/core/fire.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/run/transport_needs.hpp"

namespace heddle::backend_room {

/// A session of cards that multiply so: it asks for them as every session does, and says tf32.
template <class Session> class SessionWithTF32 : public Session {
 public:
  HEDDLE_APART SessionWithTF32(const run_room::TransportNeeds& needs, std::chrono::nanoseconds deadline) : Session(allowed(needs), deadline) {}

 private:
  [[nodiscard]] static run_room::TransportNeeds allowed(run_room::TransportNeeds needs) {
    needs.tf32 = true;
    return needs;
  }
};

/// A backend that computes on cards.
template <class Backend>
concept ComputesOnCards = requires {
  requires Backend::on_gpus;
};

/// A backend of cards whose sessions say tf32.
template <class Backend> struct RoundsToTF32 : Backend {
  using Session = SessionWithTF32<typename Backend::Session>;
  /// For verify: a product is within 2^-10 of its largest element, and ten of them stand one behind the other.
  static constexpr double verified_within = 1e-2;
};
/// L09 of a backend without cards.
template <class Backend> struct NamedForTF32 {
  static constexpr Diagnosis found = [] {
    if (ComputesOnCards<Backend>) return Diagnosis{};
    return Diagnosis{Code{'L', 9}, "AllowTF32 names "} << type_name<Backend>().view()
                                                       << ", which computes on cores and rounds no factors. Fix: name CudaOneCard, CudaThreads, "
                                                          "CudaMpi or CudaFiles in it, or leave it out.";
  }();
};
/// Refused where it is named, before a Trainer asks what it is.
template <class Backend, bool OnCards = ComputesOnCards<Backend>> struct TF32Of { using type = RoundsToTF32<Backend>; };
template <class Backend> struct TF32Of<Backend, false> {
  static_assert(sizeof(fired<NamedForTF32<Backend>>) > 0);
  using type = Backend;
};

/// Trainer<MyPlan, AllowTF32<CudaOneCard>> multiplies float32 with factors rounded to TF32, 10 bits behind the point, and adds in float32: several
/// times as fast, with an error of a product of about 3e-4. It is a word of the backend, since it says how a card multiplies: no plan, and no
/// Program, depends on it. Values in bfloat16 are multiplied as they are without it.
///
/// Law     plans have the bits that they have of one device under it, as CudaProducts says
/// Errors  L09 of a backend without cards; R08 if processes differ in it
/// Source  sources.md#tf32
/// Tested  backend/cuda_tf32_test, fail/L09_tf32_of_the_host
template <class Backend> using AllowTF32 = typename TF32Of<Backend>::type;

}  // namespace heddle::backend_room

namespace heddle {
using backend_room::AllowTF32;
}  // namespace heddle
