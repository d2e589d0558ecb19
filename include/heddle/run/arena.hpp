// SPDX-License-Identifier: MIT
// Room: run. One allocation per device, made at construction; every tensor lies at the offset that the Program gives.
// Sees: plan/program, core.  Does not see: threads, compute, transport.
// In: an ArenaMap.  Out: pointers, and the highest byte that was ever used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "heddle/core/units.hpp"

namespace heddle::inline run {

/// Zeroed memory at a multiple of 64 bytes.
class Arena {
 public:
  explicit Arena(std::int64_t bytes) : bytes_(bytes), memory_(allocate(bytes)) { std::memset(memory_.get(), 0, static_cast<std::size_t>(bytes)); }

  /// Floats from `offset` [bytes] on; notes that `elements` of them are in use.
  [[nodiscard]] float* floats(std::int64_t offset, std::int64_t elements) {
    const std::int64_t end = offset + 4 * elements;
    if (end > high_water_) high_water_ = end;
    return reinterpret_cast<float*>(memory_.get() + offset);
  }
  [[nodiscard]] std::byte* bytes(std::int64_t offset) { return memory_.get() + offset; }
  [[nodiscard]] Bytes size() const { return Bytes{bytes_}; }
  [[nodiscard]] Bytes high_water() const { return Bytes{high_water_}; }

 private:
  static constexpr std::align_val_t alignment{64};
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete(memory, alignment); }
  };
  static std::byte* allocate(std::int64_t bytes) { return static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes > 0 ? bytes : 64), alignment)); }

  std::int64_t bytes_;
  std::int64_t high_water_ = 0;
  std::unique_ptr<std::byte, Free> memory_;
};

}  // namespace heddle::inline run
