// SPDX-License-Identifier: MIT
#include "heddle/run/parameter_file.hpp"

#include <doctest/doctest.h>

#include <sys/resource.h>
#include <unistd.h>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "heddle/backend/cpu_threads.hpp"
#include "heddle/run/runner.hpp"
#include "sanitized.hpp"

using namespace heddle;
namespace fs = std::filesystem;

namespace {

struct Model : Sequential<Named<"first", Linear<6, 8>>, Tanh, Named<"last", Linear<8, 4>>> {};
template <class Policy> using Of = Plan<Model, CrossEntropy, Adam, Batch<16>, Grain<4>, Policy>;
template <class Policy> using Trained = Trainer<Of<Policy>, CpuThreads>;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("heddle_parameters_" + std::to_string(std::random_device{}()));
  Folder() { fs::create_directories(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder() { fs::remove_all(path); }
};

const std::vector<float> inputs(16 * 6, 0.25F);
const std::vector<std::int32_t> labels(16, 2);

std::string bytes_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>{in}, {}};
}

/// The file that one plan writes gives another plan the same bits, and is written again as it was.
template <class To> void goes_on_under(const fs::path& path, std::uint64_t hash) {
  Trained<To> trainer{{}, Seed{9}};
  CHECK(trainer.parameter_hash() != hash);
  trainer.load(path);
  for (int replica = 0; replica < trainer.replicas(); ++replica) CHECK(trainer.parameter_hash(replica) == hash);
  const fs::path again = path.string() + "2";
  trainer.save(again);
  CHECK(bytes_of(again) == bytes_of(path));
}

/// Has the parameters of a trainer, until the second of them is asked for: that it throws, or gives with one element less.
struct Unwell {
  Trained<Single>& whole;
  bool throws;
  int asked = 0;
  [[nodiscard]] std::vector<std::string> parameter_names() const { return whole.parameter_names(); }
  [[nodiscard]] const Shape& parameter_shape(const std::string& name) const { return whole.parameter_shape(name); }
  [[nodiscard]] std::vector<float> parameter(const std::string& name) {
    std::vector<float> values = whole.parameter(name);
    if (++asked == 2 && throws) throw std::runtime_error("the network is gone");
    if (asked == 2) values.pop_back();
    return values;
  }
};
/// Interrupts a step after rank 1 has stepped its first parameters.
struct Interrupts : Observer {
  void finished(const Observation& seen) override {
    if (seen.rank == Rank{1} && seen.entry < 0 && seen.program->instructions[seen.instruction].op == ListOp::step)
      throw std::runtime_error("the disk is on fire");
  }
};
template <class Action> std::string said(Action action) {
  try {
    action();
  } catch (const std::exception& problem) {
    return problem.what();
  }
  return "nothing";
}

/// The ranks of a plan, of which only its Programs are given.
struct Held {
  using P = Of<Single>;
  LocalRanks<CpuThreads::Session> ranks{P::training,
                                        P::evaluation,
                                        P::Request::graph,
                                        P::Request::target_features,
                                        kernel_table<Model, CrossEntropy, Adam, EigenCompute>(),
                                        transport_needs(P::training, P::evaluation),
                                        std::chrono::seconds{60}};
  Held() { ranks.make(Seed{4}); }
};

struct Beside {};

}  // namespace

/// Writes nothing. At every tensor something else is done.
template <> class heddle::io_room::FloatTensorWriter<Beside> {
 public:
  using Told = FloatTensorWriter<void>::Told;
  FloatTensorWriter(const std::string&, const std::vector<Told>&) {}
  static void append(std::span<const float>) { meanwhile(); }
  static void commit() {}
  static inline std::function<void()> meanwhile;
};

TEST_CASE("a source that throws or gives too little in the middle changes nothing, and the trainer goes on") {
  Trained<Single> whole{{}, Seed{1}};
  Trained<DataParallel<2>> trainer{{}, Seed{9}};
  const std::uint64_t before = trainer.parameter_hash();
  Unwell throws{whole, true}, gives_less{whole, false};
  CHECK(said([&] { trainer.load(throws); }) == "the network is gone");
  CHECK(trainer.parameter_hash() == before);
  CHECK(said([&] { trainer.load(gives_less); }) == "[heddle.R05] parameter 'first.bias' has 8 elements but is given 7. Fix: give as many.");
  for (int replica = 0; replica < 2; ++replica) CHECK(trainer.parameter_hash(replica) == before);
  CHECK(trainer.step(examples(inputs, labels, 6)).step == 1);
  trainer.load(throws);  // it is well now
  CHECK(trainer.parameter_hash() == whole.parameter_hash());
}

TEST_CASE("what was interrupted between ranks is not saved, not loaded and loads nothing, but can be looked at") {
  const Folder folder;
  const std::string good = folder.path / "good", path = folder.path / "x";
  Trained<Sharded<2>> trainer{{}, Seed{1}}, other{{}, Seed{2}};
  trainer.save(good);
  const std::string before = bytes_of(good);
  const std::uint64_t of_other = other.parameter_hash();
  Interrupts observer;
  trainer.observe(&observer);
  CHECK_FALSE(trainer.interrupted());
  CHECK(said([&] { trainer.step(examples(inputs, labels, 6)); }).find("[heddle.R01] rank 1 was lost") == 0);
  trainer.observe(nullptr);
  CHECK(trainer.interrupted());
  const std::string wanted =
      "[heddle.R04] step 1 was interrupted after some ranks had changed their parameters, so they no longer agree. Fix: make a new trainer and load "
      "the parameters of the last good step.";
  CHECK(said([&] { trainer.save(path); }) == wanted);
  CHECK(said([&] { trainer.save(good); }) == wanted);
  CHECK_FALSE(fs::exists(path));
  CHECK(bytes_of(good) == before);
  CHECK(said([&] { trainer.load(good); }) == wanted);  // the states of its optimizer are of no step either
  CHECK(said([&] { trainer.set_parameter("first.bias", std::vector<float>(8)); }) == wanted);
  CHECK(
      said([&] { other.load(trainer); }) ==
      "[heddle.R04] a call of the trainer that load() is given was interrupted, so its parameters are those of no step. Fix: load those of the last "
      "good step.");
  CHECK(other.parameter_hash() == of_other);
  CHECK(trainer.parameter("first.bias").size() == 8);
  other.load(good);
  CHECK(other.step(examples(inputs, labels, 6)).step == 1);
  CHECK(std::distance(fs::directory_iterator{folder.path}, fs::directory_iterator{}) == 1);  // nothing was begun beside it
}

TEST_CASE("in a callback its own thread reads and no other does: neither saves, loads from the trainer, nor replaces the callback") {
  const Folder folder;
  Trained<DataParallel<2>> trainer{{}, Seed{1}};
  Trained<Single> other{{}, Seed{9}};
  const std::uint64_t of_other = other.parameter_hash();
  int refused = 0;
  trainer.on_step([&](const StepResult&) {
    const auto elsewhere = [&](const char* call, auto action) {
      std::string words;
      std::thread second{[&] { words = said(action); }};
      second.join();
      INFO(words);
      CHECK(words.find(std::string{"[heddle.R11] "} + call + " was called while another call of the same trainer is under way") == 0);
      ++refused;
    };
    elsewhere("save()", [&] { trainer.save(folder.path / "torn"); });
    elsewhere("parameter()", [&] { (void)trainer.parameter("first.bias"); });
    elsewhere("gradient()", [&] { (void)trainer.gradient("first.bias"); });
    elsewhere("parameter_hash()", [&] { (void)trainer.parameter_hash(); });
    elsewhere("load() of the parameters of a trainer", [&] { other.load(trainer); });
    elsewhere("on_step()", [&] { trainer.on_step({}); });
    trainer.save(folder.path / "whole");
  });
  trainer.step(examples(inputs, labels, 6));
  CHECK(refused == 6);
  CHECK_FALSE(fs::exists(folder.path / "torn"));
  CHECK(other.parameter_hash() == of_other);
  other.load(folder.path / "whole");
  CHECK(other.parameter_hash() == trainer.parameter_hash());
}

TEST_CASE("no call begins in the middle of a save, in no thread, and the trainer goes on after it") {
  Held held;
  int began = 0, refused = 0;
  FloatTensorWriter<Beside>::meanwhile = [&] {
    const auto step = [&] {
      const auto turn = held.ranks.begin("step()");
      ++began;
    };
    refused += said(step).find("[heddle.R11] step() was called") == 0;
    std::thread second{[&] { refused += said(step).find("[heddle.R11] step() was called") == 0; }};
    second.join();
  };
  save_parameters<CpuThreads::Session, Beside>(held.ranks, "nowhere");
  CHECK(refused == 2 * 4);  // at each of 4 tensors
  CHECK(began == 0);
  CHECK_NOTHROW((void)held.ranks.begin("step()"));
}

TEST_CASE("while a reading lives its trainer can be saved, loaded from and looked at, and makes no step") {
  const Folder folder;
  Trained<DataParallel<2>> trainer{{}, Seed{1}};
  Trained<Single> other{{}, Seed{9}};
  {
    const auto reading = trainer.reading();
    CHECK(said([&] { trainer.step(examples(inputs, labels, 6)); }).find("[heddle.R11] step() was called") == 0);
    CHECK(said([&] { (void)trainer.accuracy(examples(inputs, labels, 6)); }).find("[heddle.R11] accuracy() was called") == 0);
    CHECK(said([&] { trainer.load(other); }).find("[heddle.R11] load() was called") == 0);
    std::thread second{[&] { trainer.save(folder.path / "x"); }};
    second.join();
    other.load(trainer);
    CHECK(other.parameter_hash() == trainer.parameter_hash());
  }
  trainer.load(trainer);  // under its own turn
  CHECK(trainer.step(examples(inputs, labels, 6)).step == 1);
}

TEST_CASE("what one plan saves another loads, to the bit, and a runner too; the file is that of a TensorFile") {
  const Folder folder;
  const fs::path path = folder.path / "model.safetensors";
  Trained<Sharded<2>> trainer{{}, Seed{1}};
  trainer.step(examples(inputs, labels, 6));
  trainer.save(path);
  TensorFile file;
  for (const std::string& name : trainer.parameter_names()) file.put<float>(name, sizes_of(trainer.parameter_shape(name)), trainer.parameter(name));
  CHECK(bytes_of(path) == file.serialise());
  goes_on_under<Sharded<2>>(path, trainer.parameter_hash());
  goes_on_under<Pipeline<Balanced<2>>>(path, trainer.parameter_hash());
  goes_on_under<TensorParallel<2>>(path, trainer.parameter_hash());
  Runner<Inference<Model, Batch<16>, Single>, CpuThreads> runner;
  runner.load(path.string());
  CHECK(runner.parameter("last.weight") == trainer.parameter("last.weight"));
  Trained<TensorParallel<2>> from_file{{}, Seed{4}}, from_runner{{}, Seed{5}};
  from_file.load(file);
  from_runner.load(runner);
  CHECK(from_file.parameter_hash() == trainer.parameter_hash());
  CHECK(from_runner.parameter_hash() == trainer.parameter_hash());
}

TEST_CASE("a path is a string, a view, a literal or a path; what has parameters is a source, and nothing else is") {
  using Any = Trained<TensorParallel<2>>;
  static_assert(is_path<std::string> && is_path<std::string_view> && is_path<const char*> && is_path<char[2]> && is_path<fs::path>);
  static_assert(!is_path<int> && !is_path<std::nullptr_t> && !is_path<std::wstring> && !is_path<TensorFile>);
  static_assert(is_parameter_source<Any> && is_parameter_source<const TensorFile> && is_parameter_source<const std::string_view>);
  static_assert(!is_parameter_source<const Any> && !is_parameter_source<int> && !is_parameter_source<std::vector<float>> &&
                !is_parameter_source<Examples<float>>);
  const Folder folder;
  const std::string path = folder.path / "x";
  Any trainer{{}, Seed{1}}, other{{}, Seed{2}};
  trainer.save(std::string_view{path});
  other.load(path.c_str());
  CHECK(other.parameter_hash() == trainer.parameter_hash());
  CHECK(TensorFile::read(std::string_view{path}).serialise() == bytes_of(path));
  const char* unset = nullptr;
  const std::optional<Error> error = error_of([&] { other.load(unset); });
  CHECK((error && std::string{error->what()} == "[heddle.D01] no path was given, but a null pointer. Fix: give the path of a file."));
  const std::optional<Error> of_save = error_of([&] { trainer.save(unset); });
  CHECK((of_save && std::string{of_save->what()} == "[heddle.D20] no path was given, but a null pointer. Fix: give the path of a file."));
}

TEST_CASE("a file that is damaged or of another model is refused, and nothing is changed") {
  const Folder folder;
  const std::string path = folder.path / "x";
  Trained<TensorParallel<2>> trainer{{}, Seed{1}};
  const std::uint64_t before = trainer.parameter_hash();
  const auto refusal = [&](const std::string& at) -> std::string {
    const std::optional<Error> error = error_of([&] { trainer.load(at); });
    CHECK(trainer.parameter_hash() == before);
    return error ? error->what() : "loaded";
  };
  trainer.save(path);
  const std::string whole = bytes_of(path);
  for (const std::size_t length : {std::size_t{0}, std::size_t{7}, std::size_t{40}, whole.size() - 1}) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, length);
    CHECK(refusal(path).find("Fix: ") != std::string::npos);
  }
  CHECK(refusal(folder.path).find("[heddle.D01] '" + folder.path.string() + "' cannot be read: it is a folder") == 0);
  CHECK(refusal(folder.path / "none").find("[heddle.D01]") == 0);
  TensorFile file;
  file.put<float>("first.wieght", {8, 6}, std::vector<float>(48));
  file.put<float>("first.bias", {6}, std::vector<float>(6));
  file.put<std::int32_t>("last.bias", {4}, std::vector<std::int32_t>(4));
  file.write(path);
  CHECK(refusal(path) == "[heddle.D16] the tensors of '" + path +
                             "' are not those of Model: 'first.bias' has shape [6], not [8]; 'last.bias' is of I32, not F32; 'first.weight' is "
                             "missing; 'last.weight' is missing; 'first.wieght' is not in the model; nearest: 'first.weight'. Fix: load a file of "
                             "the same model, or set "
                             "single tensors with set_parameter.");
  trainer.save(path);
  CHECK(refusal(path) == "loaded");
}

TEST_CASE("a file that cannot be written is refused, and the one before it stays") {
  const Folder folder;
  Trained<TensorParallel<2>> trainer{{}, Seed{1}};
  const auto refusal = [&](const std::string& at) -> std::string {
    const std::optional<Error> error = error_of([&] { trainer.save(at); });
    return error ? error->what() : "saved";
  };
  CHECK(refusal(folder.path).find("[heddle.D20] '" + folder.path.string() + "' cannot be written: there is a folder of that name") == 0);
  CHECK(refusal(folder.path / "none" / "x").find("cannot be written: No such file or directory") != std::string::npos);
  CHECK(refusal("").find("[heddle.D20]") == 0);
  CHECK(refusal("/sys/heddle").find("[heddle.D20] '/sys/heddle' cannot be written: ") == 0);  // not even root makes a file there
  if (::geteuid() == 0) return;                                                               // root writes into any folder of a disk
  const std::string path = folder.path / "x";
  CHECK(refusal(path) == "saved");
  const std::string before = bytes_of(path);
  fs::permissions(folder.path, fs::perms::owner_read | fs::perms::owner_exec);
  CHECK(refusal(path).find("Permission denied") != std::string::npos);
  fs::permissions(folder.path, fs::perms::owner_all);
  CHECK(bytes_of(path) == before);
}

#if !defined(HEDDLE_SANITIZED)  // which takes memory of its own
TEST_CASE("where the system gives no memory for a tensor, save and load say so, the file before stays and the trainer goes on") {
  struct Wide : Sequential<Linear<6, 1>, Linear<1, 1 << 22>, Linear<1 << 22, 4>> {};
  using Much = Trainer<Plan<Wide, CrossEntropy, SGD, Batch<16>, Single>, CpuThreads>;
  const Folder folder;
  const fs::path path = folder.path / "wide.safetensors";
  Much trainer{SGD::Options{}, Seed{1}};
  Much other{SGD::Options{}, Seed{2}};
  trainer.save(path);
  const std::string before = bytes_of(path).substr(0, 1 << 12);
  const std::uint64_t hash = trainer.parameter_hash();
  rlimit usual{};
  getrlimit(RLIMIT_AS, &usual);
  std::uint64_t pages = 0;
  std::ifstream{"/proc/self/statm"} >> pages;
  const rlimit low{(pages + 256) * 4096, usual.rlim_max};
  REQUIRE(setrlimit(RLIMIT_AS, &low) == 0);
  const std::optional<Error> saving = error_of([&] { trainer.save(path); });
  const std::optional<Error> loading = error_of([&] { trainer.load(other); });
  const std::optional<Error> reading = error_of([&] { trainer.load(path); });
  setrlimit(RLIMIT_AS, &usual);
  for (const auto& [error, code] : {std::pair{saving, Code{'D', 14}}, std::pair{loading, Code{'R', 14}}, std::pair{reading, Code{'D', 14}}}) {
    REQUIRE(error.has_value());
    CAPTURE(error->what());
    CHECK(error->code() == code);
  }
  CHECK(bytes_of(path).substr(0, 1 << 12) == before);
  CHECK(trainer.parameter_hash() == hash);
  trainer.load(other);
  CHECK(trainer.parameter_hash() == other.parameter_hash());
}
#endif

TEST_CASE("a callback may save what it sees, and loads nothing") {
  const Folder folder;
  Trained<TensorParallel<2>> trainer{{}, Seed{1}};
  std::string said;
  trainer.on_step([&](const StepResult&) {
    trainer.save(folder.path / "x");
    const std::optional<Error> error = error_of([&] { trainer.load(folder.path / "x"); });
    said = error ? error->what() : "loaded";
  });
  trainer.step(examples(inputs, labels, 6));
  CHECK(said.find("[heddle.R11] load() was called while another call") == 0);
  Trained<TensorParallel<2>> other{{}, Seed{2}};
  other.load(folder.path / "x");
  CHECK(other.parameter_hash() == trainer.parameter_hash());
}
