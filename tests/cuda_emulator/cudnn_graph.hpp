// SPDX-License-Identifier: MIT
// Room: tests. What a descriptor of cuDNN's graphs holds: attributes as they were set, and whether it is finalized.
// Sees: cudnn.  Does not see: how anything is computed.
// In: attributes.  Out: GraphDescriptor, graph_descriptor.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cudnn.hpp"

namespace cuda_emulator {

/// A tensor with the attributes of its sizes and strides, or anything else that cudnnBackendCreateDescriptor makes.
struct GraphDescriptor {
  static constexpr const char* kind = "descriptors of graphs";
  /// 4 sizes are {CUDNN_TYPE_INT64, 4, 32 bytes}; descriptors are kept apart, since they may be given back before.
  struct Attribute {
    cudnnBackendAttributeType_t type{};
    std::int64_t count = 0;
    std::string bytes{};
    std::vector<std::shared_ptr<GraphDescriptor>> descriptors{};
  };
  cudnnBackendDescriptorType_t type{};
  bool finalized = false;
  int number = 0;  ///< of a configuration, its engine and their plan
  std::map<cudnnBackendAttributeName_t, Attribute> attributes{};

  [[nodiscard]] bool has(cudnnBackendAttributeName_t name) const { return attributes.count(name) > 0; }
  [[nodiscard]] const GraphDescriptor* child(cudnnBackendAttributeName_t name) const {
    const auto known = attributes.find(name);
    return known == attributes.end() || known->second.descriptors.empty() ? nullptr : known->second.descriptors.front().get();
  }
  /// One value, or several; those that are not there stay.
  template <class T> void read(cudnnBackendAttributeName_t name, T* to, std::size_t most = 1) const {
    if (const auto known = attributes.find(name); known != attributes.end())
      std::memcpy(to, known->second.bytes.data(), std::min(known->second.bytes.size(), most * sizeof(T)));
  }
};
/// What a handle stands for, or nullptr and a violation.
[[nodiscard]] std::shared_ptr<GraphDescriptor> graph_descriptor(cudnnBackendDescriptor_t handle);

/// What cuDNN says of an operation whose attributes are all set: shapes that do not fit are a violation.
[[nodiscard]] cudnnStatus_t look_at_operation(const GraphDescriptor& operation);
/// Whether it has engines for a graph: its products are of 8, 16, ... 128 features.
[[nodiscard]] bool has_engines(const GraphDescriptor& graph);
/// Queues what a plan says with the pointers of a pack.
[[nodiscard]] cudnnStatus_t queue_graph(cudnnHandle_t handle, const GraphDescriptor& plan, const GraphDescriptor& pack);
[[nodiscard]] std::size_t workspace_of_graph(const GraphDescriptor& graph, int number);

}  // namespace cuda_emulator
