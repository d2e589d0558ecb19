// SPDX-License-Identifier: MIT
#include "heddle/run/named_tensors.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "heddle/backend/cpu.hpp"
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/io/safetensors.hpp"
#include "heddle/run/runner.hpp"
#include "heddle/transport/solo.hpp"

using namespace heddle;

namespace {

struct Model : Sequential<Named<"first", Linear<3, 4>>, Named<"second", Linear<4, 2>>> {};
using Piped = Plan<Model, CrossEntropy, SGD, Batch<8>, Hybrid<Pipeline<Balanced<2>>, DataParallel<2>>>;

/// A process that has some of the ranks; what others share with it are sevens.
struct Process {
  using Endpoint = Solo::Endpoint;
  std::vector<int> here;
  std::vector<int> owners;
  void share(Rank owner, std::span<std::byte> bytes) {
    owners.push_back(owner.value);
    if (std::find(here.begin(), here.end(), owner.value) != here.end()) return;
    const float seven = 7;
    for (std::size_t i = 0; i < bytes.size(); i += sizeof seven) std::memcpy(&bytes[i], &seven, sizeof seven);
  }
};

struct Held {
  Process process;
  Solo transport{4};
  KernelTable kernels = kernel_table<Model, CrossEntropy, SGD, EigenCompute>();
  std::vector<std::unique_ptr<Executor<Solo::Endpoint>>> executors{4};
  NamedTensors<Process> tensors{Piped::training, Piped::Request::graph, process, executors};

  explicit Held(std::vector<int> here) {
    process.here = std::move(here);
    for (const int rank : process.here)
      executors[static_cast<std::size_t>(rank)] =
          std::make_unique<Executor<Solo::Endpoint>>(Piped::training, Piped::evaluation, kernels, Rank{rank}, transport.endpoint());
    tensors.initialize_all(Seed{1});
  }
  auto read(const char* name, int replica) { return tensors.parameter(tensors.find(name), replica); }
};

}  // namespace

TEST_CASE("a tensor is read from the rank that owns it, in every process") {
  Held all{{0, 1, 2, 3}}, first{{0}}, last{{3}};
  const auto weight = all.read("first.weight", 0);
  CHECK(weight.size() == 12);
  CHECK(all.read("first.weight", 1) == weight);
  CHECK(first.read("first.weight", 0) == weight);
  CHECK(first.read("second.bias", 1) == std::vector<float>(2, 7.0F));
  CHECK(last.read("first.weight", 0) == std::vector<float>(12, 7.0F));
  CHECK(last.read("second.bias", 1) == all.read("second.bias", 1));
  CHECK(last.process.owners == std::vector<int>{0, 3});  // the same in every process, or they would not meet
  for (Held* held : {&all, &first, &last}) CHECK(held->tensors.rank_of(1, 0) == Rank{1});
}

TEST_CASE("a parameter is written where it is held, and all parameters have one hash") {
  Held all{{0, 1, 2, 3}}, one{{2}};
  const std::uint64_t before = all.tensors.hash(0);
  CHECK(all.tensors.hash(1) == before);
  const std::vector<float> ones(12, 1.0F);
  for (Held* held : {&all, &one}) held->tensors.write(held->tensors.find("first.weight"), ones);
  CHECK(all.read("first.weight", 1) == ones);
  CHECK(one.read("first.weight", 1) == ones);
  CHECK(all.tensors.hash(1) != before);
}

TEST_CASE("names, counts and replicas that do not exist are refused in every process") {
  Held one{{2}};
  CHECK(one.tensors.names() == std::vector<std::string>{"first.weight", "first.bias", "second.weight", "second.bias"});
  CHECK_THROWS_WITH_AS((void)one.tensors.find("third"), doctest::Contains("[heddle.R05] Model has no parameter 'third'"), Error);
  const std::vector<float> two(2);
  CHECK_THROWS_AS(one.tensors.write(0, two), Error);
  CHECK_THROWS_WITH_AS((void)one.read("first.bias", 2), doctest::Contains("replica 2 of 2 does not exist"), Error);
  CHECK(one.process.owners.empty());
}

TEST_CASE("a tied parameter has the name of its owner, is read under both names, and is written wherever it is kept") {
  struct Tying : Sequential<Named<"wte", Linear<4, 4>>, Named<"middle", Linear<4, 4>>, Tied<"head", Linear<4, 4>, To<"wte">>> {};
  using Back = Plan<Tying, CrossEntropy, SGD, Batch<8>, Pipeline<Balanced<3>>>;
  Trainer<Back, CpuThreads> trainer{{}, Seed{3}};
  CHECK(trainer.parameter_names() == std::vector<std::string>{"wte.weight", "wte.bias", "middle.weight", "middle.bias"});
  CHECK(trainer.parameter("head.weight") == trainer.parameter("wte.weight"));
  const auto copy = [&](int rank) {  // of the weight of the first and the last stage
    const HeldPart part = trainer.executor(Rank{rank}).held_parameter(rank == 0 ? 0 : 4);
    return std::vector<float>(part.values, part.values + part.elements);
  };
  CHECK(copy(2) == trainer.parameter("wte.weight"));
  const std::vector<float> halves(16, 0.5F);
  const std::vector<float> ones(16, 1.0F);
  trainer.set_parameter("head.weight", halves);
  CHECK(copy(0) == halves);
  CHECK(copy(2) == halves);
  trainer.set_parameter("wte.weight", ones);
  CHECK(copy(0) == ones);
  CHECK(copy(2) == ones);
  Runner<Inference<Tying, Batch<8>, Pipeline<Balanced<2>>>, CpuThreads> runner;
  runner.load(trainer);
  CHECK(runner.parameter("head.weight") == ones);
  Trainer<Plan<Tying, CrossEntropy, SGD, Batch<8>, Single>, CpuThreads> alone{{}, Seed{3}};
  CHECK(alone.parameter("head.bias") == trainer.parameter("head.bias"));  // both start as the owner does
  CHECK(alone.parameter_hash() != trainer.parameter_hash());
  alone.set_parameter("wte.weight", ones);
  CHECK(alone.parameter_hash() == trainer.parameter_hash());
  TensorFile file;  // as PyTorch's state_dict has it: under both names
  for (const char* name : {"head.weight", "wte.weight", "middle.weight"}) file.put<float>(name, {4, 4}, halves);
  for (const char* name : {"head.bias", "wte.bias", "middle.bias"}) file.put<float>(name, {4}, std::vector<float>(4, 2.0F));
  trainer.load(file);
  CHECK(copy(2) == halves);
  TensorFile other;  // under the names of the tied layer alone
  for (const char* name : {"head.weight", "middle.weight"}) other.put<float>(name, {4, 4}, ones);
  for (const char* name : {"head.bias", "middle.bias"}) other.put<float>(name, {4}, std::vector<float>(4, 2.0F));
  trainer.load(other);
  CHECK(copy(0) == ones);
  CHECK(copy(2) == ones);
  std::vector<float> nearly = halves;
  nearly[15] = -nearly[15];
  file.put<float>("head.weight", {4, 4}, nearly);
  CHECK_THROWS_WITH_AS(
      trainer.load(file),
      doctest::Contains("[heddle.D16] the tensors are not those of Tying: 'head.weight' is tied to 'wte.weight', but holds other values. Fix:"),
      Error);
  CHECK(copy(2) == ones);
  CHECK_THROWS_WITH_AS((void)trainer.parameter("tail.weight"), doctest::Contains("[heddle.R05]"), Error);
}

TEST_CASE("a frozen parameter is read and written wherever it is, and has no gradient") {
  struct Tuned : Sequential<Frozen<Named<"first", Linear<3, 4>>>, Named<"second", Linear<4, 2>>> {};
  using Sliced = Plan<Tuned, CrossEntropy, SGD, Batch<8>, Sharded<2>>;
  Trainer<Sliced, CpuThreads> trainer{{}, Seed{3}};
  CHECK((trainer.parameter_names() == std::vector<std::string>{"first.weight", "first.bias", "second.weight", "second.bias"}));
  trainer.set_parameter("first.bias", std::vector<float>{1, 2, 3, 4});
  for (int replica = 0; replica < 2; ++replica) CHECK((trainer.parameter("first.bias", replica) == std::vector<float>{1, 2, 3, 4}));
  std::string words;
  try {
    (void)trainer.gradient("first.bias");
  } catch (const Error& error) {
    words = error.what();
  }
  CHECK(words == "[heddle.R05] parameter 'first.bias' is frozen, so it has no gradient. Fix: ask for one of a layer outside of Frozen.");
  CHECK(trainer.gradient("second.bias").size() == 2);
}
