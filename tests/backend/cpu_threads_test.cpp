// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>

#include "sanitized.hpp"

// Every allocation of the program is counted where it ends up: in malloc, or in the hook of the sanitizer that replaces it.
namespace counted {
std::atomic<long> allocations{0};
// The n-th from now on is refused, as a system does that has no more; 0: none. A sanitizer keeps both calls to itself.
std::atomic<int> arena_to_refuse{0};
std::atomic<int> thread_to_refuse{0};
[[maybe_unused]] bool refuses(std::atomic<int>& number) { return number.load() > 0 && number.fetch_sub(1) == 1; }
}  // namespace counted

extern "C" {
#if defined(HEDDLE_SANITIZED)
void __sanitizer_malloc_hook(const volatile void*, std::size_t) { counted::allocations.fetch_add(1, std::memory_order_relaxed); }
void __sanitizer_free_hook(const volatile void*) {}
#elif defined(__GLIBC__)
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void* malloc(std::size_t bytes) {
  counted::allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(bytes);
}
void* calloc(std::size_t number, std::size_t bytes) {
  counted::allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(number, bytes);
}
void* realloc(void* memory, std::size_t bytes) {
  counted::allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(memory, bytes);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*begin)(void*), void* of) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return counted::refuses(counted::thread_to_refuse) ? EAGAIN : create(thread, attributes, begin, of);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  if (counted::refuses(counted::arena_to_refuse)) return nullptr;
  counted::allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, bytes);
}
#else
#error "this test counts the allocations of glibc or of a sanitizer"
#endif
}

#include "heddle/backend/cpu_threads.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cfenv>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace heddle;

namespace {

struct First : Sequential<Linear<23, 17>, ReLU> {};
struct Second : Sequential<Residual<Linear<17, 19>, GELU, Linear<19, 17>>, Tanh> {};
struct Third : Sequential<Linear<17, 10>> {};
struct Model : Sequential<First, Second, Third> {};

template <class... Parts> using Of = Plan<Model, CrossEntropy, Adam, Batch<48, KeepLast>, Bucket<1_KiB>, Parts...>;
using Alone = Of<Single, Grain<4>>;
using Two = Of<DataParallel<2>>;
using Three = Of<DataParallel<3>, Grain<4>>;
using Four = Of<DataParallel<4>, Accumulate<3>>;
using Filled = Of<Pipeline<Balanced<3>, GPipe, Microbatches<4>>>;
using Alternating = Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<6>>, Grain<4>>;
using Back = Of<Pipeline<Stage<First, On<0>>, Stage<Second, On<1>>, Stage<Third, On<0>>, OneFOneB, Microbatches<4>>>;
using Inside = Of<Hybrid<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>, DataParallel<2>>>;
using Outside = Of<Hybrid<DataParallel<3>, Pipeline<Balanced<2>>>, Accumulate<2>>;
// The middle stage has no parameters: nothing to reduce, nothing to step.
struct Bare : Sequential<Linear<23, 17>, ReLU, Linear<17, 10>> {};
using Empty = Plan<Bare, CrossEntropy, SGD, Batch<48, KeepLast>, Hybrid<Pipeline<Balanced<3>>, DataParallel<2>>>;

// Layers split in pairs: sums of values in bodies, a whole bias and zeros in its place, a split value between stages.
struct Even : Sequential<Linear<23, 16>, ReLU, Residual<Linear<16, 20>, GELU, Linear<20, 16>>, Linear<16, 12>, Tanh, Linear<12, 10>> {};
struct Steps
    : Sequential<Input<23>, Linear<23, 24>, Unflatten<4, 6>, Linear<6, 6>, Residual<Linear<6, 8>, GELU, Linear<8, 6>>, Flatten, Linear<24, 10>> {};
template <class... Parts> using Split = Plan<Even, CrossEntropy, Adam, Batch<48, KeepLast>, Bucket<1_KiB>, Parts...>;
using Tensor = Split<TensorParallel<4>, Grain<4>>;
using TensorData = Split<Hybrid<TensorParallel<2>, DataParallel<2>>, Accumulate<3>>;
using TensorStages = Split<Hybrid<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>, TensorParallel<2>>>;

using Sequences = Plan<Steps, CrossEntropy, Adam, Batch<48, KeepLast>, Hybrid<TensorParallel<2, SequenceParallel>, DataParallel<2>>, Accumulate<3>>;

// More classes than terms of their loss: each rank has a part of the logits.
struct Wide : Sequential<Linear<23, 16>, ReLU, Linear<16, 60>> {};
using Classes = Plan<Wide, CrossEntropy, Adam, Batch<48, KeepLast>, Bucket<1_KiB>, Hybrid<TensorParallel<4>, DataParallel<2>>, Accumulate<3>>;
static_assert(Classes::training.graph->laid_between(3) == laid::shard(0));

struct Rows {
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  Rows() {
    for (int i = 0; i < 48; ++i) {
      for (int j = 0; j < 23; ++j) inputs.push_back(static_cast<float>((37 * i + 101 * j + i * j) % 127) / 128.0F);
      labels.push_back((7 * i + 3) % 10);
    }
  }
  [[nodiscard]] auto batch(std::int64_t rows = 48) const {
    return examples(std::span<const float>{inputs}, std::span<const std::int32_t>{labels}, 23).slice(0, rows);
  }
};
const Rows rows;

template <class Visit> void every_plan(Visit visit) {
  visit.template operator()<Alone>();
  visit.template operator()<Two>();
  visit.template operator()<Three>();
  visit.template operator()<Four>();
  visit.template operator()<Filled>();
  visit.template operator()<Alternating>();
  visit.template operator()<Back>();
  visit.template operator()<Inside>();
  visit.template operator()<Outside>();
  visit.template operator()<Empty>();
  visit.template operator()<Tensor>();
  visit.template operator()<TensorData>();
  visit.template operator()<TensorStages>();
  visit.template operator()<Sequences>();
  visit.template operator()<Classes>();
}

/// Bytes that a rank sends so that its step can report the loss: one float along the axis data, from the ranks that have the loss.
template <class Plan> Bytes loss_bytes(Rank rank) {
  const Program& p = Plan::training;
  const int replicas = p.mesh.size(Axis::data);
  if (replicas == 1 || p.mesh.coordinate(rank, Axis::stage) != p.loss_role()) return {};
  return ring_bytes_sent(1, replicas, p.mesh.coordinate(rank, Axis::data));
}

template <class Plan> void check_sent(Trainer<Plan, CpuThreads>& trainer, bool reported) {
  constexpr auto promised = traffic<Plan>();
  Threads& transport = trainer.session().transport();
  Bytes to_peers;
  Bytes in_reductions;
  std::int64_t messages_to_peers = 0;
  std::int64_t messages_in_reductions = 0;
  for (int rank = 0; rank < devices<Plan>; ++rank) {
    CAPTURE(rank);
    const Sent peers = transport.sent(Rank{rank}, Movement::point_to_point);
    const Sent reductions = transport.sent(Rank{rank}, Movement::all_reduce);
    CHECK(peers.bytes == promised.sent_to_peers(Rank{rank}));
    CHECK(reductions.bytes == promised.sent_in_reductions(Rank{rank}) + promised.sent_in_values(Rank{rank}, BodyOp::reduce_value) +
                                  (reported ? loss_bytes<Plan>(Rank{rank}) : Bytes{}));
    const Sent gathers = transport.sent(Rank{rank}, Movement::all_gather);
    const Sent scatters = transport.sent(Rank{rank}, Movement::reduce_scatter);
    CHECK(gathers.bytes == promised.sent_in_values(Rank{rank}, BodyOp::gather_value));
    CHECK(scatters.bytes == promised.sent_in_values(Rank{rank}, BodyOp::scatter_value));
    to_peers += peers.bytes;
    in_reductions += reductions.bytes + gathers.bytes + scatters.bytes;
    messages_to_peers += peers.messages;
    messages_in_reductions += reductions.messages + gathers.messages + scatters.messages;
  }
  const Volume gradients = promised.gradients().on(axis::data);
  const Volume loss = reported ? promised.loss() : Volume{};
  CHECK(to_peers == promised.activations().total_with_padding);
  const Volume values = promised.values();
  CHECK(in_reductions == gradients.total_with_padding + values.total_with_padding + loss.total_with_padding);
  CHECK(messages_to_peers == promised.activations().messages);
  CHECK(messages_in_reductions == gradients.messages + values.messages + loss.messages);
}

}  // namespace

TEST_CASE("the bytes and messages that are counted on every rank are those that the plan states") {
  every_plan([]<class Plan>() {
    Trainer<Plan, CpuThreads> trainer{{}, Seed{1}};
    trainer.on_step([](const StepResult&) {}, Every{2});
    for (const bool reported : {false, true}) {
      CAPTURE(reported);
      trainer.session().transport().clear_traffic();
      trainer.step(rows.batch());
      check_sent<Plan>(trainer, reported);
    }
    trainer.session().transport().clear_traffic();
    trainer.step(rows.batch(5));  // ranks without rows send as much as the others
    check_sent<Plan>(trainer, false);
  });
}

TEST_CASE("one device sends nothing, and replicas send the ring's volume") {
  static_assert(traffic<Alone>().total() == Bytes{0});
  static_assert(traffic<Two>().gradients().on(axis::data).moved_per_rank() == Bytes{2 * 4 * parameters<Model> / 2});
  static_assert(traffic<Three>().gradients().on(axis::data).total_payload == Bytes{2 * 2 * 4 * parameters<Model>});
  Trainer<Alone, CpuThreads> trainer{{}, Seed{1}};
  trainer.step(rows.batch());
  CHECK(trainer.session().transport().sent(Rank{0}, Movement::point_to_point).bytes == Bytes{0});
  CHECK(trainer.session().transport().sent(Rank{0}, Movement::all_reduce).bytes == Bytes{0});
}

TEST_CASE("the arena has the size that the plan states, and one step and one evaluation use all of it") {
  every_plan([]<class Plan>() {
    Trainer<Plan, CpuThreads> trainer{{}, Seed{1}};
    trainer.on_step([](const StepResult&) {});
    trainer.step(rows.batch());
    (void)trainer.evaluate(rows.batch());
    Bytes most;
    for (int rank = 0; rank < devices<Plan>; ++rank) {
      CAPTURE(rank);
      const Arena& arena = trainer.executor(Rank{rank}).arena();
      CHECK(arena.size() == Bytes{Plan::training.arenas[Plan::training.mesh.coordinate(Rank{rank}, Axis::stage)].total});
      CHECK(arena.high_water() == arena.size());
      if (arena.size() > most) most = arena.size();
    }
    CHECK(most == peak_memory<Plan>());
  });
  CHECK((peak_memory<Back>(device<1>) == Bytes{Back::training.arenas[1].total}));
}

TEST_CASE("after construction a step allocates nothing, on no rank, with or without a report") {
  every_plan([]<class Plan>() {
    Trainer<Plan, CpuThreads> trainer{{}, Seed{1}};
    float sum = 0;
    trainer.on_step([&sum](const StepResult& result) { sum += result.loss.value(); }, Every{2});
    const auto whole = rows.batch();
    const auto part = rows.batch(7);
    trainer.step(whole);
    const long before = counted::allocations.load();
    for (int step = 0; step < 4; ++step) trainer.step(step == 2 ? part : whole);
    CHECK(counted::allocations.load() - before == 0);
    CHECK(sum > 0);
  });
  // The counter counts, also what is aligned, and on other threads.
  const long before = counted::allocations.load();
  void* volatile const seen = ::operator new(1);  // volatile, or the compiler leaves the pair out
  ::operator delete(seen);
  const Arena arena{4096};
  CHECK(counted::allocations.load() - before == 2);
  Workers workers{2};
  workers.run([](int) {});  // threads that begin may allocate, under a sanitizer at least
  const long idle = counted::allocations.load();
  std::unique_ptr<int> of_rank[2];
  workers.run([&](int rank) { of_rank[rank] = std::make_unique<int>(rank); });
  CHECK(counted::allocations.load() - idle == 2);
}

TEST_CASE("a world size that is not that of one process is refused with both numbers") {
  const auto make = [] { const Trainer<Two, CpuThreads> trainer{{}, Seed{1}}; };
  setenv("WORLD_SIZE", "2", 1);
  std::string sentence;
  try {
    make();
  } catch (const Error& error) {
    CHECK((error.code() == Code{'R', 3}));
    sentence = error.what();
  }
  CHECK(sentence.find("[heddle.R03] WORLD_SIZE says 2 processes, but CpuThreads runs the 2 ranks") == 0);
  setenv("WORLD_SIZE", "1", 1);
  CHECK_NOTHROW(make());
  unsetenv("WORLD_SIZE");
  CHECK_NOTHROW(make());
}

#if !defined(HEDDLE_SANITIZED)
TEST_CASE("a trainer for which memory or a thread is missing says what was asked, and leaves nothing running") {
  const auto threads_left = [] {  // a thread that has been joined may stay in the list for a moment
    const auto listed = [] { return std::distance(std::filesystem::directory_iterator{"/proc/self/task"}, {}); };
    for (int wait = 0; wait < 1000 && listed() > 1; ++wait) std::this_thread::sleep_for(std::chrono::milliseconds{5});
    return listed();
  };
  const auto refusal = [](Code code, std::atomic<int>& refused, int number) -> std::string {
    refused.store(number);
    try {
      const Trainer<Four, CpuThreads> trainer{{}, Seed{1}};
    } catch (const Error& error) {
      CHECK((error.code() == code));
      refused.store(0);
      return error.what();
    }
    refused.store(0);
    return "nothing was refused";
  };
  REQUIRE(threads_left() == 1);
  for (int number = 1; number <= 12; ++number) {  // rings of the transport, then an arena and scratch for each of four ranks
    const std::string said = refusal({'R', 14}, counted::arena_to_refuse, number);
    CHECK(said.find("[heddle.R14] a device needs ") == 0);
    CHECK(said.find(" bytes, but the system gives no such memory: ") != std::string::npos);
    CHECK(threads_left() == 1);
  }
  for (const int number : {1, 2, 3}) {
    const std::string said = refusal({'R', 15}, counted::thread_to_refuse, number);
    CHECK(said.find("[heddle.R15] the 4 ranks need 3 threads beside the caller's, but only " + std::to_string(number - 1) + " could be started") ==
          0);
    CHECK(threads_left() == 1);
  }
  CHECK(refusal({'R', 15}, counted::thread_to_refuse, 4) == "nothing was refused");
}
#endif

TEST_CASE("trainers whose deadline is some microseconds end with the parameters of all others, or with a lost rank") {
  const auto hash_with = [](std::chrono::nanoseconds deadline) -> std::uint64_t {
    Trainer<Four, CpuThreads> trainer{{.learning_rate = 0.1}, Seed{1}, {deadline}};
    for (int step = 0; step < 5; ++step) trainer.step(rows.batch());
    return trainer.parameter_hash(3);
  };
  const std::uint64_t wanted = hash_with(std::chrono::minutes{2});
  int lost = 0;
  for (int again = 0; again < 600; ++again) {
    const int microseconds = 1 + again % 60;
    CAPTURE(microseconds);
    std::uint64_t hash = wanted;
    try {
      hash = hash_with(std::chrono::microseconds{microseconds});
    } catch (const RankLost& error) {
      ++lost;
      CHECK((error.rank().value >= 0 && error.rank().value < 4));
      CHECK(std::string{error.what()}.find("within the deadline of " + milliseconds_of(std::chrono::microseconds{microseconds})) !=
            std::string::npos);
    }
    CHECK(hash == wanted);
  }
  CHECK(lost > 0);
}

TEST_CASE("replicas round as the thread that steps does, and flush what is too small where it does") {
  const auto hashes = [](Trainer<Four, CpuThreads>& trainer) {
    std::vector<std::uint64_t> all;
    for (int replica = 0; replica < 4; ++replica) all.push_back(trainer.parameter_hash(replica));
    return all;
  };
  const auto agree = [](const std::vector<std::uint64_t>& all) { return std::count(all.begin(), all.end(), all[0]) == std::ssize(all); };
  Trainer<Four, CpuThreads> near{{.learning_rate = 0.1}, Seed{1}}, up{{.learning_rate = 0.1}, Seed{1}};
  std::vector<std::uint64_t> after;
  for (int step = 0; step < 3; ++step) near.step(rows.batch());
  std::thread other([&] {
    std::fesetround(FE_UPWARD);
    for (int step = 0; step < 3; ++step) up.step(rows.batch());
  });
  other.join();
  CHECK((agree(hashes(near)) && agree(hashes(up))));
  CHECK(hashes(near) != hashes(up));
#if defined(__x86_64__)
  Trainer<Four, CpuThreads> keeps{{.learning_rate = 1e-38}, Seed{1}}, flushes{{.learning_rate = 1e-38}, Seed{1}};
  for (auto* const trainer : {&keeps, &flushes})
    for (const std::string& name : trainer->parameter_names()) trainer->set_parameter(name, std::vector<float>(trainer->parameter(name).size()));
  for (int step = 0; step < 3; ++step) keeps.step(rows.batch());
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_ON);
  for (int step = 0; step < 3; ++step) flushes.step(rows.batch());
  _MM_SET_FLUSH_ZERO_MODE(_MM_FLUSH_ZERO_OFF);
  CHECK((agree(hashes(keeps)) && agree(hashes(flushes))));
  CHECK(hashes(keeps) != hashes(flushes));
#endif
}
