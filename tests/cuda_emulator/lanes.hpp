// SPDX-License-Identifier: MIT
// Room: tests. Whose turn it is among the threads of a block, and whether those that wait may go on.
// Sees: compute/cuda/block.  Does not see: fibers, kernels.
// In: the threads of a block as they pause.  Out: Lane, Turns, place.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "fibers.hpp"
#include "heddle/compute/cuda/block.hpp"

namespace cuda_emulator {

/// One thread of a block: thread 37 is lane 5 of warp 1.
struct Lane {
  enum class Phase : unsigned char { ready, barrier, shuffle, product, done };
  void* grid = nullptr;
  Fiber* fiber = nullptr;
  int thread = 0;
  Phase phase = Phase::ready;
  heddle::compute_room::KernelLine where{};
  std::size_t shared_bytes = 0;
  int shared_pieces = 0;
  unsigned barriers = 0;
  const void* mine = nullptr;  // what it gives to a shuffle, what it gets and from whom
  void* theirs = nullptr;
  std::size_t bytes = 0;
  int from_lane = 0;
  const heddle::compute_room::LaneOfProduct* part = nullptr;  // of a product
};

/// "block.hpp:171".
[[nodiscard]] std::string place(const heddle::compute_room::KernelLine& where);

/// Chooses at random who goes on. In half of the blocks one warp runs as far as it gets while the others stand, which shows memory that is used again
/// too early: a uniform choice never lets a warp get ahead.
class Turns {
 public:
  Turns(std::vector<Lane>& lanes, std::mt19937_64& random);
  /// nullptr where the block is done or wrong.
  [[nodiscard]] Lane* next();
  /// To be said of a lane that went on: it paused or is done.
  void paused(Lane& lane);
  [[nodiscard]] const std::string& wrong() const { return wrong_; }
  [[nodiscard]] long barriers() const { return barriers_; }
  [[nodiscard]] long products() const { return products_; }

 private:
  void open_barrier();
  void meet(std::size_t warp);
  void exchange(Lane* lanes);
  void multiply(Lane* lanes);
  [[nodiscard]] std::string who_waits_where() const;
  void everybody_is_ready();

  std::vector<Lane>& lanes_;
  std::mt19937_64& random_;
  bool one_warp_ahead_;
  std::size_t first_;
  std::vector<std::size_t> ready_;
  std::vector<int> meeting_;  // lanes of each warp, at a shuffle or product
  std::vector<char> values_;  // of a shuffle
  std::size_t done_ = 0;
  long barriers_ = 0;
  long products_ = 0;
  std::string wrong_;
};

}  // namespace cuda_emulator
