// SPDX-License-Identifier: MIT
// cuDNN, graphs of operations, their engines and plans:
//   cudnnBackendCreateDescriptor cudnnBackendDestroyDescriptor cudnnBackendSetAttribute cudnnBackendFinalize cudnnBackendGetAttribute
//   cudnnBackendExecute
#include "cudnn_graph.hpp"

#include <algorithm>
#include <utility>

namespace cuda_emulator {
namespace {

constexpr int engines = 3;  // the first of them adds in another order each time
using Held = std::map<cudnnBackendDescriptor_t, std::shared_ptr<GraphDescriptor>>;
Held& all() {
  static Held* const held = new Held;
  return *held;
}
std::size_t bytes_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_BACKEND_DESCRIPTOR: return sizeof(void*);
    case CUDNN_TYPE_INT64: return sizeof(std::int64_t);
    case CUDNN_TYPE_BOOLEAN: return sizeof(bool);
    case CUDNN_TYPE_DATA_TYPE:
    case CUDNN_TYPE_POINTWISE_MODE:
    case CUDNN_TYPE_REDUCTION_OPERATOR_TYPE:
    case CUDNN_TYPE_HEUR_MODE: return sizeof(int);
    default: return 0;
  }
}
/// Which type an attribute has that Heddle sets; CUDNN_TYPE_CHAR where the emulator does not know it.
cudnnBackendAttributeType_t type_of(cudnnBackendAttributeName_t name) {
  switch (name) {
    case CUDNN_ATTR_TENSOR_DATA_TYPE:
    case CUDNN_ATTR_MATMUL_COMP_TYPE:
    case CUDNN_ATTR_POINTWISE_MATH_PREC:
    case CUDNN_ATTR_REDUCTION_COMP_TYPE: return CUDNN_TYPE_DATA_TYPE;
    case CUDNN_ATTR_POINTWISE_MODE: return CUDNN_TYPE_POINTWISE_MODE;
    case CUDNN_ATTR_REDUCTION_OPERATOR: return CUDNN_TYPE_REDUCTION_OPERATOR_TYPE;
    case CUDNN_ATTR_TENSOR_IS_VIRTUAL:
    case CUDNN_ATTR_TENSOR_IS_BY_VALUE: return CUDNN_TYPE_BOOLEAN;
    case CUDNN_ATTR_POINTWISE_AXIS:
    case CUDNN_ATTR_TENSOR_UNIQUE_ID:
    case CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT:
    case CUDNN_ATTR_TENSOR_DIMENSIONS:
    case CUDNN_ATTR_TENSOR_STRIDES:
    case CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS: return CUDNN_TYPE_INT64;
    case CUDNN_ATTR_ENGINEHEUR_MODE: return CUDNN_TYPE_HEUR_MODE;
    case CUDNN_ATTR_OPERATIONGRAPH_HANDLE:
    case CUDNN_ATTR_EXECUTION_PLAN_HANDLE: return CUDNN_TYPE_HANDLE;
    case CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS:
    case CUDNN_ATTR_VARIANT_PACK_WORKSPACE: return CUDNN_TYPE_VOID_PTR;
    case CUDNN_ATTR_OPERATION_MATMUL_ADESC:
    case CUDNN_ATTR_OPERATION_MATMUL_BDESC:
    case CUDNN_ATTR_OPERATION_MATMUL_CDESC:
    case CUDNN_ATTR_OPERATION_MATMUL_DESC:
    case CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR:
    case CUDNN_ATTR_OPERATION_POINTWISE_XDESC:
    case CUDNN_ATTR_OPERATION_POINTWISE_BDESC:
    case CUDNN_ATTR_OPERATION_POINTWISE_TDESC:
    case CUDNN_ATTR_OPERATION_POINTWISE_YDESC:
    case CUDNN_ATTR_OPERATION_REDUCTION_XDESC:
    case CUDNN_ATTR_OPERATION_REDUCTION_YDESC:
    case CUDNN_ATTR_OPERATION_REDUCTION_DESC:
    case CUDNN_ATTR_OPERATION_RESHAPE_XDESC:
    case CUDNN_ATTR_OPERATION_RESHAPE_YDESC:
    case CUDNN_ATTR_OPERATIONGRAPH_OPS:
    case CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH:
    case CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG: return CUDNN_TYPE_BACKEND_DESCRIPTOR;
    default: return CUDNN_TYPE_CHAR;
  }
}
/// What a descriptor must have when it is finalized.
std::vector<cudnnBackendAttributeName_t> needed(cudnnBackendDescriptorType_t type) {
  switch (type) {
    case CUDNN_BACKEND_TENSOR_DESCRIPTOR:
      return {CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_ATTR_TENSOR_DIMENSIONS,
              CUDNN_ATTR_TENSOR_STRIDES};
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR: return {CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_ATTR_OPERATIONGRAPH_OPS};
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR: return {CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, CUDNN_ATTR_ENGINEHEUR_MODE};
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: return {CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG};
    case CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR: return {CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS};
    default: return {};
  }
}
bool is_operation(cudnnBackendDescriptorType_t type) {
  return type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR || type == CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR ||
         type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR || type == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR;
}
/// The graph behind a configuration, or nullptr.
const GraphDescriptor* graph_of(const GraphDescriptor& configuration) { return configuration.child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH); }
/// Configurations of all engines, into descriptors that were made for them.
cudnnStatus_t results(const GraphDescriptor& heuristic, std::int64_t wanted, std::int64_t* found, void* array) {
  ++state().counts.heuristics;
  const int there = has_engines(*graph_of(heuristic)) ? std::min<int>(engines, state().options.algorithms) : 0;
  for (*found = 0; *found < std::min<std::int64_t>(wanted, there); ++*found) {
    const auto into = graph_descriptor(static_cast<cudnnBackendDescriptor_t*>(array)[*found]);
    if (into == nullptr) return CUDNN_STATUS_BAD_PARAM;
    into->attributes = heuristic.attributes;
    into->number = static_cast<int>(*found);
    into->finalized = true;
  }
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t get(const GraphDescriptor& of, cudnnBackendAttributeName_t name, std::int64_t wanted, std::int64_t* found, void* array) {
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS: return results(of, wanted, found, array);
    case CUDNN_ATTR_ENGINECFG_ENGINE: {
      const auto into = graph_descriptor(*static_cast<cudnnBackendDescriptor_t*>(array));
      if (into == nullptr) return CUDNN_STATUS_BAD_PARAM;
      into->number = of.number;
      into->finalized = true;
      *found = 1;
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_ENGINE_NUMERICAL_NOTE: {
      auto* const notes = static_cast<cudnnBackendNumericalNote_t*>(array);
      *found = std::min<std::int64_t>(wanted, of.number == 0 ? 2 : 1);
      if (*found > 0) notes[0] = CUDNN_NUMERICAL_NOTE_TENSOR_CORE;
      if (*found > 1) notes[1] = CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC;
      return CUDNN_STATUS_SUCCESS;
    }
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE: {
      const GraphDescriptor* const graph = graph_of(*of.child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG));
      *static_cast<std::int64_t*>(array) = static_cast<std::int64_t>(workspace_of_graph(*graph, of.number));
      *found = 1;
      return CUDNN_STATUS_SUCCESS;
    }
    default: return cudnn_mistake("cudnnBackendGetAttribute is given an attribute that the emulator does not know");
  }
}
cudnnStatus_t set(GraphDescriptor& of, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::int64_t count, const void* values) {
  if (of.finalized) return cudnn_mistake("cudnnBackendSetAttribute is given a descriptor that is finalized");
  if (type_of(name) != type || count < 1 || values == nullptr)
    return cudnn_mistake("cudnnBackendSetAttribute is given attribute " + std::to_string(name) + " as a type that it has not");
  GraphDescriptor::Attribute made{type, count};
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto child = graph_descriptor(static_cast<const cudnnBackendDescriptor_t*>(values)[i]);
      if (child == nullptr || !child->finalized) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
      made.descriptors.push_back(child);
    }
  } else {
    made.bytes.assign(static_cast<const char*>(values), static_cast<std::size_t>(count) * bytes_of(type));
  }
  of.attributes[name] = std::move(made);
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t finalize(GraphDescriptor& of) {
  for (const cudnnBackendAttributeName_t name : needed(of.type))
    if (!of.has(name)) return cudnn_mistake("cudnnBackendFinalize is given a descriptor without attribute " + std::to_string(name));
  if (is_operation(of.type))
    if (const cudnnStatus_t status = look_at_operation(of); status != CUDNN_STATUS_SUCCESS) return status;
  if (const GraphDescriptor* const configuration = of.child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG); configuration != nullptr) {
    if (graph_of(*configuration) == nullptr) return CUDNN_STATUS_BAD_PARAM;
    if (forbidden_in_capture("cudnnBackendFinalize of a plan")) return CUDNN_STATUS_INTERNAL_ERROR;  // it may compile, and load what it has compiled
    of.number = configuration->number;
  }
  of.finalized = true;
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

std::shared_ptr<GraphDescriptor> graph_descriptor(cudnnBackendDescriptor_t handle) {
  const auto found = all().find(handle);
  if (found != all().end()) return found->second;
  violation("cuDNN is given one of its descriptors of graphs that does not exist.");
  return nullptr;
}

}  // namespace cuda_emulator

using namespace cuda_emulator;

extern "C" {

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* made) {
  return cudnn_call(__func__, [&](Call&) {
    auto held = std::make_shared<GraphDescriptor>();
    held->type = type;
    state().library_objects[held.get()] = GraphDescriptor::kind;
    ++state().counts.descriptors;
    *made = held.get();
    all()[*made] = std::move(held);
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  return cudnn_release(__func__, [&] {
    if (graph_descriptor(descriptor) == nullptr) return CUDNN_STATUS_BAD_PARAM;
    state().library_objects.erase(descriptor);
    all().erase(descriptor);
    return CUDNN_STATUS_SUCCESS;
  });
}
cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                                       int64_t count, const void* values) {
  return cudnn_call(__func__, [&](Call&) {
    const auto held = graph_descriptor(descriptor);
    return held == nullptr ? CUDNN_STATUS_BAD_PARAM : set(*held, name, type, count, values);
  });
}
cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  return cudnn_call(__func__, [&](Call&) {
    const auto held = graph_descriptor(descriptor);
    return held == nullptr ? CUDNN_STATUS_BAD_PARAM : finalize(*held);
  });
}
cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t const descriptor, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t,
                                       int64_t wanted, int64_t* found, void* array) {
  return cudnn_call(__func__, [&](Call&) {
    const auto held = graph_descriptor(descriptor);
    if (held == nullptr || !held->finalized || found == nullptr || array == nullptr) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    return get(*held, name, wanted, found, array);
  });
}
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  return cudnn_call(__func__, [&](Call&) {
    const auto of_plan = graph_descriptor(plan);
    const auto of_pack = graph_descriptor(pack);
    if (of_plan == nullptr || of_pack == nullptr || !of_plan->finalized || !of_pack->finalized) return CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED;
    return queue_graph(handle, *of_plan, *of_pack);
  });
}

}  // extern "C"
