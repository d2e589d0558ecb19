// SPDX-License-Identifier: MIT
// Room: compute. Graphs of cuDNN: descriptors by their attributes, operations one after another, and the plan of them.
// Sees: compute/cuda/cudnn_calls.  Does not see: layers, policies, programs.
// In: tensors and operations.  Out: CudnnTensorFacts, CudnnGraph, CudnnPlan, cudnn_plan, run_cudnn.
#pragma once

#include <cudnn.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "heddle/compute/cuda/cudnn_calls.hpp"

namespace heddle::compute_room {

/// Sets one attribute, of one value or of several; false where cuDNN does not take it.
template <class T>
[[nodiscard]] bool set_cudnn(const CudnnDescriptor& of, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const T* values,
                             std::int64_t count = 1) {
  return accepted_by_cudnn(cudnnBackendSetAttribute(of.get(), name, type, count, static_cast<const void*>(values)), "cudnnBackendSetAttribute");
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
  bool by_value = false;    ///< one number of the host
  bool is_virtual = false;  ///< between two operations, without memory of its own
};

/// What a pointwise operation has beside its first operand and its result: {.other = scale}, or {.axis = 2} of indices along it.
struct CudnnPointwise {
  int other = -1, selects = -1;  ///< a second operand, and what chooses between the two
  std::int64_t axis = -1;
  cudnnDataType_t computes = CUDNN_DATA_FLOAT;
};

/// Operations one after another, on tensors that are numbered as they are made: in a product of three tensors the result is number 2. Where cuDNN
/// does not take one of them, taken() is false, and what follows does nothing.
class CudnnGraph {
 public:
  [[nodiscard]] bool taken() const { return taken_; }
  [[nodiscard]] const std::vector<CudnnDescriptor>& operations() const { return operations_; }

  int tensor(const CudnnTensorFacts& facts) {
    const std::int64_t alignment = facts.type == CUDNN_DATA_BFLOAT16 ? 16 : 4;
    CudnnDescriptor& made = tensors_.emplace_back(made_by_cudnn(CUDNN_BACKEND_TENSOR_DESCRIPTOR));
    take(set_cudnn(made, CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_INT64, &facts.id) &&
         set_cudnn(made, CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE, &facts.type) &&
         set_cudnn(made, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, CUDNN_TYPE_INT64, &alignment) &&
         set_cudnn(made, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, facts.sizes.data(), 4) &&
         set_cudnn(made, CUDNN_ATTR_TENSOR_STRIDES, CUDNN_TYPE_INT64, facts.strides.data(), 4) &&
         (!facts.by_value || set_cudnn(made, CUDNN_ATTR_TENSOR_IS_BY_VALUE, CUDNN_TYPE_BOOLEAN, &facts.by_value)) &&
         (!facts.is_virtual || set_cudnn(made, CUDNN_ATTR_TENSOR_IS_VIRTUAL, CUDNN_TYPE_BOOLEAN, &facts.is_virtual)) && finalized(made));
    return static_cast<int>(tensors_.size()) - 1;
  }
  /// c = a b, of the last two dimensions.
  void product(int a, int b, int c) {
    if (!taken_) return;
    const CudnnDescriptor& how = how_.emplace_back(made_by_cudnn(CUDNN_BACKEND_MATMUL_DESCRIPTOR));
    take(set_cudnn(how, CUDNN_ATTR_MATMUL_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &floats) && finalized(how));
    operation(CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR,
              {{CUDNN_ATTR_OPERATION_MATMUL_ADESC, a}, {CUDNN_ATTR_OPERATION_MATMUL_BDESC, b}, {CUDNN_ATTR_OPERATION_MATMUL_CDESC, c}},
              CUDNN_ATTR_OPERATION_MATMUL_DESC);
  }
  void pointwise(cudnnPointwiseMode_t mode, int x, int y, const CudnnPointwise& with = {}) {
    if (!taken_) return;
    const CudnnDescriptor& how = how_.emplace_back(made_by_cudnn(CUDNN_BACKEND_POINTWISE_DESCRIPTOR));
    take(set_cudnn(how, CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, &mode) &&
         set_cudnn(how, CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE, &with.computes) &&
         (with.axis < 0 || set_cudnn(how, CUDNN_ATTR_POINTWISE_AXIS, CUDNN_TYPE_INT64, &with.axis)) && finalized(how));
    operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR,
              {{CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x},
               {CUDNN_ATTR_OPERATION_POINTWISE_BDESC, with.other},
               {CUDNN_ATTR_OPERATION_POINTWISE_TDESC, with.selects},
               {CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y}},
              CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  }
  /// Over the dimensions in which y is smaller.
  void reduction(cudnnReduceTensorOp_t what, int x, int y) {
    if (!taken_) return;
    const CudnnDescriptor& how = how_.emplace_back(made_by_cudnn(CUDNN_BACKEND_REDUCTION_DESCRIPTOR));
    take(set_cudnn(how, CUDNN_ATTR_REDUCTION_OPERATOR, CUDNN_TYPE_REDUCTION_OPERATOR_TYPE, &what) &&
         set_cudnn(how, CUDNN_ATTR_REDUCTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE, &floats) && finalized(how));
    operation(CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, {{CUDNN_ATTR_OPERATION_REDUCTION_XDESC, x}, {CUDNN_ATTR_OPERATION_REDUCTION_YDESC, y}},
              CUDNN_ATTR_OPERATION_REDUCTION_DESC);
  }
  /// y is x with other sizes and strides.
  void reshape(int x, int y) {
    operation(CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, {{CUDNN_ATTR_OPERATION_RESHAPE_XDESC, x}, {CUDNN_ATTR_OPERATION_RESHAPE_YDESC, y}});
  }

 private:
  static constexpr cudnnDataType_t floats = CUDNN_DATA_FLOAT;
  /// A tensor of an operation by its number, or -1.
  struct Role {
    cudnnBackendAttributeName_t name;
    int tensor;
  };
  void take(bool yes) { taken_ = taken_ && yes; }
  /// With what has been described last, if the operation has such an attribute.
  void operation(cudnnBackendDescriptorType_t type, std::initializer_list<Role> roles,
                 std::optional<cudnnBackendAttributeName_t> how = std::nullopt) {
    if (!taken_) return;
    CudnnDescriptor& made = operations_.emplace_back(made_by_cudnn(type));
    if (how) take(set_cudnn(made, *how, how_.back()));
    for (const Role& role : roles)
      if (role.tensor >= 0) take(set_cudnn(made, role.name, tensors_[static_cast<std::size_t>(role.tensor)]));
    take(finalized(made));
  }

  bool taken_ = true;
  std::vector<CudnnDescriptor> tensors_, how_, operations_;
};

/// A graph that is ready to run: nothing where cuDNN has no deterministic engine for it, as `plan` says. A forward of 9 operations has 1 plan.
struct CudnnPlan {
  CudnnGraph described;
  CudnnDescriptor graph, heuristic, engine, configuration, plan;
  std::size_t workspace_bytes = 0;
};
/// Whether the engine of a configuration says that its bits are the same again.
[[nodiscard]] inline bool is_deterministic(const CudnnDescriptor& configuration, CudnnDescriptor& engine) {
  engine = made_by_cudnn(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  std::int64_t found = 0;
  cudnnBackendDescriptor_t there = engine.get();
  check_cudnn(cudnnBackendGetAttribute(configuration.get(), CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &found,
                                       static_cast<void*>(&there)),
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
[[nodiscard]] inline CudnnPlan cudnn_plan(cudnnHandle_t handle, CudnnGraph described) {
  CudnnPlan made;
  made.described = std::move(described);
  if (!made.described.taken()) return made;
  made.graph = made_by_cudnn(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  made.heuristic = made_by_cudnn(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  const cudnnBackendHeurMode_t mode = CUDNN_HEUR_MODE_A;
  std::vector<cudnnBackendDescriptor_t> operations;
  for (const CudnnDescriptor& each : made.described.operations()) operations.push_back(each.get());
  if (!set_cudnn(made.graph, CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, &handle) ||
      !set_cudnn(made.graph, CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR, operations.data(), std::ssize(operations)) ||
      !finalized(made.graph) || !set_cudnn(made.heuristic, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, made.graph) ||
      !set_cudnn(made.heuristic, CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, &mode) || !finalized(made.heuristic))
    return made;
  constexpr std::size_t wanted = 8;
  std::vector<CudnnDescriptor> configurations;
  std::array<cudnnBackendDescriptor_t, wanted> there{};
  for (cudnnBackendDescriptor_t& each : there) each = configurations.emplace_back(made_by_cudnn(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR)).get();
  std::int64_t found = 0;
  if (!accepted_by_cudnn(cudnnBackendGetAttribute(made.heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                                  std::int64_t{wanted}, &found, static_cast<void*>(there.data())),
                         "cudnnBackendGetAttribute"))
    return made;
  for (std::size_t i = 0; i < static_cast<std::size_t>(found) && i < wanted; ++i) {
    made.configuration = std::move(configurations[i]);
    if (is_deterministic(made.configuration, made.engine) && planned_by_cudnn(handle, made)) return made;
  }
  return made;
}

/// Where a tensor of a graph lies: {1, queries}; a number that goes by value lies on the host.
struct CudnnPointer {
  std::int64_t id;
  const void* at;
};
/// Queues a plan with its pointers, which only this call describes.
///
/// Errors  R36
inline void run_cudnn(cudnnHandle_t handle, const CudnnPlan& plan, const std::vector<CudnnPointer>& tensors, void* workspace) {
  std::vector<std::int64_t> ids;
  std::vector<const void*> pointers;
  for (const CudnnPointer& tensor : tensors) {
    ids.push_back(tensor.id);
    pointers.push_back(tensor.at);
  }
  const CudnnDescriptor pack = made_by_cudnn(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  const auto set = [&](cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, std::size_t count, const void* values) {
    check_cudnn(cudnnBackendSetAttribute(pack.get(), name, type, static_cast<std::int64_t>(count), values), "cudnnBackendSetAttribute");
  };
  set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, CUDNN_TYPE_INT64, ids.size(), ids.data());
  set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, pointers.size(), static_cast<const void*>(pointers.data()));
  set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, 1, static_cast<const void*>(&workspace));
  check_cudnn(cudnnBackendFinalize(pack.get()), "cudnnBackendFinalize");
  check_cudnn(cudnnBackendExecute(handle, plan.plan.get(), pack.get()), "cudnnBackendExecute");
}

}  // namespace heddle::compute_room
