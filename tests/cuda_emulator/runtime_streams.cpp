// SPDX-License-Identifier: MIT
// The CUDA runtime, streams and events:
//   cudaStreamCreateWithFlags cudaStreamCreateWithPriority cudaStreamDestroy cudaStreamQuery cudaStreamSynchronize cudaStreamWaitEvent
//   cudaDeviceGetStreamPriorityRange
//   cudaEventCreate cudaEventCreateWithFlags cudaEventDestroy cudaEventRecord cudaEventQuery cudaEventSynchronize cudaEventElapsedTime
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "queues.hpp"
#include "sanitizers.hpp"
#include "state.hpp"

namespace cuda_emulator {
namespace {

constexpr unsigned most_steps_of_query = 64;

/// A program that does other things for long before it asks is no deadlock.
void restart_clock_after_a_pause() {
  State& all = state();
  const auto now = std::chrono::steady_clock::now();
  if (now - all.last_question > std::chrono::seconds(1)) all.last_progress = now;
  all.last_question = now;
}
/// A query lets other work go on, a random number of steps, and waits a moment where none can.
template <class Done> void look(Call& call, Done&& done) {
  restart_clock_after_a_pause();
  const auto steps = state().random() % most_steps_of_query;
  bool moved = false;
  {
    const OpenMemory open(state().memory);
    for (unsigned i = 0; i < steps && !done(); ++i) moved = pump() || moved;
  }
  if (done()) return;
  if (!moved && steps > 0 && stands_still()) fault(current_device(), what_stands_still());
  if (!moved) state().changed.wait_for(call.lock, std::chrono::microseconds(200));
}
cudaError_t make_stream(cudaStream_t* made, unsigned flags) {
  if (flags != cudaStreamNonBlocking) violation("A stream is created that waits for the default stream.");
  auto stream = std::make_unique<Stream>();
  stream->device = current_device();
  stream->number = ++state().numbers;
  stream->identity = tsan::create();
  *made = reinterpret_cast<cudaStream_t>(stream.get());
  state().streams.push_back(std::move(stream));
  return cudaSuccess;
}
cudaError_t make_event(cudaEvent_t* made, unsigned flags) {
  const tsan::Silence silence;
  auto event = std::make_shared<Event>();
  event->device = current_device();
  event->timed = (flags & cudaEventDisableTiming) == 0;
  *made = reinterpret_cast<cudaEvent_t>(event.get());
  state().events[event.get()] = event;
  return cudaSuccess;
}
cudaError_t record(Stream& stream, const std::shared_ptr<Event>& event) {
  if (event->device != stream.device) {
    violation("cudaEventRecord is given a stream of another device than the event's.");
    return cudaErrorInvalidResourceHandle;
  }
  event->capture = stream.capture;
  event->of_ended_capture = false;
  if (stream.capture != nullptr) {
    event->tips = stream.tips;
    return cudaSuccess;
  }
  return enqueue(stream, std::make_unique<Item>(Item{.kind = Item::Kind::record, .event = event, .ticket = ++event->recorded}));
}
cudaError_t wait_for_captured(Stream& stream, const Event& event) {
  if (stream.capture == nullptr) {  // the stream comes into the capture
    stream.capture = event.capture;
    stream.tips.clear();
    event.capture->streams.insert(&stream);
  }
  if (stream.capture != event.capture) return cudaErrorStreamCaptureMerge;
  stream.tips.insert(stream.tips.end(), event.tips.begin(), event.tips.end());
  return cudaSuccess;
}
cudaError_t refuse_ended(const char* name) {
  violation(std::string(name) + " is given an event that was recorded last in a capture, which has ended.");
  return cudaErrorCapturedEvent;
}
cudaError_t wait_for(Stream& stream, const std::shared_ptr<Event>& event) {
  if (event->capture != nullptr) return wait_for_captured(stream, *event);
  if (event->of_ended_capture) return refuse_ended("cudaStreamWaitEvent");
  if (event->recorded == 0) return cudaSuccess;
  if (stream.capture != nullptr) {
    spoil_capture(stream, "A stream that captures waits for an event from outside of the capture.");
    return cudaErrorStreamCaptureIsolation;
  }
  return enqueue(stream, std::make_unique<Item>(Item{.kind = Item::Kind::wait, .event = event, .ticket = event->recorded}));
}
/// Of calls that ask about a stream or wait for it.
cudaError_t asked_in_capture(Stream& stream, const char* name) {
  if (stream.capture != nullptr) {
    spoil_capture(stream, std::string(name) + " asks about a stream that captures.");
    return cudaErrorStreamCaptureUnsupported;
  }
  return forbidden_in_capture(name) ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}
cudaError_t asked_in_capture(Event& event, const char* name) {
  if (event.capture != nullptr) {
    event.capture->invalid = true;
    violation(std::string(name) + " asks about an event that a stream recorded while it captures.");
    return cudaErrorCapturedEvent;
  }
  if (event.of_ended_capture) return refuse_ended(name);
  return forbidden_in_capture(name) ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

}  // namespace
}  // namespace cuda_emulator

using namespace cuda_emulator;

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* made, unsigned flags) {
  return runtime_call(__func__, cudaErrorMemoryAllocation, [&](Call&) { return make_stream(made, flags); });
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* made, unsigned flags, int) {
  return runtime_call(__func__, cudaErrorMemoryAllocation, [&](Call&) { return make_stream(made, flags); });
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return runtime_call(__func__, cudaErrorUnknown, [&](Call&) {
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
  });
}
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return runtime_release(__func__, [&](Call&) {
    Stream* const stream = stream_of(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    while (!stream->items.empty() && pump()) {
    }
    if (stream->capture != nullptr) {
      spoil_capture(*stream, "A stream is destroyed while it captures.");
      stream->capture->streams.erase(stream);
    }
    tsan::destroy(stream->identity);
    std::erase_if(state().streams, [&](const auto& other) { return other.get() == stream; });
    return cudaSuccess;
  });
}
cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return runtime_call(__func__, cudaErrorUnknown, [&](Call& call) {
    Stream* const stream = stream_of(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t error = asked_in_capture(*stream, "cudaStreamQuery"); error != cudaSuccess) return error;
    look(call, [&] { return stream->items.empty(); });
    if (const cudaError_t error = device(stream->device).error; error != cudaSuccess) return error;
    if (!stream->items.empty()) return cudaErrorNotReady;
    tsan::acquire(stream);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return runtime_call(__func__, cudaErrorUnknown, [&](Call& call) {
    Stream* const stream = stream_of(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t error = asked_in_capture(*stream, "cudaStreamSynchronize"); error != cudaSuccess) return error;
    const cudaError_t error = wait_until(call, [&] { return stream->items.empty(); });
    tsan::acquire(stream);
    return error;
  });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream_handle, cudaEvent_t handle, unsigned) {
  return runtime_call(__func__, cudaErrorUnknown, [&](Call&) {
    Stream* const stream = stream_of(stream_handle);
    const std::shared_ptr<Event> event = event_of(handle);
    return stream == nullptr || event == nullptr ? cudaErrorInvalidResourceHandle : wait_for(*stream, event);
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* made) {
  return runtime_call(__func__, cudaErrorMemoryAllocation, [&](Call&) { return make_event(made, cudaEventDefault); });
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* made, unsigned flags) {
  return runtime_call(__func__, cudaErrorMemoryAllocation, [&](Call&) { return make_event(made, flags); });
}
cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return runtime_release(__func__, [&](Call&) {
    const tsan::Silence silence;
    if (event_of(handle) == nullptr) return cudaErrorInvalidResourceHandle;
    state().events.erase(reinterpret_cast<Event*>(handle));  // queues that still name it keep it
    return cudaSuccess;
  });
}
cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream_handle) {
  return runtime_call(__func__, cudaErrorUnknown, [&](Call&) {
    Stream* const stream = stream_of(stream_handle);
    const std::shared_ptr<Event> event = event_of(handle);
    return stream == nullptr || event == nullptr ? cudaErrorInvalidResourceHandle : record(*stream, event);
  });
}
cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return runtime_call(__func__, cudaErrorUnknown, [&](Call& call) {
    const std::shared_ptr<Event> event = event_of(handle);
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t error = asked_in_capture(*event, "cudaEventQuery"); error != cudaSuccess) return error;
    look(call, [&] { return event->done >= event->recorded; });
    if (const cudaError_t error = device(event->device).error; error != cudaSuccess) return error;
    if (event->done < event->recorded) return cudaErrorNotReady;
    tsan::acquire(event.get());
    return cudaSuccess;
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return runtime_call(__func__, cudaErrorUnknown, [&](Call& call) {
    const std::shared_ptr<Event> event = event_of(handle);
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    if (const cudaError_t error = asked_in_capture(*event, "cudaEventSynchronize"); error != cudaSuccess) return error;
    const cudaError_t error = wait_until(call, [&, ticket = event->recorded] { return event->done >= ticket; });
    tsan::acquire(event.get());
    return error;
  });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin_handle, cudaEvent_t end_handle) {
  return runtime_call(__func__, cudaErrorUnknown, [&](Call&) {
    const std::shared_ptr<Event> begin = event_of(begin_handle);
    const std::shared_ptr<Event> end = event_of(end_handle);
    if (begin == nullptr || end == nullptr || !begin->timed || !end->timed || begin->recorded == 0 || end->recorded == 0)
      return cudaErrorInvalidResourceHandle;
    if (begin->done < begin->recorded || end->done < end->recorded) return cudaErrorNotReady;
    *milliseconds = std::chrono::duration<float, std::milli>(end->time - begin->time).count();
    return cudaSuccess;
  });
}

}  // extern "C"
