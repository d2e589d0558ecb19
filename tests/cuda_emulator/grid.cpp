// SPDX-License-Identifier: MIT
// One launch, block by block: what a kernel asks of its block is answered here, and what it must not ask becomes a sentence.
#include "grid.hpp"

#include <setjmp.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <exception>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "fibers.hpp"
#include "lanes.hpp"
#include "sanitizers.hpp"

namespace cuda_emulator {
namespace {

using heddle::compute_room::BlockExecutor;
using heddle::compute_room::ExecutedBlock;
using heddle::compute_room::HostKernel;
using heddle::compute_room::KernelLine;
using heddle::compute_room::LaneOfProduct;
using heddle::compute_room::warp_threads;

/// The shared memory of one block: pieces with gaps, and nothing in the gaps may change. It is new for each block, since blocks have no order.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t allowed) : allowed_(allowed) {
    const tsan::Silence silence;
    bytes_.resize(allowed + (most_pieces + 1) * gap);
    tsan::fill_unseen(bytes_.data(), gap_byte, bytes_.size());
    asan::forbid(bytes_.data(), bytes_.size());
  }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;
  ~SharedMemory() {
    asan::allow(bytes_.data(), bytes_.size());
    const tsan::Silence silence;
    std::vector<char>().swap(bytes_);
  }
  /// The next piece of a thread, or nullptr and why.
  std::pair<void*, const char*> piece(Lane& lane, std::size_t bytes) {
    bytes = (bytes + 15) / 16 * 16;
    lane.shared_bytes += bytes;
    const auto number = static_cast<std::size_t>(lane.shared_pieces++);
    if (lane.shared_bytes > allowed_) return {nullptr, "asks for more shared memory than the launch has"};
    if (number >= most_pieces) return {nullptr, "asks for more than 16 pieces of shared memory"};
    if (number == count_) {
      const std::size_t begin = count_ == 0 ? gap : pieces_[count_ - 1].begin + pieces_[count_ - 1].bytes + gap;
      pieces_[count_++] = {begin, bytes};
      asan::allow(bytes_.data() + begin, bytes);
      tsan::fill_unseen(bytes_.data() + begin, poison, bytes);
    }
    if (pieces_[number].bytes != bytes) return {nullptr, "asks for other shared memory than the threads before it"};
    return {bytes_.data() + pieces_[number].begin, nullptr};
  }
  [[nodiscard]] bool gaps_hold() {
    asan::allow(bytes_.data(), bytes_.size());
    std::size_t at = 0;
    for (std::size_t number = 0; number <= count_; ++number) {
      const std::size_t end = number < count_ ? pieces_[number].begin : std::min(at + gap, bytes_.size());
      for (; at < end; ++at)
        if (static_cast<unsigned char>(bytes_[at]) != gap_byte) return false;
      if (number < count_) at = pieces_[number].begin + pieces_[number].bytes;
    }
    return true;
  }

 private:
  static constexpr std::size_t gap = 64;
  static constexpr std::size_t most_pieces = 16;
  static constexpr unsigned char gap_byte = 0x5A;
  static constexpr unsigned char poison = 0xFF;
  struct Piece {
    std::size_t begin, bytes;
  };
  std::size_t allowed_;
  std::vector<char> bytes_;
  std::array<Piece, most_pieces> pieces_{};
  std::size_t count_ = 0;
};

class GridRun;
thread_local GridRun* kernel_on_this_thread = nullptr;
thread_local char why_stopped[240];

/// It lies on the heap: instrumented code reads it, and what lies on the stack of whoever runs queues has a history for the thread sanitizer.
class GridRun final : public BlockExecutor {
 public:
  GridRun(const HostKernel& kernel, void* const* arguments, GridExtents extents, std::mt19937_64& random)
      : kernel_(kernel), arguments_(arguments), extents_(extents), random_(random), lanes_(static_cast<std::size_t>(extents.threads)) {
#if !defined(CUDA_EMULATOR_TSAN)  // for which each thread needs a stack of its own
    on_fibers_ = kernel.cooperative;
#endif
  }
  GridRun(const GridRun&) = delete;
  GridRun& operator=(const GridRun&) = delete;
  ~GridRun() = default;

  void run() {
    std::vector<int> order(static_cast<std::size_t>(extents_.blocks));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random_);
    tsan::release(&launch_token_);
    for (const int index : order) {
      block_ = index;
      SharedMemory shared(extents_.shared_bytes);
      shared_ = &shared;
      ++result.blocks;
      if (on_fibers_)
        run_on_fibers();
      else
        run_in_turn();
      tsan::acquire(&end_token_);
      if (result.wrong.empty() && !shared.gaps_hold()) stopped("writes past its shared memory");
      if (!result.wrong.empty()) return;
    }
  }

  void sync(const KernelLine& at) override {
    // Two tokens in turn: whoever is first at the next barrier must not seem to come before those that have not left this one.
    meet(Lane::Phase::barrier, at, &barrier_tokens_[running_->barriers++ % 2]);
  }
  void* shared(std::size_t bytes, const KernelLine& at) override {
    running_->where = at;
    if (!kernel_.cooperative) stop("asks for shared memory, but is said to be not cooperative");
    const auto [piece, why] = shared_->piece(*running_, bytes);
    if (why != nullptr) stop(why);
    return piece;
  }
  void shuffle(const void* mine, void* theirs, std::size_t bytes, int lane, const KernelLine& at) override {
    if (extents_.threads % warp_threads != 0) stop("shuffles in a block whose threads are no multiple of 32");
    running_->mine = mine;
    running_->theirs = theirs;
    running_->bytes = bytes;
    running_->from_lane = lane;
    meet(Lane::Phase::shuffle, at, nullptr);  // a shuffle makes no order of memory
  }
  void add_product(const LaneOfProduct& mine, const KernelLine& at) override {
    running_->part = &mine;
    meet(Lane::Phase::product, at, nullptr);
  }
  /// Ends the kernel from within; does not return.
  void stop(const char* why) {
    note_why(why);
    if (!on_fibers_) siglongjmp(before_threads_, 1);
    pause_fiber();
    std::abort();
  }
  static void note_why(const char* why) {
    const tsan::Silence silence;
    std::snprintf(why_stopped, sizeof why_stopped, "%s", why);
  }
  void touched(const char* place) {
    result.error = cudaErrorIllegalAddress;
    char why[sizeof why_stopped];
    std::snprintf(why, sizeof why, "touches %s", place);
    stop(why);
  }

  void misaligned(std::size_t multiple) {
    result.error = cudaErrorMisalignedAddress;
    char why[sizeof why_stopped];
    std::snprintf(why, sizeof why, "touches several values at once at no multiple of %zu bytes", multiple);
    stop(why);
  }

  [[nodiscard]] const char* name() const { return kernel_.name; }

  GridResult result;

 private:
  void meet(Lane::Phase phase, const KernelLine& at, const void* token) {
    if (!kernel_.cooperative) stop("meets other threads, but is said to be not cooperative");
    running_->phase = phase;
    running_->where = at;
    if (token != nullptr) tsan::release(token);
    pause_fiber();
    if (token != nullptr) tsan::acquire(token);
  }
  void call_kernel(int thread) {
    char thrown[sizeof why_stopped] = "";
    try {
      ExecutedBlock block(*this, block_, extents_.blocks, thread, extents_.threads);
      kernel_.invoke(block, arguments_);
      return;
    } catch (const std::exception& error) {
      const tsan::Silence silence;
      std::snprintf(thrown, sizeof thrown, "throws: %s", error.what());
    }
    stop(thrown);
  }
  /// Threads that never meet run one after another, from a random one on.
  void run_in_turn() {
    const int first = static_cast<int>(random_() % static_cast<unsigned>(extents_.threads));
    volatile int thread = 0;
    Lane lane;
    running_ = &lane;
    if (sigsetjmp(before_threads_, 0) == 0) {
      for (int i = 0; i < extents_.threads; ++i) {
        thread = (i + first) % extents_.threads;
        call_kernel(thread);
      }
    } else {
      lane.thread = thread;
      stopped(why_stopped);
    }
  }
  static void run_lane(void* argument) {
    Lane& lane = *static_cast<Lane*>(argument);
    auto& grid = *static_cast<GridRun*>(lane.grid);
    tsan::acquire(&grid.launch_token_);
    grid.call_kernel(lane.thread);
    lane.phase = Lane::Phase::done;
    tsan::release(&grid.end_token_);
  }
  void run_on_fibers() {
    const auto threads = static_cast<std::size_t>(extents_.threads);
    const std::size_t first = random_() % threads;  // another fiber for the same thread of each block, or the sanitizer takes these for one thread
    for (std::size_t i = 0; i < threads; ++i) {
      lanes_[i] = Lane{};
      lanes_[i].grid = this;
      lanes_[i].thread = static_cast<int>(i);
      lanes_[i].fiber = &fiber((i + first) % threads);
      give(*lanes_[i].fiber, &run_lane, &lanes_[i]);
    }
    Turns turns(lanes_, random_);
    why_stopped[0] = '\0';
    while (Lane* const lane = turns.next()) {
      running_ = lane;
      ++result.switches;
      go_on(*lane->fiber);
      if (why_stopped[0] != '\0') {
        stopped(why_stopped);
        break;
      }
      turns.paused(*lane);
    }
    result.barriers += turns.barriers();
    result.warp_products += turns.products();
    if (result.wrong.empty() && !turns.wrong().empty()) note(turns.wrong());
    for (const Lane& lane : lanes_)
      if (lane.phase != Lane::Phase::done) abandon(*lane.fiber);
  }
  void stopped(const char* why) {
    const tsan::Silence silence;
    std::string sentence = "thread " + std::to_string(running_->thread) + " " + why;
    if (running_->where.line > 0) sentence += ", after " + place(running_->where);
    note(sentence);
  }
  void note(const std::string& sentence) {
    const tsan::Silence silence;
    result.wrong = std::string(kernel_.name) + ", block " + std::to_string(block_) + ": " + sentence;
    if (result.error == cudaSuccess) result.error = cudaErrorLaunchFailure;
  }

  const HostKernel& kernel_;
  void* const* arguments_;
  GridExtents extents_;
  std::mt19937_64& random_;
  std::vector<Lane> lanes_;
  SharedMemory* shared_ = nullptr;
  Lane* running_ = nullptr;
  int block_ = 0;
  bool on_fibers_ = true;
  sigjmp_buf before_threads_{};
  char launch_token_ = 0;
  char end_token_ = 0;
  char barrier_tokens_[2] = {};
};

void tell_kernel(const void*, std::size_t multiple) {
  if (kernel_on_this_thread != nullptr) kernel_on_this_thread->misaligned(multiple);
}

}  // namespace

GridResult run_grid(const HostKernel& kernel, void* const* arguments, GridExtents extents, std::mt19937_64& random) {
  std::unique_ptr<GridRun> run;
  if (const tsan::Silence silence; true) run = std::make_unique<GridRun>(kernel, arguments, extents, random);
  kernel_on_this_thread = run.get();
  heddle::compute_room::told_of_misaligned = &tell_kernel;
  run->run();
  kernel_on_this_thread = nullptr;
  const tsan::Silence silence;
  GridResult result = run->result;
  run.reset();
  return result;
}
void leave_kernel(const char* place) {
  if (kernel_on_this_thread != nullptr && !tsan::on) kernel_on_this_thread->touched(place);
}
const char* who_runs() { return kernel_on_this_thread == nullptr ? "host code" : kernel_on_this_thread->name(); }

}  // namespace cuda_emulator
