// SPDX-License-Identifier: MIT
// A device whose memory the host cannot touch: it is there only while the device or the transport is at work, as that of a card is. Whatever reads a
// trainer does so through copies, or this program ends with a fault.
#include "heddle/run/device.hpp"

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "equivalence/conducted_session.hpp"
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;
using namespace heddle::extending;

namespace {

/// Whole pages of memory that are open while somebody is at work.
class Card {
 public:
  struct Pages {
    void* begin;
    std::size_t bytes;
  };
  static void add(Pages pages) {
    all().push_back(pages);
    set(pages, open_ > 0);
  }
  static void remove(const void* begin) {
    std::erase_if(all(), [&](const Pages& pages) {
      if (pages.begin == begin) set(pages, true);
      return pages.begin == begin;
    });
  }
  /// At work, also within the work of another.
  struct AtWork {
    AtWork() {
      if (open_++ == 0) set_all(true);
    }
    AtWork(const AtWork&) = delete;
    AtWork& operator=(const AtWork&) = delete;
    ~AtWork() {
      if (--open_ == 0) set_all(false);
    }
  };

 private:
  static std::vector<Pages>& all() {
    static std::vector<Pages> pages;
    return pages;
  }
  static void set(const Pages& pages, bool open) { REQUIRE(mprotect(pages.begin, pages.bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE) == 0); }
  static void set_all(bool open) {
    for (const Pages& pages : all()) set(pages, open);
  }
  static inline int open_ = 0;
};

template <class Work> auto at_work(Work work) {
  const Card::AtWork here;
  return work();
}

/// A HostDevice on the card.
class FarDevice {
 public:
  using Kernels = KernelTable;
  FarDevice(const Program& training, const KernelTable& kernels, Rank rank) : device_(training, kernels, rank) {
    const auto page = static_cast<std::int64_t>(sysconf(_SC_PAGESIZE));
    const std::int64_t bytes = tensors().arena().size().value / page * page;
    REQUIRE(bytes >= 2 * 1024 * 1024);  // such an arena begins with a page
    Card::add({tensors().arena().bytes(0), static_cast<std::size_t>(bytes)});
  }
  FarDevice(const FarDevice&) = delete;
  FarDevice& operator=(const FarDevice&) = delete;
  ~FarDevice() { Card::remove(tensors().arena().bytes(0)); }

  [[nodiscard]] RankTensors& tensors() { return device_.tensors(); }
  [[nodiscard]] const RankTensors& tensors() const { return device_.tensors(); }
  void begin(const StepInput& input) { device_.begin(input); }
  void compute(const Entry& entry) {
    at_work([&] { device_.compute(entry); });
  }
  void gather(const Entry& entry) {
    at_work([&] { device_.gather(entry); });
  }
  void scatter(const Entry& entry) {
    at_work([&] { device_.scatter(entry); });
  }
  void take_norms() {
    at_work([&] { device_.take_norms(); });
  }
  float* widen(const Collective& c) {
    return at_work([&] { return device_.widen(c); });
  }
  void round(const Collective& c, const float* sum, std::int64_t elements) {
    at_work([&] { device_.round(c, sum, elements); });
  }
  void round_slice(int bucket, const Collective& c) {
    at_work([&] { device_.round_slice(bucket, c); });
  }
  void unscale(float scale) {
    at_work([&] { device_.unscale(scale); });
  }
  void guard() {
    at_work([&] { device_.guard(); });
  }
  [[nodiscard]] bool overflowed() {
    return at_work([&] { return device_.overflowed(); });
  }
  [[nodiscard]] float norm() {
    return at_work([&] { return device_.norm(); });
  }
  [[nodiscard]] float clip_factor(float norm, double most) const { return device_.clip_factor(norm, most); }
  [[nodiscard]] float loss_sum() {
    return at_work([&] { return device_.loss_sum(); });
  }
  void sum_ties(int bucket) {
    at_work([&] { device_.sum_ties(bucket); });
  }
  void step(int bucket, float factor) {
    at_work([&] { device_.step(bucket, factor); });
  }
  void upload(float* there, const float* here, std::int64_t elements) { copy(there, here, elements); }
  void download(float* here, const float* there, std::int64_t elements) { copy(here, there, elements); }
  [[nodiscard]] std::vector<float> grain(const Place& place, std::int64_t features, int number) {
    return at_work([&] { return device_.grain(place, features, number); });
  }
  [[nodiscard]] std::int64_t first_row(int grain) const { return device_.first_row(grain); }
  static inline int copies = 0;

 private:
  static void copy(float* to, const float* from, std::int64_t elements) {
    ++copies;
    at_work([&] { std::copy_n(from, elements, to); });
  }
  HostDevice device_;
};
static_assert(RankDevice<FarDevice>);

/// Kernels of one memory are those of no device of another.
struct CardMemory {};
static_assert(std::is_constructible_v<HostDevice, const Program&, const KernelTable&, Rank>);
static_assert(!std::is_constructible_v<HostDevice, const Program&, const KernelTableIn<CardMemory>&, Rank>);
static_assert(!std::is_convertible_v<ForwardCallIn<CardMemory>, ForwardCall> && !std::is_convertible_v<ForwardCall, ForwardCallIn<CardMemory>>);

class FarEndpoint {
 public:
  explicit FarEndpoint(Threads::Endpoint& own) : own_(&own) {}
  std::int64_t send_start(int peer, const float* data, std::int64_t n) {
    return at_work([&] { return own_->send_start(peer, data, n); });
  }
  void send_wait(int peer, std::int64_t k) {
    at_work([&] { own_->send_wait(peer, k); });
  }
  std::int64_t receive_start(int peer, float* data, std::int64_t n) {
    return at_work([&] { return own_->receive_start(peer, data, n); });
  }
  void receive_wait(int peer, std::int64_t k) {
    at_work([&] { own_->receive_wait(peer, k); });
  }
  std::int64_t all_reduce_start(int group, float* data, std::int64_t n, SumOrder = SumOrder::tree) {
    return at_work([&] { return own_->all_reduce_start(group, data, n); });
  }
  void all_reduce_wait(int group, std::int64_t k) {
    at_work([&] { own_->all_reduce_wait(group, k); });
  }
  std::int64_t reduce_scatter_start(int group, const float* whole, float* slice, std::int64_t n, SumOrder = SumOrder::tree) {
    return at_work([&] { return own_->reduce_scatter_start(group, whole, slice, n); });
  }
  void reduce_scatter_wait(int group, std::int64_t k) {
    at_work([&] { own_->reduce_scatter_wait(group, k); });
  }
  std::int64_t all_gather_start(int group, const float* slice, float* whole, std::int64_t n) {
    return at_work([&] { return own_->all_gather_start(group, slice, whole, n); });
  }
  void all_gather_wait(int group, std::int64_t k) {
    at_work([&] { own_->all_gather_wait(group, k); });
  }
  [[nodiscard]] bool passable(const Ticket& ticket) { return own_->passable(ticket); }

 private:
  Threads::Endpoint* own_;
};

class FarSession : public equivalence::ConductedSession<InTurn> {
 public:
  using Endpoint = FarEndpoint;
  using Device = FarDevice;
  FarSession(const TransportNeeds& needs, std::chrono::nanoseconds deadline) : ConductedSession(needs, deadline) {
    for (int r = 0; r < needs.ranks; ++r) endpoints_.emplace_back(ConductedSession::endpoint(Rank{r}));
  }
  [[nodiscard]] static constexpr Bytes memory(const RankNeeds& needs) { return Threads::memory(needs); }
  [[nodiscard]] Endpoint& endpoint(Rank rank) { return endpoints_[static_cast<std::size_t>(rank.value)]; }

 private:
  std::vector<FarEndpoint> endpoints_;
};

struct Far : CpuThreads {
  using Session = FarSession;
};

struct Net : Sequential<Named<"in", Linear<512, 512>>, GELU, Named<"mid", Linear<512, 512>>, Tanh, Named<"out", Linear<512, 6>>> {};
template <class... Parts> using Of = Plan<Net, CrossEntropy, Adam, Batch<8, KeepLast>, Clip<GlobalNorm>, Parts...>;
using Product = Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>;
using Sliced = Of<Sharded<2>>;

struct Rows {
  std::vector<float> inputs = std::vector<float>(8 * 512);
  std::vector<std::int32_t> labels{0, 1, 2, 3, 4, 5, 0, 1};
  Rows() {
    for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = static_cast<float>(i * 37 % 101) / 101.0F - 0.5F;
  }
  [[nodiscard]] auto all() const { return examples(std::span<const float>{inputs}, std::span<const std::int32_t>{labels}, 512); }
};

/// Whether the host may read there: a system call says so without a fault.
bool readable(const void* at) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const bool can = write(ends[1], at, 1) == 1;
  CHECK((can || errno == EFAULT));
  close(ends[0]);
  close(ends[1]);
  return can;
}

template <class ThePlan> void same_as_on_threads(const char* name) {
  CAPTURE(name);
  const Rows rows;
  Trainer<ThePlan, Far> far{{}, Seed{4}};
  Trainer<ThePlan, CpuThreads> near{{}, Seed{4}};
  CHECK_FALSE(readable(far.executor(Rank{0}).arena().bytes(0)));
  CHECK(readable(near.executor(Rank{0}).arena().bytes(0)));
  CHECK(far.parameter_hash() == near.parameter_hash());
  for (int step = 0; step < 3; ++step) {
    (void)far.step(rows.all());
    (void)near.step(rows.all());
  }
  CHECK(far.parameter_hash() == near.parameter_hash());
  CHECK(far.gradient("mid.weight") == near.gradient("mid.weight"));
  CHECK(far.evaluate(rows.all()).loss == near.evaluate(rows.all()).loss);
  CHECK(far.predict(rows.inputs) == near.predict(rows.inputs));
  std::vector<float> bias(6, 0.25F);
  far.set_parameter("out.bias", bias);
  CHECK(far.parameter("out.bias") == bias);
  near.load(far);
  CHECK(far.parameter_hash() == near.parameter_hash());
  const std::string path = (std::filesystem::temp_directory_path() / ("heddle_far_" + std::to_string(getpid()) + ".safetensors")).string();
  far.save(path);
  near.set_parameter("out.bias", std::vector<float>(6));
  near.load(path);
  CHECK(far.parameter_hash() == near.parameter_hash());
  near.set_parameter("out.bias", std::vector<float>(6));
  far.load(near);
  CHECK(far.parameter("out.bias") == std::vector<float>(6));
  std::filesystem::remove(path);
  CHECK_FALSE(readable(far.executor(Rank{1}).arena().bytes(0)));
}

template <class Backend> std::string said_of_nan() {
  Rows rows;
  Trainer<Product, Backend> trainer{{}, Seed{4}};
  trainer.set_parameter("mid.bias", std::vector<float>(512, std::numeric_limits<float>::max()));
  rows.inputs[5] = std::numeric_limits<float>::infinity();
  try {
    (void)trainer.step(rows.all());
  } catch (const NonFinite& found) {
    return found.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a trainer is read and written through copies: its device's memory is the device's alone") {
  FarDevice::copies = 0;
  same_as_on_threads<Product>("a product");
  same_as_on_threads<Sliced>("slices");
  CHECK(FarDevice::copies > 100);
}

TEST_CASE("verify copies what passes by, from a device that nobody else reads") {
  const Rows rows;
  const Verification found = verify<Product, Far>(rows.all());
  CHECK(found.text == "");
  CHECK(found.tensors > 15);
}

TEST_CASE("where a value that is not finite begins is found from copies") {
  const std::string near = said_of_nan<CpuThreads>();
  CHECK(near.find("feature 5") != std::string::npos);
  CHECK(said_of_nan<Far>() == near);
}

TEST_CASE("a copy of a grain has its rows, and a grain without rows has none") {
  using Small = Plan<Sequential<Linear<4, 3>>, MeanSquaredError, SGD, Batch<4, KeepLast>, Grain<2>, Single>;
  KernelTable kernels;
  HostDevice device{Small::training, kernels, Rank{0}};
  StepInput input;
  input.program = &Small::training;
  input.rows = 3;
  device.begin(input);
  device.tensors().use(0);
  const Place place{0, 0};
  float* const there = device.tensors().at_grain(place, 3, 1);
  const std::vector<float> values{1, 2, 3};
  device.upload(there, values.data(), 3);
  CHECK(device.grain(place, 3, 0).size() == 6);
  CHECK(device.grain(place, 3, 1) == values);  // one row of two
  CHECK(device.first_row(1) == 2);
  input.rows = 2;
  CHECK(device.grain(place, 3, 1).empty());
}
