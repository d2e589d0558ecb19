// SPDX-License-Identifier: MIT
// How work comes into a queue or into a graph, and what must not be called meanwhile.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "queues.hpp"
#include "sanitizers.hpp"

namespace cuda_emulator {
namespace {

bool reads(const Work& work, const Range& written) {
  const char* const begin = static_cast<const char*>(written.begin);
  return std::any_of(work.host_reads.begin(), work.host_reads.end(), [&](const Range& read) {
    const char* const from = static_cast<const char*>(read.begin);
    return from < begin + written.bytes && begin < from + read.bytes;
  });
}
bool read_by_any(const std::vector<Node>& nodes, const Range& written) {
  return std::any_of(nodes.begin(), nodes.end(), [&](const Node& node) { return reads(node.work, written); });
}
/// Pinned memory that a card will write holds poison until it has, where nothing in a queue has to read what is there now.
void poison_result(const Work& work, const std::vector<Node>* same_graph) {
  const Range& written = work.host_written;
  if (written.bytes == 0 || (same_graph != nullptr && read_by_any(*same_graph, written))) return;
  for (const auto& stream : state().streams)
    for (const auto& item : stream->items)
      if (reads(item->work, written) || (item->run != nullptr && read_by_any(item->run->graph->nodes, written))) return;
  std::memset(const_cast<void*>(written.begin), 0xFF, written.bytes);
}

void capture(Stream& stream, Work work) {
  Capture& capture = *stream.capture;
  Node node{std::move(work), stream.tips};
  for (Communicator* const communicator : node.work.communicators) {  // operations of one communicator keep their order in a graph
    const auto last = capture.last_node_of.find(communicator);
    if (last != capture.last_node_of.end()) node.after.push_back(last->second);
    capture.last_node_of[communicator] = capture.nodes.size();
  }
  stream.tips = {capture.nodes.size()};
  capture.nodes.push_back(std::move(node));
}

}  // namespace

cudaError_t enqueue(Stream& stream, std::unique_ptr<Item> item) {
  if (item->run != nullptr)
    for (const Node& node : item->run->graph->nodes) poison_result(node.work, &item->run->graph->nodes);
  else
    poison_result(item->work, nullptr);
  tsan::release(item.get());
  stream.items.push_back(std::move(item));
  pump_a_little();
  return device(stream.device).error;
}
cudaError_t enqueue(Stream& stream, Work work) {
  if (work.on_current_device && stream.device != current_device()) {
    violation(work.name + " is queued on a stream of device " + std::to_string(stream.device) + " while device " + std::to_string(current_device()) +
              " is set.");
    return cudaErrorInvalidResourceHandle;
  }
  if (stream.capture == nullptr) return enqueue(stream, std::make_unique<Item>(Item{.kind = Item::Kind::work, .work = std::move(work)}));
  capture(stream, std::move(work));
  return cudaSuccess;
}

bool forbidden_in_capture(const char* name) {
  for (const auto& capture : state().captures)
    if (capture->mode == cudaStreamCaptureModeGlobal ||
        (capture->mode == cudaStreamCaptureModeThreadLocal && capture->thread == std::this_thread::get_id())) {
      capture->invalid = true;
      violation(std::string(name) + " is called while a stream captures.");
      return true;
    }
  return false;
}
void spoil_capture(Stream& stream, const std::string& sentence) {
  stream.capture->invalid = true;
  violation(sentence);
}

}  // namespace cuda_emulator
