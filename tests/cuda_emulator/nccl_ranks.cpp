// SPDX-License-Identifier: MIT
// An operation begins when its stream reaches it and ends when all its ranks have begun theirs.
#include "nccl_ranks.hpp"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <tuple>

#include "sanitizers.hpp"
#include "state.hpp"
#include "touch.hpp"

namespace cuda_emulator {
namespace {

std::map<std::string, std::shared_ptr<Clique>>& cliques() {
  static std::map<std::string, std::shared_ptr<Clique>> all;
  return all;
}
cudaDataType_t type_of(ncclDataType_t type) {
  switch (type) {
    case ncclBfloat16: return CUDA_R_16BF;
    case ncclFloat64: return CUDA_R_64F;
    case ncclInt32: return CUDA_R_32I;
    default: return CUDA_R_32F;
  }
}
Fold fold_of(ncclRedOp_t fold) {
  switch (fold) {
    case ncclMax: return Fold::most;
    case ncclMin: return Fold::least;
    case ncclProd: return Fold::product;
    case ncclAvg: return Fold::mean;
    default: return Fold::sum;
  }
}

/// What a meeting does once all its ranks are there.
class Together {
 public:
  explicit Together(Meeting& meeting)
      : operations_(meeting.operations), first_(meeting.operations[0]), ranks_(meeting.operations.size()), bytes_(first_.bytes()),
        turn_(static_cast<std::size_t>(meeting.turn)) {}
  void run() {
    switch (first_.kind) {
      case Operation::Kind::all_reduce: reduce(1, [](std::size_t) { return true; }); return sent(2 * (ranks_ - 1) * bytes_);
      case Operation::Kind::reduce_scatter: reduce(ranks_, [](std::size_t) { return true; }); return sent((ranks_ - 1) * bytes_ * ranks_);
      case Operation::Kind::reduce: reduce(1, [&](std::size_t rank) { return rank == root(); }); return sent((ranks_ - 1) * bytes_);
      case Operation::Kind::all_gather: gather(); return sent((ranks_ - 1) * bytes_ * ranks_);
      case Operation::Kind::broadcast: broadcast(); return sent((ranks_ - 1) * bytes_);
      case Operation::Kind::send:
      case Operation::Kind::receive: touch_copy(operations_[1].target, first_.source, bytes_); return sent(bytes_);
    }
  }

 private:
  /// Memory that the thread sanitizer knows no history of.
  template <class T> class Unseen {
   public:
    explicit Unseen(std::size_t n) {
      const tsan::Silence silence;
      numbers_ = std::make_unique<T[]>(n);
    }
    Unseen(const Unseen&) = delete;
    Unseen& operator=(const Unseen&) = delete;
    ~Unseen() {
      const tsan::Silence silence;
      numbers_.reset();
    }
    [[nodiscard]] T* get() const { return numbers_.get(); }

   private:
    std::unique_ptr<T[]> numbers_;
  };

  [[nodiscard]] std::size_t root() const { return static_cast<std::size_t>(first_.peer); }
  static void sent(std::size_t bytes) { state().counts.sent_bytes += static_cast<long>(bytes); }
  /// As in a ring, each of as many chunks as there are ranks is summed from another rank on. Which, no program can know: the seed says it.
  template <class Wants> void reduce(std::size_t pieces, Wants&& wants) {
    const std::size_t count = first_.count * pieces;
    const Unseen<char> all(bytes_ * pieces);
    const Unseen<const void*> sources(ranks_);
    for (std::size_t rank = 0; rank < ranks_; ++rank) sources.get()[rank] = operations_[rank].source;
    const Unseen<RanksFold> folds(ranks_);
    for (std::size_t chunk = 0; chunk < ranks_; ++chunk) {
      RanksFold& fold = folds.get()[chunk];
      fold = {all.get(),
              sources.get(),
              ranks_,
              (chunk + state().options.seed + turn_) % ranks_,
              chunk * count / ranks_,
              (chunk + 1) * count / ranks_,
              type_of(first_.type),
              fold_of(first_.fold)};
      touch_fold(fold);
    }
    for (std::size_t rank = 0; rank < ranks_; ++rank)
      if (wants(rank)) touch_copy(operations_[rank].target, all.get() + (pieces > 1 ? rank * bytes_ : 0), bytes_);
  }
  void gather() {
    const Unseen<char> all(bytes_ * ranks_);
    for (std::size_t rank = 0; rank < ranks_; ++rank) touch_copy(all.get() + rank * bytes_, operations_[rank].source, bytes_);
    for (std::size_t rank = 0; rank < ranks_; ++rank) touch_copy(operations_[rank].target, all.get(), bytes_ * ranks_);
  }
  void broadcast() {
    for (std::size_t rank = 0; rank < ranks_; ++rank)
      if (operations_[rank].target != operations_[root()].source) touch_copy(operations_[rank].target, operations_[root()].source, bytes_);
  }

  const std::vector<Operation>& operations_;
  const Operation& first_;
  std::size_t ranks_;
  std::size_t bytes_;
  std::size_t turn_;
};

/// Whether two ranks that meet mean the same operation.
bool fit(const Operation& a, const Operation& b) {
  if (a.between_two()) return a.count == b.count && a.type == b.type;
  return a.kind == b.kind && a.count == b.count && a.type == b.type && a.fold == b.fold && a.peer == b.peer;
}
std::string said(const Operation& operation) { return std::string(operation.name()) + " of " + std::to_string(operation.count); }
bool mismatch(const Meeting& meeting, long number, std::size_t place, const Communicator& communicator) {
  for (std::size_t other = 0; other < meeting.operations.size(); ++other) {
    if (meeting.arrived[other] == 0 || fit(meeting.operations[place], meeting.operations[other])) continue;
    std::ostringstream text;
    text << "Operation " << number << " of a communicator: rank " << communicator.rank << " comes with " << said(meeting.operations[place])
         << ", another rank with " << said(meeting.operations[other]) << ", or with another type, sum or root.";
    fault(communicator.device, text.str());
    return true;
  }
  return false;
}
std::shared_ptr<Meeting> arrive(Meetings& all, long number, std::size_t place, std::size_t size, const Operation& operation,
                                const Communicator& communicator) {
  std::shared_ptr<Meeting>& slot = all[number];
  if (slot == nullptr) {
    slot = std::make_shared<Meeting>();
    slot->operations.resize(size);
    slot->arrived.resize(size);
    slot->missing = size;
    slot->turn = communicator.clique->turn;
  }
  const std::shared_ptr<Meeting> meeting = slot;
  meeting->operations[place] = operation;
  meeting->arrived[place] = 1;
  tsan::release(meeting.get());
  if (mismatch(*meeting, number, place, communicator) || --meeting->missing > 0 || meeting->lost) return meeting;
  tsan::acquire(meeting.get());
  Together(*meeting).run();
  tsan::release(meeting.get());
  meeting->done = true;
  ++state().counts.collectives;
  all.erase(number);
  return meeting;
}
std::size_t read_bytes(const Operation& operation, std::size_t ranks) {
  return operation.source == nullptr ? 0 : operation.bytes() * (operation.kind == Operation::Kind::reduce_scatter ? ranks : 1);
}
std::string of_place(const std::string& name, std::size_t place) { return name + "." + std::to_string(place); }
/// Where ranks are processes each puts its operation into the folder, with what is read of it.
std::shared_ptr<Meeting> bring(const Communicator& communicator, const std::string& name, std::size_t place, std::size_t size,
                               const Operation& operation) {
  auto meeting = std::make_shared<Meeting>();
  meeting->operations.resize(size);
  meeting->arrived.resize(size);
  meeting->missing = size;
  meeting->turn = communicator.clique->turn;
  meeting->operations[place] = operation;
  meeting->name = name;
  meeting->own = place;
  const std::size_t bytes = read_bytes(operation, size);
  std::vector<char> all(sizeof operation + bytes);
  std::memcpy(all.data(), &operation, sizeof operation);
  if (bytes > 0) touch_copy(all.data() + sizeof operation, operation.source, bytes);
  communicator.clique->folder.put(of_place(name, place), all);
  return meeting;
}
/// When all have come each process does it for all ranks, and keeps what its own gets.
void meet_in_folder(Meeting& meeting, const Communicator& communicator) {
  const Folder& folder = communicator.clique->folder;
  const std::size_t size = meeting.operations.size();
  for (std::size_t place = 0; place < size; ++place)
    if (!folder.has(of_place(meeting.name, place))) return;
  std::vector<std::vector<char>> brought(size), dropped(size);
  for (std::size_t place = 0; place < size; ++place) {
    brought[place] = folder.get(of_place(meeting.name, place));
    meeting.arrived[place] = 1;
    if (place == meeting.own) continue;
    Operation& operation = meeting.operations[place];
    std::memcpy(&operation, brought[place].data(), sizeof operation);
    if (operation.source != nullptr) operation.source = brought[place].data() + sizeof operation;
    dropped[place].resize(operation.bytes() * size);
    if (operation.target != nullptr) operation.target = dropped[place].data();
  }
  if (mismatch(meeting, 0, meeting.own, communicator)) return;
  Together(meeting).run();
  meeting.done = true;
  ++state().counts.collectives;
}
std::shared_ptr<Meeting> arrive(Communicator& communicator, const Operation& operation) {
  Clique& clique = *communicator.clique;
  if (clique.folder.is()) {
    const auto pair = [](int from, int to, long number) {
      return "pair." + std::to_string(from) + "." + std::to_string(to) + "." + std::to_string(number);
    };
    if (operation.kind == Operation::Kind::send)
      return bring(communicator, pair(communicator.rank, operation.peer, communicator.next_send[operation.peer]++), 0, 2, operation);
    if (operation.kind == Operation::Kind::receive)
      return bring(communicator, pair(operation.peer, communicator.rank, communicator.next_receive[operation.peer]++), 1, 2, operation);
    return bring(communicator, "all." + std::to_string(communicator.next_collective++), static_cast<std::size_t>(communicator.rank),
                 static_cast<std::size_t>(clique.ranks), operation);
  }
  const std::pair<int, int> here{communicator.rank, operation.peer};
  if (operation.kind == Operation::Kind::send)
    return arrive(clique.pairs[here], communicator.next_send[operation.peer]++, 0, 2, operation, communicator);
  if (operation.kind == Operation::Kind::receive)
    return arrive(clique.pairs[{here.second, here.first}], communicator.next_receive[operation.peer]++, 1, 2, operation, communicator);
  return arrive(clique.collectives, communicator.next_collective++, static_cast<std::size_t>(communicator.rank),
                static_cast<std::size_t>(clique.ranks), operation, communicator);
}

class Waiting final : public Unfinished {
 public:
  void add(std::shared_ptr<Communicator> communicator, std::shared_ptr<Meeting> meeting) {
    meetings_.emplace_back(std::move(communicator), std::move(meeting));
  }
  bool finished() override {
    for (const auto& [communicator, meeting] : meetings_)
      if (!meeting->done && !meeting->name.empty() && !*communicator->aborted) meet_in_folder(*meeting, *communicator);
    const bool all = std::all_of(meetings_.begin(), meetings_.end(), [](const auto& at) { return at.second->done || *at.first->aborted; });
    if (!all) return false;
    for (const auto& at : meetings_) tsan::acquire(at.second.get());
    tsan::release(this);
    return true;
  }

 private:
  std::vector<std::pair<std::shared_ptr<Communicator>, std::shared_ptr<Meeting>>> meetings_;
};

void lose(Meetings& meetings, std::size_t place) {
  for (auto& [number, meeting] : meetings)
    if (meeting->arrived[place] != 0) meeting->lost = true;
}

}  // namespace

const char* Operation::name() const {
  static constexpr const char* names[] = {"ncclAllReduce", "ncclReduceScatter", "ncclAllGather", "ncclBroadcast",
                                          "ncclReduce",    "ncclSend",          "ncclRecv"};
  return names[static_cast<std::size_t>(kind)];
}
std::size_t Operation::bytes() const {
  switch (type) {
    case ncclInt8:
    case ncclUint8: return count;
    case ncclFloat16:
    case ncclBfloat16: return count * 2;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64: return count * 8;
    default: return count * 4;
  }
}

std::shared_ptr<Communicator> join(const ncclUniqueId& id, int ranks, int rank, bool blocking) {
  if (state().options.processes) {
    auto made = std::make_shared<Communicator>();
    made->clique = std::make_shared<Clique>();
    made->clique->ranks = ranks;
    made->clique->folder = Folder{id.internal};
    made->clique->folder.put(of_place("rank", static_cast<std::size_t>(rank)), {static_cast<char>(current_device())});
    made->rank = rank;
    made->device = current_device();
    made->blocking = blocking;
    return made;
  }
  std::shared_ptr<Clique>& clique = cliques()[std::string(id.internal, sizeof id.internal)];
  if (clique == nullptr) clique = std::make_shared<Clique>();
  clique->ranks = ranks;
  ++clique->joined;
  if (!clique->devices.insert(current_device()).second) {
    refusal("NCCL refuses two ranks of one communicator on device " + std::to_string(current_device()) + ".");
    clique->error = ncclInvalidUsage;
  }
  auto made = std::make_shared<Communicator>();
  made->clique = clique;
  made->rank = rank;
  made->device = current_device();
  made->blocking = blocking;
  return made;
}
void look_for_ranks(Communicator& communicator) {
  Clique& all = *communicator.clique;
  if (!all.folder.is()) return;
  if (all.joined < all.ranks) {
    all.joined = 0;
    all.devices.clear();
    for (int rank = 0; rank < all.ranks; ++rank) {
      if (!all.folder.has(of_place("rank", static_cast<std::size_t>(rank)))) continue;
      ++all.joined;
      const int number = all.folder.get(of_place("rank", static_cast<std::size_t>(rank))).at(0);
      if (!all.devices.insert(number).second) all.error = ncclInvalidUsage;  // all processes have the same cards
    }
  }
  if (communicator.splitting == nullptr || communicator.splitting->done) return;
  const std::string name = "split." + std::to_string(communicator.next_split - 1);
  std::vector<std::tuple<int, int, int>> parts;  // color, key, rank
  for (int rank = 0; rank < all.ranks; ++rank) {
    if (!all.folder.has(of_place(name, static_cast<std::size_t>(rank)))) return;
    const std::vector<char> asked = all.folder.get(of_place(name, static_cast<std::size_t>(rank)));
    int numbers[2] = {};
    std::memcpy(numbers, asked.data(), sizeof numbers);
    parts.emplace_back(numbers[0], numbers[1], rank);
  }
  std::sort(parts.begin(), parts.end());
  Split& split = *communicator.splitting;
  Communicator& made = *split.parts.front().made;
  made.clique->ranks = 0;
  for (const auto& [color, key, rank] : parts) {
    if (color != split.parts.front().color) continue;
    if (rank == communicator.rank) made.rank = made.clique->ranks;
    ++made.clique->ranks;
  }
  made.clique->joined = made.clique->ranks;
  made.clique->turn = split.parts.front().color + 1;
  if (split.parts.front().color >= 0) made.clique->folder = Folder{all.folder.path() + "/" + name + "_" + std::to_string(split.parts.front().color)};
  split.done = true;
}
std::shared_ptr<Communicator> join_split(Communicator& parent, int color, int key) {
  Clique& all = *parent.clique;
  if (all.folder.is()) {
    const int asked[] = {color, key};
    std::vector<char> bytes(sizeof asked);
    std::memcpy(bytes.data(), asked, sizeof asked);
    auto made = std::make_shared<Communicator>();
    made->clique = std::make_shared<Clique>();
    made->clique->ranks = 1;  // of which none is there yet
    made->device = parent.device;
    made->blocking = parent.blocking;
    if (parent.shares) made->aborted = parent.aborted;
    parent.splitting = std::make_shared<Split>();
    parent.splitting->parts.push_back({color, key, parent.rank, made});
    all.folder.put(of_place("split." + std::to_string(parent.next_split++), static_cast<std::size_t>(parent.rank)), bytes);
    return made;
  }
  std::shared_ptr<Split>& slot = all.splits[parent.next_split];
  if (slot == nullptr) slot = std::make_shared<Split>();
  const std::shared_ptr<Split> split = slot;
  auto made = std::make_shared<Communicator>();
  made->clique = std::make_shared<Clique>();
  made->clique->ranks = 1;  // of which none is there yet
  made->device = parent.device;
  made->blocking = parent.blocking;
  if (parent.shares) made->aborted = parent.aborted;
  split->parts.push_back({color, key, parent.rank, made});
  parent.splitting = split;
  if (static_cast<int>(split->parts.size()) < all.ranks) {
    ++parent.next_split;
    return made;
  }
  std::sort(split->parts.begin(), split->parts.end(),
            [](const Split::Part& a, const Split::Part& b) { return std::tie(a.color, a.key, a.rank) < std::tie(b.color, b.key, b.rank); });
  std::map<int, std::shared_ptr<Clique>> of_colors;
  for (const Split::Part& part : split->parts) {
    std::shared_ptr<Clique>& clique = of_colors[part.color];
    if (clique == nullptr) clique = std::make_shared<Clique>();
    clique->turn = part.color + 1;  // another order of sums than its siblings have
    part.made->rank = clique->ranks++;
    ++clique->joined;
    part.made->clique = clique;
  }
  split->done = true;
  all.splits.erase(parent.next_split++);
  return made;
}
void connect(Communicator& communicator, const Operation& operation) {
  Clique& all = *communicator.clique;
  const bool sends = operation.kind == Operation::Kind::send;
  Connection needed{-1, -1, all.ranks};
  if (operation.between_two()) needed = {sends ? communicator.rank : operation.peer, sends ? operation.peer : communicator.rank, 2};
  if (!communicator.connections.insert(needed.name() + (sends ? ".sends" : "")).second) return;
  const int end = operation.between_two() ? static_cast<int>(sends) : communicator.rank;
  if (all.folder.is())
    all.folder.put(of_place(needed.name(), static_cast<std::size_t>(end)), {});
  else
    all.connected[needed.name()].insert(end);
  communicator.connecting.push_back(needed);
}
bool connects(Communicator& communicator) {
  Clique& all = *communicator.clique;
  std::erase_if(communicator.connecting, [&](const Connection& needed) {
    if (!all.folder.is()) return static_cast<int>(all.connected[needed.name()].size()) == needed.ends;
    for (int end = 0; end < needed.ends; ++end)
      if (!all.folder.has(of_place(needed.name(), static_cast<std::size_t>(end)))) return false;
    return true;
  });
  return !communicator.connecting.empty();
}
void leave(Communicator& communicator, bool aborts) {
  if (!aborts) return;
  *communicator.aborted = true;
  lose(communicator.clique->collectives, static_cast<std::size_t>(communicator.rank));
  for (auto& [between, meetings] : communicator.clique->pairs) {
    if (between.first == communicator.rank) lose(meetings, 0);
    if (between.second == communicator.rank) lose(meetings, 1);
  }
}
std::shared_ptr<Unfinished> begin_operations(const std::vector<RankOperation>& operations) {
  auto waiting = std::make_shared<Waiting>();
  for (const auto& [communicator, operation] : operations)
    if (!*communicator->aborted) waiting->add(communicator, arrive(*communicator, operation));
  return waiting;
}
void forget_lost_ranks() {
  std::erase_if(cliques(), [](const auto& entry) { return entry.second.use_count() == 1; });
}

}  // namespace cuda_emulator
