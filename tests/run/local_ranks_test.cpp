// SPDX-License-Identifier: MIT
#include "heddle/run/local_ranks.hpp"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "heddle/backend/cpu_threads.hpp"
#include "heddle/run/parameter_file.hpp"

using namespace heddle;

namespace {

struct Model : Sequential<Named<"first", Linear<3, 4>>, Tanh, Named<"second", Linear<4, 2>>> {};
template <class... Policies> using Of = Plan<Model, CrossEntropy, SGD, Batch<8, KeepLast>, Policies...>;
using Ranks = LocalRanks<CpuThreads::Session>;

/// The ranks of a plan, of which only its Programs are given.
struct Held {
  Ranks ranks;
  template <class ThePlan>
  explicit Held(ThePlan)
      : ranks{ThePlan::training,
              ThePlan::evaluation,
              ThePlan::Request::graph,
              ThePlan::Request::target_features,
              kernel_table<Model, CrossEntropy, SGD, EigenCompute>(),
              transport_needs(ThePlan::training, ThePlan::evaluation),
              std::chrono::seconds{60}} {
    ranks.make(Seed{4});
  }
};

const std::vector<float> inputs{0.1F, -2, 3, 4, 0.5F, 6, -7, 8, 0.9F};

}  // namespace

TEST_CASE("ranks of plans of any type are ranks of one type, and give what their trainer gives") {
  Held one{Of<Single>{}}, four{Of<Hybrid<Pipeline<Balanced<2>>, DataParallel<2>>>{}};
  Trainer<Of<Single>, CpuThreads> trainer{{}, Seed{4}};
  CHECK(one.ranks.predict<std::int32_t>(inputs) == trainer.predict(inputs));
  CHECK(four.ranks.predict<std::int32_t>(inputs) == trainer.predict(inputs));
  CHECK(four.ranks.resting("a test")->hash(1) == trainer.parameter_hash());
  CHECK((four.ranks.local(Rank{3}) && four.ranks.executor(Rank{3}).role() == 1));
}

TEST_CASE("a rank that throws ends the call with its words, and the ranks go on as long as none had changed its parameters") {
  struct Throwing : Observer {
    bool armed = true;
    void started(const Observation& seen) override {
      if (armed && seen.rank.value == 1) throw std::runtime_error("the disk is gone");
    }
  } throwing;
  Held held{Of<DataParallel<2>>{}};
  Ranks& ranks = held.ranks;
  const std::vector<float> sound = ranks.predict<std::int32_t>(inputs);
  ranks.observe(&throwing);
  std::string said;
  try {
    (void)ranks.predict<std::int32_t>(inputs);
  } catch (const RankLost& lost) {
    said = lost.what();
  }
  CHECK(said.find("rank 1") != std::string::npos);
  CHECK(said.find(": the observer threw: the disk is gone. Fix: look there for what it says") != std::string::npos);
  REQUIRE(ranks.failures().size() == 2);
  CHECK(ranks.failures()[1] == "the disk is gone");
  throwing.armed = false;
  CHECK(ranks.predict<std::int32_t>(inputs) == sound);
}

TEST_CASE("a call inside another one is refused, and one that writes has a turn of its own") {
  Held held{Of<Single>{}};
  const auto turn = held.ranks.begin("step()");
  const auto refused = [](auto call) {
    try {
      call();
    } catch (const Error& error) {
      return error.code() == Code{'R', 11};
    }
    return false;
  };
  CHECK(refused([&] { (void)held.ranks.predict<std::int32_t>(inputs); }));
  CHECK(refused([&] { held.ranks.write("set_parameter()", "second.bias", std::vector<float>(2)); }));
  CHECK(held.ranks.resting("parameter()")->parameter(held.ranks.tensors().find("second.bias"), 0).size() == 2);
}

TEST_CASE("what was interrupted while parameters were set says so, and neither runs nor sets again; agreeing changes nothing") {
  Held held{Of<DataParallel<2>>{}};
  const auto said = [](auto call) -> std::string {
    try {
      call();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "nothing";
  };
  const auto fails = [](NamedTensors<CpuThreads::Session>&) { throw std::runtime_error("the power is gone"); };
  const auto passes = [](NamedTensors<CpuThreads::Session>&) {};
  CHECK(said([&] { held.ranks.change("load()", fails, passes); }) == "the power is gone");
  CHECK_FALSE(held.ranks.interrupted());
  CHECK(said([&] { held.ranks.write("set_parameter()", "second.bias", std::vector<float>(3)); }).find("[heddle.R05]") == 0);
  CHECK_FALSE(held.ranks.interrupted());
  const auto saves_beside = [&](NamedTensors<CpuThreads::Session>&) {
    std::thread second{[&] { CHECK(said([&] { save_parameters(held.ranks, "none/of/this"); }).find("[heddle.R11] save() was called while") == 0); }};
    second.join();
    CHECK_FALSE(held.ranks.interrupted());  // nothing has failed
  };
  CHECK(said([&] { held.ranks.change("load()", saves_beside, saves_beside); }) == "nothing");
  CHECK(said([&] { held.ranks.change("load()", passes, fails); }) == "the power is gone");
  CHECK(held.ranks.interrupted());
  const std::string wanted =
      "[heddle.R04] a call that sets parameters was interrupted after it had set some of them, so they are of two origins. Fix: make a new trainer "
      "and "
      "load the parameters of the last good step.";
  CHECK(said([&] { held.ranks.change("load()", passes, passes); }) == wanted);
  CHECK(said([&] { held.ranks.write("set_parameter()", "second.bias", std::vector<float>(2)); }) == wanted);
  CHECK(said([&] { (void)held.ranks.predict<std::int32_t>(inputs); }) == wanted);
  CHECK(said([&] { save_parameters(held.ranks, "none/of/this"); }) == wanted);
}
