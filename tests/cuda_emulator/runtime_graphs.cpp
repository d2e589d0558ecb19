// SPDX-License-Identifier: MIT
// The CUDA runtime, capture and graphs:
//   cudaStreamBeginCapture cudaStreamEndCapture cudaStreamIsCapturing
//   cudaGraphInstantiate cudaGraphLaunch cudaGraphDestroy cudaGraphExecDestroy cudaGraphGetNodes
#include <cuda_runtime_api.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "queues.hpp"
#include "sanitizers.hpp"
#include "state.hpp"

namespace cuda_emulator {
namespace {

/// Every stream that came in must lead back: the end of the origin comes after its last node.
bool all_joined(const Capture& capture) {
  std::vector<char> reached(capture.nodes.size(), 0);
  std::vector<std::size_t> next = capture.origin->tips;
  while (!next.empty()) {
    const std::size_t node = next.back();
    next.pop_back();
    if (std::exchange(reached[node], 1) == 0) next.insert(next.end(), capture.nodes[node].after.begin(), capture.nodes[node].after.end());
  }
  return std::all_of(capture.streams.begin(), capture.streams.end(), [&](const Stream* stream) {
    return std::all_of(stream->tips.begin(), stream->tips.end(), [&](std::size_t tip) { return reached[tip] != 0; });
  });
}
cudaError_t begin_capture(Stream& stream, cudaStreamCaptureMode mode) {
  if (stream.capture != nullptr) {
    violation("cudaStreamBeginCapture is called on a stream that captures.");
    return cudaErrorIllegalState;
  }
  auto capture = std::make_shared<Capture>();
  capture->origin = &stream;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->streams = {&stream};
  stream.capture = capture;
  stream.tips.clear();
  state().captures.insert(std::move(capture));
  return cudaSuccess;
}
cudaError_t end_capture(Stream& stream, std::vector<Node>& nodes) {
  const std::shared_ptr<Capture> capture = stream.capture;
  if (capture == nullptr) {
    violation("cudaStreamEndCapture is called on a stream that does not capture.");
    return cudaErrorIllegalState;
  }
  if (capture->origin != &stream) {
    spoil_capture(stream, "cudaStreamEndCapture is called on another stream than the capture began in.");
    return cudaErrorStreamCaptureUnmatched;
  }
  if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id()) {
    spoil_capture(stream, "cudaStreamEndCapture is called by another thread than began the capture.");
    return cudaErrorStreamCaptureWrongThread;
  }
  const bool joined = all_joined(*capture);
  for (Stream* const member : capture->streams) {
    member->capture = nullptr;
    member->tips.clear();
  }
  for (const auto& [handle, event] : state().events)
    if (event->capture == capture) {
      event->capture = nullptr;
      event->of_ended_capture = true;
    }
  state().captures.erase(capture);
  if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
  if (!joined) {
    refusal("A stream that came into the capture does not lead back to the stream that it began in.");
    return cudaErrorStreamCaptureUnjoined;
  }
  nodes = std::move(capture->nodes);
  return cudaSuccess;
}
std::shared_ptr<RunnableGraph> runnable(cudaGraphExec_t handle) {
  const auto found = state().runnable_graphs.find(reinterpret_cast<RunnableGraph*>(handle));
  if (found != state().runnable_graphs.end()) return found->second;
  violation("A runnable graph is used that does not exist.");
  return nullptr;
}
cudaError_t launch(const std::shared_ptr<RunnableGraph>& graph, Stream& stream) {
  if (stream.capture != nullptr) {
    spoil_capture(stream, "cudaGraphLaunch is captured, which the emulator does not know.");
    return cudaErrorStreamCaptureUnsupported;
  }
  const tsan::Silence silence;
  auto run = std::make_shared<GraphRun>();
  const std::size_t nodes = graph->nodes.size();
  run->graph = graph;
  run->before = graph->last_run.lock();
  run->phases.assign(nodes, GraphRun::Phase::waits);
  run->unfinished.resize(nodes);
  run->tokens.resize(nodes);
  run->left = nodes;
  graph->last_run = run;
  ++state().counts.graph_launches;
  return enqueue(stream, std::make_unique<Item>(Item{.kind = Item::Kind::graph, .run = std::move(run)}));
}

}  // namespace
}  // namespace cuda_emulator

using namespace cuda_emulator;

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  return runtime_call(__func__, cudaErrorUnknown, [&](Call&) {
    Stream* const stream = stream_of(handle);
    return stream == nullptr ? cudaErrorInvalidResourceHandle : begin_capture(*stream, mode);
  });
}
cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* made) {
  *made = nullptr;
  const Call call(__func__);
  Stream* const stream = stream_of(handle);
  if (stream == nullptr) return noted(cudaErrorInvalidResourceHandle);
  std::vector<Node> nodes;
  if (const cudaError_t error = end_capture(*stream, nodes); error != cudaSuccess) return noted(error);
  if (call.failed()) return noted(cudaErrorUnknown);  // the capture has ended all the same
  if (const cudaError_t error = device(stream->device).error; error != cudaSuccess) return noted(error);
  auto graph = std::make_unique<Graph>(Graph{std::move(nodes)});
  Graph* const address = graph.get();
  state().graphs[address] = std::move(graph);
  *made = reinterpret_cast<cudaGraph_t>(address);
  return cudaSuccess;
}
cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  return runtime_call(__func__, cudaErrorUnknown, [&](Call&) {
    Stream* const stream = stream_of(handle);
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    *status = stream->capture == nullptr ? cudaStreamCaptureStatusNone
              : stream->capture->invalid ? cudaStreamCaptureStatusInvalidated
                                         : cudaStreamCaptureStatusActive;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t handle, unsigned long long) {
  return runtime_call(__func__, cudaErrorMemoryAllocation, [&](Call& call) {
    may_wait_for_all_cards(call, "cudaGraphInstantiate");
    const auto found = state().graphs.find(reinterpret_cast<Graph*>(handle));
    if (found == state().graphs.end()) {
      violation("A graph is used that does not exist.");
      return cudaErrorInvalidValue;
    }
    const tsan::Silence silence;
    auto graph = std::make_shared<RunnableGraph>(RunnableGraph{found->second->nodes, {}});
    *made = reinterpret_cast<cudaGraphExec_t>(graph.get());
    state().runnable_graphs[graph.get()] = graph;
    return cudaSuccess;
  });
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t handle, cudaStream_t stream_handle) {
  return runtime_call(__func__, cudaErrorLaunchFailure, [&](Call&) {
    Stream* const stream = stream_of(stream_handle);
    const std::shared_ptr<RunnableGraph> graph = runnable(handle);
    return stream == nullptr || graph == nullptr ? cudaErrorInvalidResourceHandle : launch(graph, *stream);
  });
}
cudaError_t cudaGraphGetNodes(cudaGraph_t handle, cudaGraphNode_t* nodes, size_t* number) {
  return runtime_call(__func__, cudaErrorUnknown, [&](Call&) {
    const auto found = state().graphs.find(reinterpret_cast<Graph*>(handle));
    if (found == state().graphs.end() || nodes != nullptr) return cudaErrorInvalidValue;  // only how many there are
    *number = found->second->nodes.size();
    return cudaSuccess;
  });
}
cudaError_t cudaGraphDestroy(cudaGraph_t handle) {
  return runtime_release(__func__, [&](Call&) {
    if (state().graphs.erase(reinterpret_cast<Graph*>(handle)) == 1) return cudaSuccess;
    violation("A graph is destroyed that does not exist.");
    return cudaErrorInvalidValue;
  });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t handle) {
  return runtime_release(__func__, [&](Call&) {
    const tsan::Silence silence;
    if (state().runnable_graphs.erase(reinterpret_cast<RunnableGraph*>(handle)) == 1) return cudaSuccess;
    violation("A runnable graph is destroyed that does not exist.");
    return cudaErrorInvalidValue;
  });
}

}  // extern "C"
