// SPDX-License-Identifier: MIT
// Room: compute. Graphs of cuDNN: descriptors by their attributes, and the plan of a graph of one operation.
// Sees: compute/cuda/cudnn_calls.  Does not see: layers, policies, programs.
// In: descriptors of tensors and of an operation.  Out: CudnnTensorFacts, cudnn_tensor, cudnn_operation, CudnnPlan, cudnn_plan.
#pragma once

#include <cudnn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "heddle/compute/cuda/cudnn_calls.hpp"

namespace heddle::compute_room {

/// Sets one attribute, of one value or of several; false where cuDNN does not take it.
template <class T>
[[nodiscard]] bool set_cudnn(const CudnnDescriptor& of, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T* values,
                             std::int64_t count = 1) {
  return accepted_by_cudnn(cudnnBackendSetAttribute(of.get(), name, type, count, values), "cudnnBackendSetAttribute");
}
[[nodiscard]] inline bool set_cudnn(const CudnnDescriptor& of, cudnnBackendAttributeName_t name, const CudnnDescriptor& value) {
  const cudnnBackendDescriptor_t there = value.get();
  return set_cudnn(of, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, &there);
}
[[nodiscard]] inline CudnnDescriptor made_by_cudnn(cudnnBackendDescriptorType_t type) {
  CudnnDescriptor made;
  check_cudnn(cudnnBackendCreateDescriptor(type, made.slot()), "cudnnBackendCreateDescriptor");
  return made;
}
[[nodiscard]] inline bool finalized(const CudnnDescriptor& of) { return accepted_by_cudnn(cudnnBackendFinalize(of.get()), "cudnnBackendFinalize"); }

/// A tensor of a graph, in elements: queries of 2 sequences of 5 positions, 4 heads of 8 features in rows of 64 are {1, {2, 4, 5, 8}, {320, 8, 64,
/// 1}}.
struct CudnnTensorFacts {
  std::int64_t id;
  std::array<std::int64_t, 4> sizes, strides;
  cudnnDataType_t type = CUDNN_DATA_BFLOAT16;
  bool by_value = false;  ///< one number of the host
};
/// Nothing where cuDNN does not take it.
[[nodiscard]] inline CudnnDescriptor cudnn_tensor(const CudnnTensorFacts& facts) {
  CudnnDescriptor made = made_by_cudnn(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  const std::int64_t alignment = facts.type == CUDNN_DATA_BFLOAT16 ? 16 : 4;
  const bool set = set_cudnn(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, &facts.id) &&
                   set_cudnn(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &facts.type) &&
                   set_cudnn(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, &alignment) &&
                   set_cudnn(made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, facts.sizes.data(), 4) &&
                   set_cudnn(made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, facts.strides.data(), 4) &&
                   (!facts.by_value || set_cudnn(made, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, &facts.by_value)) && finalized(made);
  return set ? std::move(made) : CudnnDescriptor{};
}

/// Tensors of an operation and what they are in it: {CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, queries}.
struct CudnnRole {
  cudnnBackendAttributeName_t name;
  CudnnTensorFacts facts;
};
/// An operation with its tensors, all finalized; without `operation` where cuDNN does not take one of them.
struct CudnnOperation {
  std::vector<CudnnDescriptor> tensors;
  CudnnDescriptor operation;
};
[[nodiscard]] inline CudnnOperation cudnn_operation(cudnnBackendDescriptorType_t type, const std::vector<CudnnRole>& roles) {
  CudnnOperation made;
  CudnnDescriptor operation = made_by_cudnn(type);
  for (const CudnnRole& role : roles) {
    made.tensors.push_back(cudnn_tensor(role.facts));
    if (made.tensors.back().get() == nullptr || !set_cudnn(operation, role.name, made.tensors.back())) return made;
  }
  if (finalized(operation)) made.operation = std::move(operation);
  return made;
}

/// A graph of one operation, ready to run: nothing where cuDNN has no deterministic engine for it, as `plan` says. That of an attention with 5
/// tensors has 10 descriptors.
struct CudnnPlan {
  CudnnOperation operation;
  CudnnDescriptor graph, heuristic, engine, configuration, plan;
  std::size_t workspace_bytes = 0;
};
/// Whether the engine of a configuration says that its bits are the same again.
[[nodiscard]] inline bool is_deterministic(const CudnnDescriptor& configuration, CudnnDescriptor& engine) {
  engine = made_by_cudnn(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  std::int64_t found = 0;
  cudnnBackendDescriptor_t there = engine.get();
  check_cudnn(cudnnBackendGetAttribute(configuration.get(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &found, &there),
              "cudnnBackendGetAttribute");
  cudnnBackendNumericalNote_t notes[CUDNN_NUMERICAL_NOTE_TYPE_COUNT] = {};
  check_cudnn(cudnnBackendGetAttribute(engine.get(), CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT,
                                       &found, notes),
              "cudnnBackendGetAttribute");
  for (std::int64_t i = 0; i < found; ++i)
    if (notes[i] == CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC) return false;
  return true;
}
/// Of one configuration; false where the engine does not take the graph after all.
[[nodiscard]] inline bool planned_by_cudnn(cudnnHandle_t handle, CudnnPlan& made) {
  CudnnDescriptor plan = made_by_cudnn(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  if (!set_cudnn(plan, CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, &handle) ||
      !set_cudnn(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, made.configuration) || !finalized(plan))
    return false;
  std::int64_t bytes = 0, found = 0;
  check_cudnn(cudnnBackendGetAttribute(plan.get(), CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &found, &bytes),
              "cudnnBackendGetAttribute");
  made.workspace_bytes = static_cast<std::size_t>(bytes);
  made.plan = std::move(plan);
  return true;
}
/// The first deterministic engine that cuDNN's heuristic names and that takes the graph.
[[nodiscard]] inline CudnnPlan cudnn_plan(cudnnHandle_t handle, CudnnOperation operation) {
  CudnnPlan made;
  made.operation = std::move(operation);
  if (made.operation.operation.get() == nullptr) return made;
  made.graph = made_by_cudnn(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  made.heuristic = made_by_cudnn(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
  if (!set_cudnn(made.graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, &handle) ||
      !set_cudnn(made.graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, made.operation.operation) || !finalized(made.graph) ||
      !set_cudnn(made.heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, made.graph) ||
      !set_cudnn(made.heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, &mode) || !finalized(made.heuristic))
    return made;
  constexpr std::size_t wanted = 8;
  std::vector<CudnnDescriptor> configurations;
  std::array<cudnnBackendDescriptor_t, wanted> there{};
  for (cudnnBackendDescriptor_t& each : there) each = configurations.emplace_back(made_by_cudnn(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)).get();
  std::int64_t found = 0;
  if (!accepted_by_cudnn(cudnnBackendGetAttribute(made.heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                                  std::int64_t{wanted}, &found, there.data()),
                         "cudnnBackendGetAttribute"))
    return made;
  for (std::size_t i = 0; i < static_cast<std::size_t>(found) && i < wanted; ++i) {
    made.configuration = std::move(configurations[i]);
    if (is_deterministic(made.configuration, made.engine) && planned_by_cudnn(handle, made)) return made;
  }
  return made;
}

/// Queues a plan with its pointers, which only this call describes.
///
/// Errors  R36
template <std::size_t n>
void run_cudnn(cudnnHandle_t handle, const CudnnPlan& plan, const std::array<std::int64_t, n>& ids, const std::array<const void*, n>& pointers,
               void* workspace) {
  const CudnnDescriptor pack = made_by_cudnn(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  const auto set = [&](cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::size_t count, const void* values) {
    check_cudnn(cudnnBackendSetAttribute(pack.get(), name, type, static_cast<std::int64_t>(count), values), "cudnnBackendSetAttribute");
  };
  set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, n, ids.data());
  set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, n, pointers.data());
  set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, &workspace);
  check_cudnn(cudnnBackendFinalize(pack.get()), "cudnnBackendFinalize");
  check_cudnn(cudnnBackendExecute(handle, plan.plan.get(), pack.get()), "cudnnBackendExecute");
}

}  // namespace heddle::compute_room
