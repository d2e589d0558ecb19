// SPDX-License-Identifier: MIT
// cuDNN, operations of a graph: which shapes fit, and what is queued.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cudnn_graph.hpp"
#include "operations.hpp"
#include "sanitizers.hpp"

namespace cuda_emulator {
namespace {

constexpr auto nothing = static_cast<cudnnBackendAttributeName_t>(-1);
/// The attributes of an operation: its operands in the order x, other, selects, y, and how it is done.
struct Names {
  cudnnBackendDescriptorType_t type;
  cudnnBackendAttributeName_t x, other, selects, y, how;
};
constexpr Names all_names[] = {
    {CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR, CUDNN_ATTR_OPERATION_MATMUL_ADESC, CUDNN_ATTR_OPERATION_MATMUL_BDESC, nothing,
     CUDNN_ATTR_OPERATION_MATMUL_CDESC, CUDNN_ATTR_OPERATION_MATMUL_DESC},
    {CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR, CUDNN_ATTR_OPERATION_POINTWISE_XDESC, CUDNN_ATTR_OPERATION_POINTWISE_BDESC,
     CUDNN_ATTR_OPERATION_POINTWISE_TDESC, CUDNN_ATTR_OPERATION_POINTWISE_YDESC, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR},
    {CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR, CUDNN_ATTR_OPERATION_REDUCTION_XDESC, nothing, nothing, CUDNN_ATTR_OPERATION_REDUCTION_YDESC,
     CUDNN_ATTR_OPERATION_REDUCTION_DESC},
    {CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR, CUDNN_ATTR_OPERATION_RESHAPE_XDESC, nothing, nothing, CUDNN_ATTR_OPERATION_RESHAPE_YDESC, nothing},
};
const Names& names_of(const GraphDescriptor& operation) {
  return *std::find_if(std::begin(all_names), std::end(all_names), [&](const Names& n) { return n.type == operation.type; });
}
const GraphDescriptor* child(const GraphDescriptor& of, cudnnBackendAttributeName_t name) { return name == nothing ? nullptr : of.child(name); }

std::int64_t id_of(const GraphDescriptor& tensor) {
  std::int64_t id = 0;
  tensor.read(CUDNN_ATTR_TENSOR_UNIQUE_ID, &id);
  return id;
}
/// Sizes, strides and type as a descriptor has them. Indices and truth are kept as floats.
OperationTensor tensor_of(const GraphDescriptor& described) {
  OperationTensor made;
  cudnnDataType_t type{};
  described.read(CUDNN_ATTR_TENSOR_DATA_TYPE, &type);
  made.type = type == CUDNN_DATA_BFLOAT16 ? CUDA_R_16BF : CUDA_R_32F;
  described.read(CUDNN_ATTR_TENSOR_DIMENSIONS, made.sizes, 4);
  described.read(CUDNN_ATTR_TENSOR_STRIDES, made.strides, 4);
  described.read(CUDNN_ATTR_TENSOR_IS_VIRTUAL, &made.between);
  described.read(CUDNN_ATTR_TENSOR_IS_BY_VALUE, &made.by_value);
  return made;
}
/// Whether an operand is as large as the result, serves all of it, or is shared by heads.
bool serves(const OperationTensor& operand, const OperationTensor& result) {
  for (int d = 0; d < 4; ++d)
    if (operand.sizes[d] <= 0 || result.sizes[d] % operand.sizes[d] != 0 || (d != 1 && operand.sizes[d] != 1 && operand.sizes[d] != result.sizes[d]))
      return false;
  return true;
}
bool fits(const GraphDescriptor& operation) {
  const Names& names = names_of(operation);
  const GraphDescriptor *const x_is = child(operation, names.x), *const y_is = child(operation, names.y), *const b_is = child(operation, names.other);
  if (x_is == nullptr || y_is == nullptr || (names.how != nothing && child(operation, names.how) == nullptr)) return false;
  const OperationTensor x = tensor_of(*x_is), y = tensor_of(*y_is);
  if (operation.type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) {
    if (b_is == nullptr) return false;
    const OperationTensor b = tensor_of(*b_is);
    const bool heads = y.sizes[1] == std::max(x.sizes[1], b.sizes[1]) && y.sizes[1] % x.sizes[1] == 0 && y.sizes[1] % b.sizes[1] == 0;
    return heads && x.sizes[0] == y.sizes[0] && b.sizes[0] == y.sizes[0] && x.sizes[2] == y.sizes[2] && b.sizes[3] == y.sizes[3] &&
           x.sizes[3] == b.sizes[2];
  }
  if (operation.type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR) return serves(y, x);
  if (operation.type == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR) return x.elements() == y.elements();
  return serves(x, y) && (b_is == nullptr || serves(tensor_of(*b_is), y));
}
/// Of a kind that Heddle asks for; false, with a violation, of another.
bool kind_of(const GraphDescriptor& operation, Operation& made) {
  using Kind = Operation::Kind;
  const GraphDescriptor* const how = child(operation, names_of(operation).how);
  if (operation.type == CUDNN_BACKEND_OPERATION_MATMUL_DESCRIPTOR) return made.kind = Kind::product, true;
  if (operation.type == CUDNN_BACKEND_OPERATION_RESHAPE_DESCRIPTOR) return made.kind = Kind::reshape, true;
  if (operation.type == CUDNN_BACKEND_OPERATION_REDUCTION_DESCRIPTOR) {
    cudnnReduceTensorOp_t what{};
    how->read(CUDNN_ATTR_REDUCTION_OPERATOR, &what);
    made.kind = what == CUDNN_REDUCE_TENSOR_MAX ? Kind::most : Kind::sum;
    return what == CUDNN_REDUCE_TENSOR_MAX || what == CUDNN_REDUCE_TENSOR_ADD;
  }
  static const std::map<cudnnPointwiseMode_t, Kind> kinds{
      {CUDNN_POINTWISE_MUL, Kind::multiply},    {CUDNN_POINTWISE_SUB, Kind::subtract},     {CUDNN_POINTWISE_ADD, Kind::add},
      {CUDNN_POINTWISE_DIV, Kind::divide},      {CUDNN_POINTWISE_EXP, Kind::exponential},  {CUDNN_POINTWISE_LOG, Kind::logarithm},
      {CUDNN_POINTWISE_GEN_INDEX, Kind::index}, {CUDNN_POINTWISE_CMP_GE, Kind::not_below}, {CUDNN_POINTWISE_BINARY_SELECT, Kind::select}};
  cudnnPointwiseMode_t mode{};
  std::int64_t axis = -1;
  how->read(CUDNN_ATTR_POINTWISE_MODE, &mode);
  how->read(CUDNN_ATTR_POINTWISE_AXIS, &axis);
  made.axis = static_cast<int>(axis);
  const auto known = kinds.find(mode);
  if (known == kinds.end() || (known->second == Kind::index) != (axis >= 0 && axis < 4)) return false;
  made.kind = known->second;
  return true;
}
const std::vector<std::shared_ptr<GraphDescriptor>>& operations_of(const GraphDescriptor& graph) {
  return graph.attributes.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).descriptors;
}
/// The pointer of a pack for a tensor, or nullptr.
void* pointer_of(const GraphDescriptor& pack, std::int64_t id) {
  const auto count = static_cast<std::size_t>(pack.attributes.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS).count);
  std::vector<std::int64_t> ids(count);
  std::vector<void*> pointers(count);
  pack.read(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids.data(), count);
  pack.read(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers.data(), count);
  const auto at = std::find(ids.begin(), ids.end(), id);
  return at == ids.end() ? nullptr : pointers[static_cast<std::size_t>(at - ids.begin())];
}
/// All tensors once, by their ids, and operations on them.
Operations described(const GraphDescriptor& graph, std::vector<const GraphDescriptor*>& descriptors) {
  Operations made;
  std::map<std::int64_t, int> numbers;
  const auto number_of = [&](const GraphDescriptor* tensor) {
    if (tensor == nullptr) return -1;
    const auto [known, is_new] = numbers.emplace(id_of(*tensor), static_cast<int>(descriptors.size()));
    if (is_new) {
      descriptors.push_back(tensor);
      made.tensors.push_back(tensor_of(*tensor));
    }
    return known->second;
  };
  for (const auto& operation : operations_of(graph)) {
    const Names& names = names_of(*operation);
    Operation next;
    static_cast<void>(kind_of(*operation, next));
    next.x = number_of(child(*operation, names.x));
    next.other = number_of(child(*operation, names.other));
    next.selects = number_of(child(*operation, names.selects));
    next.y = number_of(child(*operation, names.y));
    made.all.push_back(next);
  }
  return made;
}
/// Finds the memory of a tensor; a violation where there is none.
bool place(OperationTensor& tensor, const GraphDescriptor& described, const GraphDescriptor& pack, int device, Work& work) {
  const char* const name = "cudnnBackendExecute";
  tensor.numbers = pointer_of(pack, id_of(described));
  if (tensor.by_value) {
    if (tensor.numbers != nullptr) tensor.value = *static_cast<const float*>(tensor.numbers);
    return tensor.numbers != nullptr;
  }
  std::int64_t alignment = 1;
  described.read(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, &alignment);
  if (reinterpret_cast<std::uintptr_t>(tensor.numbers) % static_cast<std::uintptr_t>(alignment) != 0) {
    violation(std::string(name) + " is given a tensor at no multiple of " + std::to_string(alignment) + " bytes.");
    return false;
  }
  return on_card(name, "a tensor", tensor.numbers, static_cast<std::size_t>(tensor.elements()) * bytes_of(tensor.type), device, work);
}

}  // namespace

cudnnStatus_t look_at_operation(const GraphDescriptor& operation) {
  Operation of_kind;
  if (!fits(operation)) return cudnn_mistake("An operation of cuDNN has tensors whose sizes do not fit");
  return kind_of(operation, of_kind) ? CUDNN_STATUS_SUCCESS : cudnn_mistake("An operation of cuDNN is one that the emulator does not know");
}
bool has_engines(const GraphDescriptor& graph) {
  std::vector<const GraphDescriptor*> descriptors;
  const Operations made = described(graph, descriptors);
  return std::all_of(made.tensors.begin(), made.tensors.end(), [](const OperationTensor& t) {
    const bool of_features = !t.between && !t.by_value && t.type == CUDA_R_16BF;
    const std::int64_t features = t.strides[3] == 1 ? t.sizes[3] : t.sizes[2];
    return !of_features || (features % 8 == 0 && features <= 128);
  });
}
std::size_t workspace_of_graph(const GraphDescriptor& graph, int number) {
  std::vector<const GraphDescriptor*> descriptors;
  const Operations made = described(graph, descriptors);
  const bool backward = std::count_if(made.all.begin(), made.all.end(), [](const Operation& o) { return o.kind == Operation::Kind::product; }) > 2;
  std::int64_t most = 0;
  for (const OperationTensor& tensor : made.tensors)
    if (tensor.between) most = std::max(most, tensor.elements());
  return backward ? static_cast<std::size_t>(most * (number + 1)) * 4 : 0;
}
cudnnStatus_t queue_graph(cudnnHandle_t handle, const GraphDescriptor& plan, const GraphDescriptor& pack) {
  Stream* const stream = cudnn_stream("cudnnBackendExecute", handle);
  if (stream == nullptr) return CUDNN_STATUS_BAD_PARAM;
  const GraphDescriptor& graph = *plan.child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG)->child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  std::vector<const GraphDescriptor*> descriptors;
  Work work{"cudnnBackendExecute", {}};
  auto made = std::make_shared<Operations>(described(graph, descriptors));
  for (std::size_t i = 0; i < descriptors.size(); ++i)
    if (!made->tensors[i].between && !place(made->tensors[i], *descriptors[i], pack, stream->device, work))
      return cudnn_mistake("cudnnBackendExecute lacks the tensor " + std::to_string(id_of(*descriptors[i])));
  made->workspace_bytes = workspace_of_graph(graph, plan.number);
  pack.read(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, &made->workspace);
  if (made->workspace_bytes > 0 && !on_card("cudnnBackendExecute", "a workspace", made->workspace, made->workspace_bytes, stream->device, work))
    return CUDNN_STATUS_BAD_PARAM;
  work.start = [made]() -> std::shared_ptr<Unfinished> {
    ++state().counts.attentions;
    std::vector<std::vector<float>> between;
    if (const tsan::Silence silence; true)
      for (OperationTensor& tensor : made->tensors)
        if (tensor.between) tensor.numbers = between.emplace_back(static_cast<std::size_t>(tensor.elements()), std::nanf("")).data();
    touch_operations(*made);
    const tsan::Silence silence;
    between.clear();
    return nullptr;
  };
  return enqueue(*stream, std::move(work)) == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

}  // namespace cuda_emulator
