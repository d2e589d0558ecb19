// SPDX-License-Identifier: MIT
// Room: backend. One card as all that run on it see it: a stream, products, pinned memory, and what moves between logical devices.
// Sees: compute/cuda, seams/error.  Does not see: plans, programs, ranks.
// In: the number of a card.  Out: Card, CardMover.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/library.hpp"
#include "heddle/compute/cuda/products.hpp"
#include "heddle/compute/cuda/resources.hpp"
#include "heddle/compute/cuda/step_kernels.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/units.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::backend_room {

/// Pinned memory of one step after another: pieces are handed out until release(), when the queue is done with them. Two pieces of 100 bytes lie 128
/// bytes apart.
class PinnedPieces {
 public:
  [[nodiscard]] void* take(std::size_t bytes) {
    const std::size_t lines = (bytes + 63) / 64 * 64;
    while (at_ < pieces_.size() && used_ + lines > pieces_[at_].bytes) {
      ++at_;
      used_ = 0;
    }
    if (at_ == pieces_.size()) {
      const std::size_t size = std::max<std::size_t>(lines, std::size_t{1} << 20);
      pieces_.push_back({pinned_memory<std::byte>(size), size});
    }
    void* const here = pieces_[at_].memory.get() + used_;
    used_ += lines;
    return here;
  }
  /// So many bytes are there from now on without more being pinned, as long as none is taken at once that is larger than what is left of its piece.
  void reserve(std::size_t bytes) {
    std::size_t there = 0;
    for (const Piece& piece : pieces_) there = std::max(there, piece.bytes);
    if (there < bytes) pieces_.insert(pieces_.begin(), Piece{pinned_memory<std::byte>(bytes), bytes});
  }
  /// How far pieces are handed out: those behind it are free again once release() is given it. After 100 bytes of the first piece it is {0, 128}.
  struct Mark {
    std::size_t at, used;
  };
  [[nodiscard]] Mark mark() const { return {at_, used_}; }
  void release(const Mark& to) {
    at_ = to.at;
    used_ = to.used;
  }
  void release() { release(Mark{0, 0}); }

 private:
  /// At least 1 MiB that CUDA has pinned.
  struct Piece {
    PinnedMemory<std::byte> memory;
    std::size_t bytes;
  };
  std::vector<Piece> pieces_;
  std::size_t at_ = 0, used_ = 0;
};

/// R37 where there is no card or no driver for it; else the number of cards that this process sees.
[[nodiscard]] HEDDLE_COLD inline int visible_cards() {
  int count = 0;
  const cudaError_t e = cudaGetDeviceCount(&count);
  if (e == cudaErrorNoDevice || (e == cudaSuccess && count == 0))
    throw Error(Code{'R', 37}, "no card can be seen. Fix: look at CUDA_VISIBLE_DEVICES and at nvidia-smi; ./heddle doctor says what it finds.");
  if (int driver = 0; e == cudaErrorInsufficientDriver && cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0)
    throw Error(Code{'R', 37}, "there is no driver of NVIDIA. Fix: install it where there is a card, or train with CpuThreads.");
  if (e == cudaErrorInsufficientDriver)
    throw Error(
        Code{'R', 37},
        "the driver is older than the CUDA runtime that this program was built with. Fix: update the driver, or build with an older toolkit.");
  check_cuda(e, "cudaGetDeviceCount");
  return count;
}

/// While it lives calls of this thread are of one card; then of that which it had before: CurrentCard{1} is card 1.
class CurrentCard {
 public:
  explicit CurrentCard(int number) {
    check_cuda(cudaGetDevice(&before_), "cudaGetDevice");
    if (before_ != number) check_cuda(cudaSetDevice(number), "cudaSetDevice");
    changed_ = before_ != number;
  }
  CurrentCard(const CurrentCard&) = delete;
  CurrentCard& operator=(const CurrentCard&) = delete;
  ~CurrentCard() {
    if (changed_) static_cast<void>(cudaSetDevice(before_));
  }

 private:
  int before_ = 0;
  bool changed_ = false;
};

/// One card with one queue, in which all logical devices of the card stand one behind the other: Card{0} is the first that the process sees.
///
/// Errors  R37 no such card; R14, R36
/// Tested  backend/cuda_card_test
class Card {
 public:
  /// What it takes beside arenas, and beside a library: the workspace of products, the numbers of a step and sums of squares. What is pinned lies on
  /// the host.
  static constexpr Bytes memory = 32_MiB + 68_KiB;
  explicit Card(int number = 0, const CudaProductOptions& how = {}, MakeCudaLibrary make_library = nullptr) : number_(number) {
    if (const int cards = visible_cards(); number < 0 || number >= cards)
      throw Error(Code{'R', 37}, written({"card ", number, " was asked for, but this process sees ", cards, (cards == 1 ? " card" : " cards"),
                                          ", counted from 0. Fix: name one of them, or look at CUDA_VISIBLE_DEVICES."}));
    const CurrentCard here{number};
    stream_ = make_stream();
    products_ = std::make_unique<CudaProducts>(stream_.get(), how);
    if (make_library != nullptr) library_ = make_library({stream_.get(), how.tf32, how.usual_rows});
  }
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  [[nodiscard]] cudaStream_t stream() const { return stream_.get(); }
  [[nodiscard]] CudaProducts& products() { return *products_; }
  /// What computes whole layers; null without such a library.
  [[nodiscard]] CudaLibrary* library() const { return library_.get(); }
  /// What was chosen before the first step: a sentence for each layer that the library was asked about, and for each product that was timed.
  [[nodiscard]] std::vector<std::string> layers_of_library() const {
    std::vector<std::string> all = library_ == nullptr ? std::vector<std::string>{} : library_->notes();
    all.insert(all.end(), notes_.begin(), notes_.end());
    return all;
  }
  void note(const std::vector<std::string>& sentences) { notes_.insert(notes_.end(), sentences.begin(), sentences.end()); }
  /// "NVIDIA H200"
  [[nodiscard]] HEDDLE_COLD std::string name() const {
    cudaDeviceProp facts{};
    check_cuda(cudaGetDeviceProperties(&facts, number_), "cudaGetDeviceProperties");
    return facts.name;
  }
  [[nodiscard]] int number() const { return number_; }
  /// Until the queue is empty, as wait_by() has said.
  void wait() {
    if (wait_)
      wait_();
    else
      wait_for(stream());
  }
  /// For a card whose queue waits for other ranks, which may be lost: `wait` throws then.
  void wait_by(std::function<void()> wait) { wait_ = std::move(wait); }
  // Several threads may read parameters at once: each has its turn.
  void download(void* here, const void* there, std::size_t bytes) {
    through_pinned(bytes, [&](void* room) {
      check_cuda(cudaMemcpyAsync(room, there, bytes, cudaMemcpyDeviceToHost, stream()), "cudaMemcpyAsync");
      wait();
      std::copy_n(static_cast<const std::byte*>(room), bytes, static_cast<std::byte*>(here));
    });
  }
  void upload(void* there, const void* here, std::size_t bytes) {
    through_pinned(bytes, [&](void* room) {
      std::copy_n(static_cast<const std::byte*>(here), bytes, static_cast<std::byte*>(room));
      check_cuda(cudaMemcpyAsync(there, room, bytes, cudaMemcpyHostToDevice, stream()), "cudaMemcpyAsync");
      wait();
    });
  }

 private:
  template <class Use> void through_pinned(std::size_t bytes, Use use) {
    if (bytes == 0) return;
    const std::lock_guard turn{mutex_};
    const CurrentCard here{number_};
    pinned_.release();
    use(pinned_.take(bytes));
  }

  int number_;
  Stream stream_;
  std::unique_ptr<CudaProducts> products_;
  std::unique_ptr<CudaLibrary> library_;
  std::vector<std::string> notes_;
  std::function<void()> wait_;
  std::mutex mutex_;
  PinnedPieces pinned_;  // of one copy at a time
};

/// n floats of a card, in one of its queues.
inline void queue_copy(cudaStream_t stream, float* to, const float* from, std::int64_t n) {
  if (n > 0 && to != from)
    check_cuda(cudaMemcpyAsync(to, from, static_cast<std::size_t>(n) * sizeof(float), cudaMemcpyDeviceToDevice, stream), "cudaMemcpyAsync");
}

/// Copies and sums between logical devices of one card, in its queue.
class CardMover {
 public:
  explicit CardMover(Card& card) : card_(&card) {}
  [[nodiscard]] Card& card() { return *card_; }
  void copy(float* to, const float* from, std::int64_t n) const { queue_copy(card_->stream(), to, from, n); }
  void sum(float* const* to, const float* const* from, int members, std::int64_t n) const {
    if (members > MemberBuffers::most)
      throw Error(Code{'R', 37}, written({members, " logical devices of one card are to be summed, and ", MemberBuffers::most,
                                          " can be. Fix: take a plan of fewer devices."}));
    MemberBuffers at{};
    for (int m = 0; m < members; ++m) {
      at.from[m] = from[m];
      at.to[m] = to[m];
    }
    launch<SumOfMembers>(card_->stream(), extents_of(n), n, members, at);
  }

 private:
  Card* card_;
};

}  // namespace heddle::backend_room
