// SPDX-License-Identifier: MIT
// cuDNN, its operation for scaled dot-product attention: which shapes fit, and what is queued.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "attention.hpp"
#include "cudnn_graph.hpp"
#include "sanitizers.hpp"

namespace cuda_emulator {
namespace {

/// A tensor of an operation: its attribute in the forward and in the backward, where it has one.
struct Role {
  AttentionTensor Attention::*tensor;
  cudnnBackendAttributeName_t forward, backward;
  bool needed;
};
constexpr auto nowhere = static_cast<cudnnBackendAttributeName_t>(-1);
constexpr Role roles[] = {
    {&Attention::q, CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, CUDNN_ATTR_OPERATION_SDPA_BWD_QDESC, true},
    {&Attention::k, CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, CUDNN_ATTR_OPERATION_SDPA_BWD_KDESC, true},
    {&Attention::v, CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, CUDNN_ATTR_OPERATION_SDPA_BWD_VDESC, true},
    {&Attention::o, CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, CUDNN_ATTR_OPERATION_SDPA_BWD_ODESC, true},
    {&Attention::log_sums, CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC, CUDNN_ATTR_OPERATION_SDPA_BWD_STATSDESC, false},
    {&Attention::dout, nowhere, CUDNN_ATTR_OPERATION_SDPA_BWD_DODDESC, true},
    {&Attention::dq, nowhere, CUDNN_ATTR_OPERATION_SDPA_BWD_DQDESC, true},
    {&Attention::dk, nowhere, CUDNN_ATTR_OPERATION_SDPA_BWD_DKDESC, true},
    {&Attention::dv, nowhere, CUDNN_ATTR_OPERATION_SDPA_BWD_DVDESC, true},
};
bool goes_back(const GraphDescriptor& operation) { return operation.type == CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR; }
const GraphDescriptor* scale_of(const GraphDescriptor& operation) {
  return operation.child(goes_back(operation) ? CUDNN_ATTR_OPERATION_SDPA_BWD_SCALEDESC : CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC);
}
const GraphDescriptor* tensor_of(const GraphDescriptor& operation, const Role& role) {
  const cudnnBackendAttributeName_t name = goes_back(operation) ? role.backward : role.forward;
  return name == nowhere ? nullptr : operation.child(name);
}
std::int64_t id_of(const GraphDescriptor& tensor) {
  std::int64_t id = 0;
  tensor.read(CUDNN_ATTR_TENSOR_UNIQUE_ID, &id);
  return id;
}
/// Sizes, strides and types as descriptors have them.
Attention described(const GraphDescriptor& operation) {
  Attention made;
  made.backward = goes_back(operation);
  for (const Role& role : roles) {
    const GraphDescriptor* const tensor = tensor_of(operation, role);
    if (tensor == nullptr) continue;
    AttentionTensor& to = made.*role.tensor;
    cudnnDataType_t type{};
    tensor->read(CUDNN_ATTR_TENSOR_DATA_TYPE, &type);
    to.type = type == CUDNN_DATA_BFLOAT16 ? CUDA_R_16BF : CUDA_R_32F;
    tensor->read(CUDNN_ATTR_TENSOR_DIMENSIONS, to.sizes, 4);
    tensor->read(CUDNN_ATTR_TENSOR_STRIDES, to.strides, 4);
  }
  return made;
}
/// The pointer of a pack for a tensor, or nullptr.
void* pointer_of(const GraphDescriptor& pack, const GraphDescriptor& tensor) {
  const auto& ids = pack.attributes.at(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto count = static_cast<std::size_t>(ids.count);
  std::vector<std::int64_t> each(count);
  std::vector<void*> pointers(count);
  pack.read(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, each.data(), count);
  pack.read(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, pointers.data(), count);
  const auto at = std::find(each.begin(), each.end(), id_of(tensor));
  return at == each.end() ? nullptr : pointers[static_cast<std::size_t>(at - each.begin())];
}

}  // namespace

cudnnStatus_t look_at_attention(const GraphDescriptor& operation) {
  for (const Role& role : roles)
    if (tensor_of(operation, role) == nullptr && (goes_back(operation) || role.forward != nowhere) && (role.needed || goes_back(operation)))
      return cudnn_mistake("An attention of cuDNN lacks one of its tensors");
  if (scale_of(operation) == nullptr) return cudnn_mistake("An attention of cuDNN lacks its scale");
  const Attention a = described(operation);
  const auto same = [](const AttentionTensor& x, const AttentionTensor& y) { return std::equal(x.sizes, x.sizes + 4, y.sizes); };
  bool fits = same(a.k, a.v) && same(a.q, a.o) && a.q.sizes[0] == a.k.sizes[0] && a.q.sizes[3] == a.k.sizes[3] && a.k.sizes[1] > 0 &&
              a.q.sizes[1] % a.k.sizes[1] == 0;
  if (goes_back(operation)) fits = fits && same(a.dq, a.q) && same(a.dk, a.k) && same(a.dv, a.v) && same(a.dout, a.o);
  if (!fits) return cudnn_mistake("An attention of cuDNN has tensors whose sizes do not fit");
  for (const Role& role : roles) {
    const AttentionTensor& t = a.*role.tensor;
    const bool sums = role.tensor == &Attention::log_sums;
    if (tensor_of(operation, role) != nullptr && t.type != (sums ? CUDA_R_32F : CUDA_R_16BF)) return CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE;
    if (sums && tensor_of(operation, role) != nullptr && (t.sizes[1] != a.q.sizes[1] || t.sizes[2] != a.q.sizes[2] || t.sizes[3] != 1))
      return cudnn_mistake("An attention of cuDNN has log-sums whose sizes do not fit");
  }
  return a.q.sizes[3] % 8 == 0 && a.q.sizes[3] <= 128 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED_SHAPE;
}
std::size_t workspace_of_attention(const GraphDescriptor& operation, int number) {
  const Attention a = described(operation);
  const auto queries = static_cast<std::size_t>(a.q.sizes[0] * a.q.sizes[1] * a.q.sizes[2]);
  return a.backward ? queries * static_cast<std::size_t>(4 + number * a.q.sizes[3]) : 0;
}
cudnnStatus_t queue_attention(cudnnHandle_t handle, const GraphDescriptor& plan, const GraphDescriptor& pack) {
  const char* const name = "cudnnBackendExecute";
  Stream* const stream = cudnn_stream(name, handle);
  if (stream == nullptr) return CUDNN_STATUS_BAD_PARAM;
  const GraphDescriptor& configuration = *plan.child(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  const GraphDescriptor& operation = *configuration.child(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)->child(CUDNN_ATTR_OPERATIONGRAPH_OPS);
  Attention made = described(operation);
  Work work{name, {}};
  for (const Role& role : roles) {
    const GraphDescriptor* const tensor = tensor_of(operation, role);
    if (tensor == nullptr) continue;
    AttentionTensor& to = made.*role.tensor;
    to.numbers = pointer_of(pack, *tensor);
    std::int64_t alignment = 0;
    tensor->read(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, &alignment);
    if (reinterpret_cast<std::uintptr_t>(to.numbers) % static_cast<std::uintptr_t>(alignment) != 0)
      return cudnn_mistake("cudnnBackendExecute is given a tensor at no multiple of " + std::to_string(alignment) + " bytes");
    if (!on_card(name, "a tensor", to.numbers, to.bytes(), stream->device, work)) return CUDNN_STATUS_BAD_PARAM;
  }
  const auto* const scale = static_cast<const float*>(pointer_of(pack, *scale_of(operation)));
  if (scale == nullptr) return cudnn_mistake("cudnnBackendExecute is given no scale");
  made.scale = *scale;
  made.workspace_bytes = workspace_of_attention(operation, plan.number);
  pack.read(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, &made.workspace);
  if (made.workspace_bytes > 0 && !on_card(name, "a workspace", made.workspace, made.workspace_bytes, stream->device, work))
    return CUDNN_STATUS_BAD_PARAM;
  work.start = [made]() mutable -> std::shared_ptr<Unfinished> {
    ++state().counts.attentions;
    std::unique_ptr<float[]> scratch;
    if (const tsan::Silence silence; true) scratch = std::make_unique_for_overwrite<float[]>(made.scratch_numbers());
    made.scratch = scratch.get();
    touch_attention(made);
    const tsan::Silence silence;
    scratch.reset();
    return nullptr;
  };
  return enqueue(*stream, std::move(work)) == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

}  // namespace cuda_emulator
