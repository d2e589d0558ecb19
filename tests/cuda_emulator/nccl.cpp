// SPDX-License-Identifier: MIT
// NCCL:
//   ncclGetVersion ncclGetUniqueId ncclGetErrorString ncclGetLastError
//   ncclCommInitRank ncclCommInitRankConfig ncclCommSplit ncclCommFinalize ncclCommDestroy ncclCommAbort ncclCommGetAsyncError
//   ncclCommCount ncclCommUserRank ncclCommCuDevice
//   ncclAllReduce ncclReduceScatter ncclAllGather ncclBroadcast ncclReduce ncclSend ncclRecv ncclGroupStart ncclGroupEnd
#include <nccl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "nccl_ranks.hpp"
#include "queues.hpp"
#include "state.hpp"

namespace cuda_emulator {
namespace {

constexpr const char* kind_of_communicators = "communicators of NCCL";
constexpr unsigned most_polls = 3;

std::map<ncclComm_t, std::shared_ptr<Communicator>>& communicators() {
  static std::map<ncclComm_t, std::shared_ptr<Communicator>> all;
  return all;
}
std::shared_ptr<Communicator> communicator_of(ncclComm_t handle) {
  const auto found = communicators().find(handle);
  if (found != communicators().end()) return found->second;
  violation("A communicator of NCCL is used that does not exist.");
  return nullptr;
}

/// What this thread has put between ncclGroupStart and ncclGroupEnd.
struct Group {
  struct Queued {
    std::shared_ptr<Communicator> communicator;
    Operation operation;
    Stream* stream;
  };
  int depth = 0;
  std::vector<Queued> operations;
  std::vector<std::shared_ptr<Communicator>> joining;
};
Group& group() {
  thread_local Group of_thread;
  return of_thread;
}

template <class Body> ncclResult_t nccl_call(const char* name, Body&& body) {
  Call call(name);
  return call.failed() ? ncclSystemError : body(call);
}

/// A communicator that does not block is asked again until it is ready.
ncclResult_t in_progress(Communicator& communicator) {
  if (communicator.blocking) return ncclSuccess;
  communicator.polls_left = static_cast<int>(state().random() % most_polls);
  return communicator.polls_left > 0 ? ncclInProgress : ncclSuccess;
}
/// All operations of one stream are one kernel of it.
ncclResult_t submit_stream(Stream& stream, std::vector<Group::Queued>& all) {
  Work work{"", {}};
  work.on_current_device = false;
  std::vector<RankOperation> operations;
  ncclResult_t result = ncclSuccess;
  for (const Group::Queued& queued : all) {
    if (queued.stream != &stream) continue;
    operations.emplace_back(queued.communicator, queued.operation);
    work.name += std::string(work.name.empty() ? "" : " and ") + queued.operation.name();
    const std::size_t ranks = static_cast<std::size_t>(queued.communicator->clique->ranks);
    const bool scatters = queued.operation.kind == Operation::Kind::reduce_scatter;
    const bool gathers = queued.operation.kind == Operation::Kind::all_gather;
    if (queued.operation.source != nullptr) work.ranges.push_back({queued.operation.source, queued.operation.bytes() * (scatters ? ranks : 1)});
    if (queued.operation.target != nullptr) work.ranges.push_back({queued.operation.target, queued.operation.bytes() * (gathers ? ranks : 1)});
    if (!queued.communicator->blocking) connect(*queued.communicator, queued.operation);
    if (std::find(work.communicators.begin(), work.communicators.end(), queued.communicator.get()) != work.communicators.end()) continue;
    work.communicators.push_back(queued.communicator.get());
    if (in_progress(*queued.communicator) != ncclSuccess) result = ncclInProgress;
  }
  for (Communicator* const each : work.communicators)
    if (connects(*each)) result = ncclInProgress;
  std::erase_if(all, [&](const Group::Queued& queued) { return queued.stream == &stream; });
  work.start = [operations = std::move(operations)] { return begin_operations(operations); };
  return enqueue(stream, std::move(work)) == cudaSuccess ? result : ncclUnhandledCudaError;
}
ncclResult_t submit() {
  std::vector<Group::Queued> all = std::exchange(group().operations, {});
  ncclResult_t result = ncclSuccess;
  while (!all.empty())
    if (const ncclResult_t one = submit_stream(*all.front().stream, all); one != ncclSuccess && (result == ncclSuccess || one != ncclInProgress))
      result = one;
  return result;
}
ncclResult_t wait_for_all_ranks(Call& call, const std::shared_ptr<Communicator>& communicator) {
  State& all = state();
  all.last_progress = std::chrono::steady_clock::now();
  while (!communicator->complete()) {
    if (stands_still()) {  // the real one waits for ever
      violation("ncclCommInitRank waits for ranks that do not come. Ask with ncclCommInitRankConfig and blocking = 0 where a rank may fail first.");
      return ncclSystemError;
    }
    all.changed.wait_for(call.lock, std::chrono::milliseconds(1));
  }
  return communicator->clique->error;
}
ncclResult_t init(Call& call, ncclComm_t* made, int ranks, const ncclUniqueId& id, int rank, bool blocking, bool shares = false) {
  if (rank < 0 || rank >= ranks) return ncclInvalidArgument;
  State& all = state();
  const std::shared_ptr<Communicator> communicator = join(id, ranks, rank, blocking);
  communicator->shares = shares;
  all.last_progress = std::chrono::steady_clock::now();
  all.changed.notify_all();
  auto* const handle = reinterpret_cast<ncclComm_t>(communicator.get());
  communicators()[handle] = communicator;
  all.library_objects[handle] = kind_of_communicators;
  *made = handle;
  if (!blocking) {
    static_cast<void>(in_progress(*communicator));
    return ncclInProgress;
  }
  if (group().depth > 0) {
    group().joining.push_back(communicator);
    return ncclSuccess;
  }
  const ncclResult_t result = wait_for_all_ranks(call, communicator);
  if (result == ncclSuccess) return result;
  communicators().erase(handle);
  all.library_objects.erase(handle);
  *made = nullptr;
  return result;
}
bool names(const Work& work, const Communicator& communicator) {
  return std::find(work.communicators.begin(), work.communicators.end(), &communicator) != work.communicators.end();
}
bool is_queued(const Communicator& communicator) {
  for (const auto& stream : state().streams)
    for (const auto& item : stream->items) {
      if (names(item->work, communicator)) return true;
      if (item->run == nullptr) continue;
      for (std::size_t node = 0; node < item->run->phases.size(); ++node)
        if (item->run->phases[node] != GraphRun::Phase::done && names(item->run->graph->nodes[node].work, communicator)) return true;
    }
  return false;
}
/// The real one gives back what its operations use, so it waits for them. They end, since their communicator is aborted, once they have begun.
void wait_for_operations(Call& call, const Communicator& communicator) {
  state().last_progress = std::chrono::steady_clock::now();
  while (is_queued(communicator)) {
    bool moved = false;
    {
      const OpenMemory open(state().memory);
      moved = pump();
    }
    if (moved) continue;
    if (stands_still()) {
      violation(
          "ncclCommAbort waits for an operation of its communicator that stands behind one of a communicator which nobody has aborted. The "
          "real one waits for ever. Give the communicator that both are split from, or are, splitShare = 1 when it is made.");
      return;
    }
    state().changed.wait_for(call.lock, std::chrono::milliseconds(1));
  }
}
ncclResult_t forget(Call& call, ncclComm_t handle, bool aborts) {
  const std::shared_ptr<Communicator> communicator = communicator_of(handle);
  if (communicator == nullptr) return ncclInvalidArgument;
  for (const auto& [unused, graph] : state().runnable_graphs)
    for (const Node& node : graph->nodes)
      if (names(node.work, *communicator)) {
        violation("A communicator is given back while a graph that has operations of it is alive. The real one waits for that graph, for ever.");
        break;
      }
  leave(*communicator, aborts);
  if (aborts) wait_for_operations(call, *communicator);
  communicators().erase(handle);
  state().library_objects.erase(handle);
  state().changed.notify_all();
  return ncclSuccess;
}

/// A split is complete: whoever asked for it has the handle now.
void hand_over_part(Communicator& parent) {
  if (parent.split_to == nullptr) return;
  auto* const handle = reinterpret_cast<ncclComm_t>(parent.part.get());
  communicators()[handle] = parent.part;
  state().library_objects[handle] = kind_of_communicators;
  *std::exchange(parent.split_to, nullptr) = handle;
  parent.part = nullptr;
}

ncclResult_t mistake(const Operation& operation, const std::string& what) {
  violation(std::string(operation.name()) + " " + what + ".");
  return ncclInvalidArgument;
}
/// `reads_all` and `writes_all`: so many times `count` as there are ranks.
ncclResult_t post(ncclComm_t handle, const Operation& operation, cudaStream_t stream_handle, bool reads_all = false, bool writes_all = false) {
  const std::shared_ptr<Communicator> communicator = communicator_of(handle);
  Stream* const stream = stream_of(stream_handle);
  if (communicator == nullptr || stream == nullptr) return ncclInvalidArgument;
  if (communicator->error != ncclSuccess) return communicator->error;
  if (!communicator->complete() || communicator->polls_left > 0 || !communicator->connecting.empty())
    return mistake(operation, "is given a communicator that is still in progress");
  if (stream->device != communicator->device) return mistake(operation, "is given a stream of another device than its communicator's");
  const int ranks = communicator->clique->ranks;
  if (operation.peer < 0 || operation.peer >= ranks) return mistake(operation, "is given rank " + std::to_string(operation.peer) + ", which is none");
  const Memory& memory = state().memory;
  const auto times = [&](bool all) { return operation.bytes() * static_cast<std::size_t>(all ? ranks : 1); };
  if ((operation.source != nullptr && !memory.on_device(operation.source, times(reads_all), communicator->device)) ||
      (operation.target != nullptr && !memory.on_device(operation.target, times(writes_all), communicator->device)))
    return mistake(operation, "of " + std::to_string(operation.count) + " is given memory that does not lie on its card with all of it");
  group().operations.push_back({communicator, operation, stream});
  return group().depth > 0 ? ncclSuccess : submit();
}

}  // namespace
}  // namespace cuda_emulator

using namespace cuda_emulator;

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return nccl_call(__func__, [&](Call&) {
    std::memset(id, 0, sizeof *id);
    if (state().options.processes) {
      const Folder folder = Folder::made();
      std::memcpy(id->internal, folder.path().data(), std::min(folder.path().size(), sizeof id->internal - 1));
      return ncclSuccess;
    }
    const int number = ++state().numbers;
    std::memcpy(id->internal, &number, sizeof number);
    return ncclSuccess;
  });
}
const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError: return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError: return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInvalidArgument: return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage: return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError: return "remote process exited or there was a network error";
    case ncclInProgress: return "NCCL operation in progress";
    default: return "internal error - please report this issue to the NCCL developers";
  }
}
const char* ncclGetLastError(ncclComm_t) { return "the emulator says more in violations() and refusals()"; }

ncclResult_t ncclCommInitRank(ncclComm_t* made, int ranks, ncclUniqueId id, int rank) {
  return nccl_call(__func__, [&](Call& call) { return init(call, made, ranks, id, rank, true); });
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* made, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  return nccl_call(__func__, [&](Call& call) {
    return init(call, made, ranks, id, rank, config == nullptr || config->blocking != 0, config != nullptr && config->splitShare == 1);
  });
}
/// Of a communicator that does not block: both it and what is made of it are in progress until all its ranks have called. Before that there is no
/// handle of what is made. Whether that has the flag of abort of the first one is what the first one was made with, as in NCCL.
ncclResult_t ncclCommSplit(ncclComm_t handle, int color, int key, ncclComm_t* made, ncclConfig_t* config) {
  return nccl_call(__func__, [&](Call&) {
    const std::shared_ptr<Communicator> parent = communicator_of(handle);
    if (parent == nullptr || (color < 0 && color != NCCL_SPLIT_NOCOLOR)) return ncclInvalidArgument;
    if (parent->error != ncclSuccess) return parent->error;
    if (parent->blocking) {
      violation("ncclCommSplit of a communicator that blocks is not emulated.");
      return ncclInvalidUsage;
    }
    if (!parent->complete() || parent->polls_left > 0) {
      violation("ncclCommSplit is given a communicator that is still in progress.");
      return ncclInvalidArgument;
    }
    if (config != nullptr && config->blocking != 0) {  // also where nobody has set it; without a config it is that of the parent
      violation("ncclCommSplit makes a communicator that blocks of one that does not: its calls wait for ever for a rank that is lost.");
      return ncclInvalidUsage;
    }
    State& all = state();
    const std::shared_ptr<Communicator> part = join_split(*parent, color, key);
    all.last_progress = std::chrono::steady_clock::now();
    all.changed.notify_all();
    static_cast<void>(in_progress(*parent));
    static_cast<void>(in_progress(*part));
    *made = nullptr;
    if (color == NCCL_SPLIT_NOCOLOR) return ncclInProgress;
    parent->split_to = made;
    parent->part = part;
    return ncclInProgress;
  });
}
ncclResult_t ncclCommFinalize(ncclComm_t handle) {
  return nccl_call(__func__, [&](Call&) {
    const std::shared_ptr<Communicator> communicator = communicator_of(handle);
    return communicator == nullptr ? ncclInvalidArgument : in_progress(*communicator);
  });
}
ncclResult_t ncclCommDestroy(ncclComm_t handle) {
  Call call(__func__, Call::Kind::release);
  return forget(call, handle, false);
}
ncclResult_t ncclCommAbort(ncclComm_t handle) {
  Call call(__func__, Call::Kind::release);
  return forget(call, handle, true);
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t* result) {
  return nccl_call(__func__, [&](Call& call) {
    const std::shared_ptr<Communicator> communicator = communicator_of(handle);
    if (communicator == nullptr) return ncclInvalidArgument;
    look_for_ranks(*communicator);
    if (state().communicators_fail) communicator->error = ncclRemoteError;
    if (communicator->error == ncclSuccess) communicator->error = communicator->clique->error;
    *result = communicator->error;
    if (communicator->error != ncclSuccess) return ncclSuccess;
    if (communicator->complete() && communicator->polls_left > 0) --communicator->polls_left;
    const bool waits = !communicator->complete() || connects(*communicator);
    if (!waits && communicator->polls_left == 0) {
      hand_over_part(*communicator);
      return ncclSuccess;
    }
    *result = ncclInProgress;
    if (waits) state().changed.wait_for(call.lock, std::chrono::microseconds(200));
    return ncclSuccess;
  });
}
ncclResult_t ncclCommCount(const ncclComm_t handle, int* ranks) {
  return nccl_call(__func__, [&](Call&) {
    const std::shared_ptr<Communicator> communicator = communicator_of(handle);
    return communicator == nullptr ? ncclInvalidArgument : (*ranks = communicator->clique->ranks, ncclSuccess);
  });
}
ncclResult_t ncclCommUserRank(const ncclComm_t handle, int* rank) {
  return nccl_call(__func__, [&](Call&) {
    const std::shared_ptr<Communicator> communicator = communicator_of(handle);
    return communicator == nullptr ? ncclInvalidArgument : (*rank = communicator->rank, ncclSuccess);
  });
}
ncclResult_t ncclCommCuDevice(const ncclComm_t handle, int* number) {
  return nccl_call(__func__, [&](Call&) {
    const std::shared_ptr<Communicator> communicator = communicator_of(handle);
    return communicator == nullptr ? ncclInvalidArgument : (*number = communicator->device, ncclSuccess);
  });
}

ncclResult_t ncclAllReduce(const void* source, void* target, size_t count, ncclDataType_t type, ncclRedOp_t fold, ncclComm_t handle,
                           cudaStream_t stream) {
  return nccl_call(__func__, [&](Call&) { return post(handle, {Operation::Kind::all_reduce, source, target, count, type, fold}, stream); });
}
ncclResult_t ncclReduceScatter(const void* source, void* target, size_t count, ncclDataType_t type, ncclRedOp_t fold, ncclComm_t handle,
                               cudaStream_t stream) {
  return nccl_call(__func__, [&](Call&) { return post(handle, {Operation::Kind::reduce_scatter, source, target, count, type, fold}, stream, true); });
}
ncclResult_t ncclAllGather(const void* source, void* target, size_t count, ncclDataType_t type, ncclComm_t handle, cudaStream_t stream) {
  return nccl_call(__func__, [&](Call&) {
    return post(handle, {Operation::Kind::all_gather, source, target, count, type, ncclSum}, stream, false, true);
  });
}
ncclResult_t ncclBroadcast(const void* source, void* target, size_t count, ncclDataType_t type, int root, ncclComm_t handle, cudaStream_t stream) {
  return nccl_call(__func__, [&](Call&) { return post(handle, {Operation::Kind::broadcast, source, target, count, type, ncclSum, root}, stream); });
}
ncclResult_t ncclReduce(const void* source, void* target, size_t count, ncclDataType_t type, ncclRedOp_t fold, int root, ncclComm_t handle,
                        cudaStream_t stream) {
  return nccl_call(__func__, [&](Call&) { return post(handle, {Operation::Kind::reduce, source, target, count, type, fold, root}, stream); });
}
ncclResult_t ncclSend(const void* source, size_t count, ncclDataType_t type, int peer, ncclComm_t handle, cudaStream_t stream) {
  return nccl_call(__func__, [&](Call&) { return post(handle, {Operation::Kind::send, source, nullptr, count, type, ncclSum, peer}, stream); });
}
ncclResult_t ncclRecv(void* target, size_t count, ncclDataType_t type, int peer, ncclComm_t handle, cudaStream_t stream) {
  return nccl_call(__func__, [&](Call&) { return post(handle, {Operation::Kind::receive, nullptr, target, count, type, ncclSum, peer}, stream); });
}
ncclResult_t ncclGroupStart() {
  return nccl_call(__func__, [&](Call&) {
    ++group().depth;
    return ncclSuccess;
  });
}
ncclResult_t ncclGroupEnd() {
  const ncclResult_t result = nccl_call(__func__, [&](Call& call) {
    if (group().depth == 0) return ncclInvalidUsage;
    if (--group().depth > 0) return ncclSuccess;
    for (const auto& communicator : std::exchange(group().joining, {}))
      if (const ncclResult_t joined = wait_for_all_ranks(call, communicator); joined != ncclSuccess) return joined;
    return submit();
  });
  if (result != ncclSuccess && result != ncclInProgress) group() = {};  // a group that fails has ended all the same
  return result;
}

}  // extern "C"
