// SPDX-License-Identifier: MIT
// Room: tests. The memory of the emulated cards: closed to the host, between guard pages and canaries, NaN until it is written.
// Sees: nothing.  Does not see: streams, kernels.
// In: sizes and addresses.  Out: Allocation, Memory, OpenMemory, look_at_canaries, watch_for_traps.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace cuda_emulator {

/// 4000 bytes of a card end less than 256 bytes before a guard page: the pages [map, map + map_bytes) have one at each end.
struct Allocation {
  char* map = nullptr;
  std::size_t map_bytes = 0;
  char* data = nullptr;
  std::size_t bytes = 0;
  int device = 0;
  bool pinned = false;
  bool open = false;
  int number = 0;
  [[nodiscard]] char* end() const { return data + bytes; }
};

/// Everything that was allocated. Addresses that were given back are not used again before the next reset.
class Memory {
 public:
  /// nullptr where the machine has no more. The bytes are poison: NaN as float, double and bfloat16, -1 as an integer.
  [[nodiscard]] void* allocate(std::size_t bytes, int device, bool pinned);
  /// The allocation that begins at `data`, or nullptr.
  [[nodiscard]] const Allocation* starting_at(const void* data, bool pinned) const;
  void give_back(const Allocation& allocation);
  /// The allocation that all of [begin, begin + bytes) lies in, or nullptr. The end of one counts for 0 bytes.
  [[nodiscard]] const Allocation* around(const void* begin, std::size_t bytes) const;
  [[nodiscard]] bool on_device(const void* begin, std::size_t bytes, int device) const;
  [[nodiscard]] std::size_t alive() const { return alive_.size(); }
  /// Writes what the address is into `text`, as "byte 400 of memory 3 of device 0, which has 400 bytes". It allocates nothing: signal handlers ask.
  void describe(const void* address, char* text, std::size_t room) const;
  [[nodiscard]] std::vector<Allocation*> spoilt();  // those with a canary that was written over
  void forget_given_back();

 private:
  friend class OpenMemory;
  static bool open(Allocation& allocation);
  void close_all();
  std::map<char*, Allocation> alive_;  // by end of the data
  std::vector<Allocation> given_back_;
  int numbers_ = 0;
};

/// While one lives, queued work runs on this thread. Memory that the work names is opened before, and other memory of a card when it is first
/// touched; all is closed again when the outermost one goes.
class OpenMemory {
 public:
  explicit OpenMemory(Memory& memory);
  ~OpenMemory();
  OpenMemory(const OpenMemory&) = delete;
  OpenMemory& operator=(const OpenMemory&) = delete;
  /// Opens the allocation that `address` lies in; false if there is none, if it is open, or if no work runs on this thread. Signal handlers ask.
  static bool also(const void* address);

 private:
  Memory& memory_;
};

/// A kernel or a copy that wrote past its memory is a fault of its card. `after` is its name.
void look_at_canaries(int device, const std::string& after);
/// A touch of closed memory becomes a sentence: a fault of the kernel that runs, or the end of the process where host code did it.
void watch_for_traps();

}  // namespace cuda_emulator
