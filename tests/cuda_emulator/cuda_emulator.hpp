// SPDX-License-Identifier: MIT
// Room: tests. What a test says to the emulated cards and asks of them. Everything else is the C API of the CUDA runtime, cuBLASLt, cuDNN and NCCL.
// Sees: nothing.  Does not see: Heddle, the toolkit.
// In: a seed, how many cards, how much memory.  Out: Options, reset, Counts, violations, refusals, alive, fail_call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace cuda_emulator {

/// How the cards are: {.seed = 7, .devices = 1} is one card whose queued work runs in the seventh of many legal orders.
struct Options {
  std::uint64_t seed = 1;
  int devices = 2;
  std::size_t device_bytes = std::size_t{16} << 30;  ///< of each card; what it does not have is cudaErrorMemoryAllocation
  double eager = 0.25;                               ///< the chance that a call lets one more piece of queued work run; 1 runs all at once
  double deadline_s = 10;                            ///< a wait in which no stream of any card goes on for so long is a deadlock
  bool one_collective = true;                        ///< a card runs one operation of NCCL at a time, as a full card may
  bool peers = true;                                 ///< cards may be allowed to read each other's memory
  int driver_version = 13000;                        ///< an older one is cudaErrorInsufficientDriver, 0 no driver at all
  bool processes = false;                            ///< ranks of NCCL are processes of this machine; each has the same cards
  int algorithms = 8;                                ///< the most that the heuristic of cuBLASLt finds
  bool workspace_grows = false;                      ///< what an algorithm of cuBLASLt takes grows with the result that it makes
  bool known_times = false;                          ///< by events a kernel takes 1 ms and a product 2, with algorithm number `fastest` 1
  int fastest = 0;
  double epilogue_ms = 0;       ///< what an epilogue other than a bias takes then
  bool relu_keeps_nan = false;  ///< in an epilogue; of a card it is not known yet
  bool bias_of_one = false;     ///< it adds a bias of one number, or to products of depth 1; of a card it is not known yet
};

/// New cards, as a new process would have them. What is still alive stays valid. reset({7}) asks for another order of everything that has none.
void reset(const Options& options);

/// What has been done since the last reset: after one launch of 3 blocks `kernels` is 1 and `blocks` is 3.
struct Counts {
  long calls = 0;           ///< of the C APIs
  long fallible_calls = 0;  ///< those of them that fail_call() may choose: all but releases and texts
  long allocations = 0;     ///< of memory of a card or pinned memory
  long copies = 0;
  long kernels = 0;
  long blocks = 0;
  long switches = 0;  ///< from a thread of a block to another
  long barriers = 0;  ///< at which a whole block met
  long warp_products = 0;
  long products = 0;
  long convolutions = 0;  ///< of cuDNN, each direction for itself
  long attentions = 0;    ///< graphs of cuDNN that were executed
  long descriptors = 0;   ///< of cuBLASLt and cuDNN, layouts and preferences among them, that were created
  long heuristics = 0;    ///< questions to the heuristics of cuBLASLt and cuDNN
  long graph_launches = 0;
  long collectives = 0;
  long sent_bytes = 0;  ///< payload of NCCL, all ranks together, as a ring sends it
};
[[nodiscard]] Counts counts();
[[nodiscard]] inline long calls() { return counts().calls; }

/// Mistakes, each a sentence that names the kernel or the call. A right program has none.
[[nodiscard]] std::vector<std::string> violations();
/// What a right program may be told: a card without room, a product that cuBLASLt does not offer. Each is a sentence.
[[nodiscard]] std::vector<std::string> refusals();
/// What was not given back: "1 streams, 2 allocations", or "".
[[nodiscard]] std::string alive();
/// The most bytes that the card held at any time since the last reset.
[[nodiscard]] std::size_t peak_bytes(int device);

/// The n-th fallible call from now fails once, as a call of its kind may; 0 takes that back. failed_call() is its name, or "".
void fail_call(long number);
[[nodiscard]] std::string failed_call();
/// From now on ncclCommGetAsyncError says ncclRemoteError of every communicator, as if a peer's machine were gone.
void fail_communicators();

}  // namespace cuda_emulator
