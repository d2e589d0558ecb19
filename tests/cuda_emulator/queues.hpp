// SPDX-License-Identifier: MIT
// Room: tests. How the queues of all cards go on: one legal order of many, which the seed chooses.
// Sees: state, work.  Does not see: kernels, cuBLASLt, NCCL.
// In: work.  Out: enqueue, pump, wait_until, stream_of, what_stands_still.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <memory>
#include <string>

#include "state.hpp"
#include "work.hpp"

namespace cuda_emulator {

/// The stream behind a handle, or nullptr and a violation. The default stream is none: what it orders is easily overlooked.
[[nodiscard]] Stream* stream_of(cudaStream_t handle);
[[nodiscard]] std::shared_ptr<Event> event_of(cudaEvent_t handle);

/// Queues work on the stream, or puts it into the graph that the stream captures.
cudaError_t enqueue(Stream& stream, Work work);
cudaError_t enqueue(Stream& stream, std::unique_ptr<Item> item);

/// One piece of queued work of any card begins or ends; false where none can.
bool pump();
/// As much as the seed lets run between two calls.
void pump_a_little();
/// Lets work run until done(); a deadlock becomes a fault of the current card.
cudaError_t wait_until(Call& call, const std::function<bool()>& done);
[[nodiscard]] bool device_is_idle(int device);
/// A call that makes or gives back memory, or makes a graph, may wait for all cards of the process: a violation where another card is in an operation
/// that waits for this thread's card. Nothing unless the options say how long such a call takes.
void may_wait_for_all_cards(Call& call, const char* name);
/// Whether nothing has gone on for as long as the options allow.
[[nodiscard]] bool stands_still();
/// Who waits for what: "stream 2 of device 0 waits for an event; stream 3 of device 1 is in ncclAllReduce".
[[nodiscard]] std::string what_stands_still();

/// A call that must not be made while a stream captures, by any thread or by this one as the mode says: true, and the capture is invalid.
[[nodiscard]] bool forbidden_in_capture(const char* name);
void spoil_capture(Stream& stream, const std::string& sentence);

}  // namespace cuda_emulator
