// SPDX-License-Identifier: MIT
// Room: run. How cards are to compute a plan, as words around the name of a backend say it. No Program depends on it.
// Sees: core.  Does not see: cards, libraries by name, policies.
// In: nothing.  Out: CardOptions.
#pragma once

#include <memory>

#include "heddle/core/host_device.hpp"
#include "heddle/core/text.hpp"

namespace heddle::compute_room {
class CudaLibrary;  // of a card: this room only hands on what makes one
struct CudaLibraryOptions;
}  // namespace heddle::compute_room

namespace heddle::run_room {

/// Of AllowTF32<WithCuDNN<CudaOneCard>> tf32 is true, library makes cuDNN, and autotunes is false.
struct CardOptions {
  bool tf32 = false;  ///< cards may round the factors of float32 products
  /// Makes what computes layers on cards in the place of kernels of our own; null: nothing does.
  std::unique_ptr<compute_room::CudaLibrary> (*library)(const compute_room::CudaLibraryOptions&) = nullptr;
  bool autotunes = false;  ///< products are timed at construction, and the fastest way is taken

  /// What bits depend on: processes compare it before the first step.
  [[nodiscard]] HEDDLE_COLD Text<60> in_words() const {
    const auto word = [](bool on) { return on ? "on;" : "off;"; };
    Text<60> words{};
    words << "TF32=" << word(tf32) << "cuDNN=" << word(library != nullptr) << "autotuned=" << word(autotunes);
    return words;
  }
};

}  // namespace heddle::run_room
