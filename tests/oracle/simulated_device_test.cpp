// SPDX-License-Identifier: MIT
// The simulated device of examples/nd against closed forms, and what it refuses.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "../examples/nd/step.hpp"
#include "heddle/cost/presets.hpp"
#include "heddle/cost/simulate.hpp"
#include "heddle/heddle.hpp"

namespace {

// Eight blocks and 64 rows. A unit of compute is the forward of a block for 8 rows, a unit of data what 8 rows carry from block to block.
struct Block : heddle::Sequential<heddle::Linear<64, 64, heddle::NoBias>, heddle::Linear<64, 64, heddle::NoBias>> {};
struct Blocks : heddle::Sequential<heddle::Input<1>, heddle::Embedding<64, 64>, heddle::Repeat<8, Block>> {};
template <class Policy> double seconds_of_plan() {
  using Mine = heddle::Plan<Blocks, heddle::MeanSquaredError, heddle::SGD, heddle::Batch<64>, Policy>;
  return heddle::extending::simulate(Mine::training, heddle::extending::toy_machine(8 * 2 * 2 * 64 * 64, 8 * 64 * 4)).step.value;
}

nd::Run run_on(int devices, const std::function<void(nd::Device&)>& program, const nd::Machine& machine = {}) {
  return nd::run(machine, devices, program);
}

std::string refusal(int devices, const std::function<void(nd::Device&)>& program, const nd::Machine& machine = {}) {
  try {
    nd::run(machine, devices, program);
  } catch (const nd::Refused& refused) {
    return refused.what();
  }
  return "nothing was refused";
}
std::string option_refused(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  try {
    nd::read_options(static_cast<int>(arguments.size()), arguments.data());
  } catch (const nd::Refused& refused) {
    return refused.what();
  }
  return "nothing was refused";
}
std::vector<int> everyone(int devices) { return nd::Grid<1>{{devices}}.group(0, 0); }

/// One line of a drawn program: rank `to` receives what rank `from` sends, or rank `from` computes.
struct Drawn {
  enum { compute, send, start_send } kind;
  int from, to;
  double units;
};
/// In this order every line can be done, so devices that do theirs in it never wait for each other.
std::vector<Drawn> draw_lines(unsigned seed, int devices) {
  std::mt19937 draw(seed);
  std::vector<Drawn> lines;
  for (int i = 0; i < 60; ++i) {
    const int from = static_cast<int>(draw() % static_cast<unsigned>(devices)),
              step = 1 + static_cast<int>(draw() % static_cast<unsigned>(devices - 1));
    lines.push_back({i % 3 == 0        ? Drawn::compute
                     : draw() % 2 == 0 ? Drawn::send
                                       : Drawn::start_send,
                     from, (from + step) % devices, draw() % 9 / 2.0});
  }
  return lines;
}
/// The clocks after these lines, one line after another.
std::vector<double> clocks_of(const std::vector<Drawn>& lines, int devices, const nd::Machine& m) {
  const auto n = static_cast<std::size_t>(devices);
  std::vector<double> now(n), out(n), in(n), acknowledged(n);
  for (const auto& [kind, from, to, units] : lines) {
    const auto a = static_cast<std::size_t>(from), b = static_cast<std::size_t>(to);
    if (kind == Drawn::compute) {
      now[a] += units * m.compute;
      continue;
    }
    const double begins = std::max(now[a], out[a]);
    out[a] = begins + units * m.per_unit;
    in[b] = std::max(begins + m.latency, in[b]) + units * m.per_unit;
    now[b] = std::max(now[b], in[b]);
    acknowledged[a] = std::max(acknowledged[a], now[b] + m.acknowledgement);
    if (kind == Drawn::send) now[a] = std::max(now[a], acknowledged[a]);
  }
  for (std::size_t r = 0; r < n; ++r) now[r] = std::max(now[r], acknowledged[r]);
  return now;
}

/// All forwards, then all backwards in their reverse order: GPipe.
void gpipe(nd::Device& device, int micro_batches) {
  const int stage = device.rank(), last = device.devices() - 1;
  for (int m = 0; m < micro_batches; ++m) {
    if (stage > 0) device.receive(stage - 1);
    device.compute(1);
    if (stage < last) device.start_send(stage + 1, 1);
  }
  for (int m = 0; m < micro_batches; ++m) {
    if (stage < last) device.receive(stage + 1);
    device.compute(2);
    if (stage > 0) device.start_send(stage - 1, 1);
  }
}

}  // namespace

TEST_CASE("a message takes latency, units and acknowledgement for its sender, and no acknowledgement for its receiver") {
  const nd::Run run = run_on(2, [](nd::Device& device) {
    if (device.rank() == 0) {
      device.compute(3);
      device.send(1, 4);
      CHECK(device.now() == doctest::Approx(0.3 + 0.05 + 0.04 + 0.05).epsilon(1e-12));
    } else {
      device.receive(0);
      CHECK(device.now() == doctest::Approx(0.3 + 0.05 + 0.04).epsilon(1e-12));
    }
  });
  CHECK(run.makespan == doctest::Approx(0.44).epsilon(1e-12));
}

TEST_CASE("a sender waits for a late receiver, and units that come in while the receiver computes cost it nothing") {
  const nd::Run run = run_on(2, [](nd::Device& device) {
    if (device.rank() == 0) {
      device.send(1, 4);
    } else {
      device.compute(10);
      device.receive(0);
      CHECK(device.now() == doctest::Approx(1).epsilon(1e-12));
    }
  });
  CHECK(run.makespan == doctest::Approx(1.05).epsilon(1e-12));
}

TEST_CASE("messages that are started leave one after another, while the device computes; those of two devices come in one after another") {
  const nd::Run out = run_on(3, [](nd::Device& device) {
    if (device.rank() > 0) {
      device.receive(0);
      CHECK(device.now() == doctest::Approx(0.05 + 0.1 * device.rank()).epsilon(1e-12));
      return;
    }
    device.start_send(1, 10);
    device.start_send(2, 10);
    device.compute(2);
    CHECK(device.now() == doctest::Approx(0.2).epsilon(1e-12));
  });
  CHECK(out.makespan == doctest::Approx(0.05 + 0.2 + 0.05).epsilon(1e-12));
  run_on(3, [](nd::Device& device) {
    if (device.rank() > 0) return device.send(0, 10);
    device.receive(1);
    device.receive(2);
    CHECK(device.now() == doctest::Approx(0.05 + 0.2).epsilon(1e-12));
  });
}

TEST_CASE("a ring all-reduce takes 2 (N-1) (latency + units / N + acknowledgement), whatever the constants are") {
  for (int devices = 1; devices <= 9; ++devices)
    for (const nd::Machine& machine :
         {nd::Machine{}, nd::Machine{.latency = 0.7, .per_unit = 0.003, .acknowledgement = 0}, nd::Machine{.latency = 0, .per_unit = 2}}) {
      const nd::Run run = run_on(
          devices, [&](nd::Device& device) { nd::all_reduce(device, everyone(devices), 12); }, machine);
      const double chunk = machine.latency + machine.per_unit * 12 / devices + machine.acknowledgement;
      CHECK(run.makespan == doctest::Approx(2 * (devices - 1) * chunk).epsilon(1e-12));
      CHECK(nd::all_reduce_seconds(machine, devices, 12) == doctest::Approx(run.makespan).epsilon(1e-12));
    }
}

TEST_CASE("replicas by hand take as long as a plan of as many replicas on the same machine") {
  const auto by_hand = [](int devices) {
    const auto replica = [&](nd::Device& device) {
      device.compute(8.0 * 8 * (1 + 2) / devices);
      nd::all_reduce(device, everyone(devices), heddle::parameters<Blocks> / (8.0 * 64));
    };
    return run_on(devices, replica).makespan;
  };
  CHECK(seconds_of_plan<heddle::Single>() == doctest::Approx(by_hand(1)).epsilon(1e-12));
  CHECK(seconds_of_plan<heddle::DataParallel<2>>() == doctest::Approx(by_hand(2)).epsilon(1e-12));
  CHECK(seconds_of_plan<heddle::DataParallel<4>>() == doctest::Approx(by_hand(4)).epsilon(1e-12));
  CHECK(seconds_of_plan<heddle::DataParallel<16>>() == doctest::Approx(by_hand(16)).epsilon(1e-12));
}

TEST_CASE("stages whose messages take no time are idle (S-1)/(M+S-1) of a step") {
  const nd::Machine free{.latency = 0, .per_unit = 0, .acknowledgement = 0};
  for (const int stages : {1, 2, 4, 7})
    for (const int micro_batches : {1, 3, 8}) {
      const nd::Run run = run_on(
          stages, [&](nd::Device& device) { gpipe(device, micro_batches); }, free);
      const double busy = 3 * micro_batches * free.compute;
      CHECK(1 - busy / run.makespan == doctest::Approx(static_cast<double>(stages - 1) / (micro_batches + stages - 1)).epsilon(1e-12));
    }
}

TEST_CASE("messages between nodes take longer, those within a node do not") {
  const nd::Machine machine{.node = 2, .between = 10};
  const auto seconds = [&](int to) {
    const auto pair = [&](nd::Device& device) {
      if (device.rank() == 0) device.send(to, 4);
      if (device.rank() == to) device.receive(0);
    };
    return run_on(4, pair, machine).makespan;
  };
  CHECK(seconds(1) == doctest::Approx(0.14).epsilon(1e-12));
  CHECK(seconds(2) == doctest::Approx(1.4).epsilon(1e-12));
}

TEST_CASE("the log is the same in every run, by time and then by rank") {
  const auto logged = [] {
    std::string log;
    double before = 0;
    for (const nd::Event& event : run_on(5, [](nd::Device& device) { gpipe(device, 4); }).events) {
      log += nd::name_of(event.rank) + event.what + std::to_string(event.begin) + "\n";
      CHECK(event.begin >= before - 1e-9);
      before = event.begin;
    }
    return log;
  };
  const std::string first = logged();
  for (int i = 0; i < 20; ++i) CHECK(logged() == first);
}

TEST_CASE("values arrive in the order in which they were sent") {
  run_on(2, [](nd::Device& device) {
    for (int i = 0; i < 100; ++i)
      if (device.rank() == 0)
        device.start_send(1, 1, {i, 2 * i});
      else
        CHECK(device.receive(0) == nd::Values{i, 2 * i});
  });
}

TEST_CASE("threads end at the clocks of one walk through all lines, whatever is drawn") {
  for (unsigned seed = 0; seed < 150; ++seed) {
    const int devices = 2 + static_cast<int>(seed % 6);
    const std::vector<Drawn> lines = draw_lines(seed, devices);
    std::vector<double> clocks(static_cast<std::size_t>(devices));
    run_on(devices, [&](nd::Device& device) {
      for (const auto& [kind, from, to, units] : lines) {
        if (device.rank() == from && kind == Drawn::compute) device.compute(units);
        if (device.rank() == from && kind == Drawn::send) device.send(to, units);
        if (device.rank() == from && kind == Drawn::start_send) device.start_send(to, units);
        if (device.rank() == to && kind != Drawn::compute) device.receive(from);
      }
      device.finish_sends();
      clocks[static_cast<std::size_t>(device.rank())] = device.now();
    });
    const std::vector<double> walked = clocks_of(lines, devices, {});
    for (std::size_t r = 0; r < walked.size(); ++r) CHECK(clocks[r] == doctest::Approx(walked[r]).epsilon(1e-12));
  }
}

TEST_CASE("real pauses last as long as the clocks say") {
  const auto late = [](nd::Device& device) {
    if (device.rank() == 0) return device.send(1, 4);
    device.compute(5);
    device.receive(0);
  };
  const nd::Run run = run_on(2, late, {.pause = 0.1});
  CHECK(run.makespan == doctest::Approx(0.55).epsilon(1e-12));
  CHECK(run.passed >= 0.1 * run.makespan);
  CHECK(run_on(2, [](nd::Device& device) { device.compute(1e6); }).passed < 10);  // 100,000 s of virtual time
}

TEST_CASE("ranks of a grid: the last axis runs fastest") {
  const nd::Grid<3> grid{{2, 3, 4}};
  CHECK(grid.devices() == 24);
  CHECK(grid.coordinate(23, 0) == 1);
  CHECK(grid.coordinate(17, 1) == 1);
  CHECK(grid.group(17, 2) == std::vector<int>{16, 17, 18, 19});
  CHECK(grid.group(17, 1) == std::vector<int>{13, 17, 21});
  CHECK(grid.group(17, 0) == std::vector<int>{5, 17});
}

TEST_CASE("devices that all wait are told, with who waits for whom") {
  const auto round = [](nd::Device& device) { device.send((device.rank() + 1) % 3, 1); };
  CHECK(refusal(3, round) ==
        "3 of 3 devices wait and none goes on: rank 0 waits until rank 1 receives, rank 1 waits until rank 2 receives, rank 2 waits until rank 0 "
        "receives. "
        "Fix: let a device receive before it sends, or call send_and_receive(), and receive each message once.");
  const auto ended = [](nd::Device& device) {
    if (device.rank() == 1) device.receive(0);
  };
  CHECK(refusal(2, ended).find("1 of 2 devices wait and none goes on: rank 1 waits until rank 0 sends, which has ended. Fix: ") == 0);
  const auto forgotten = [](nd::Device& device) {
    if (device.rank() == 2) device.start_send(0, 1);
  };
  CHECK(refusal(3, forgotten).find("rank 2 waits until rank 0 receives, which has ended") != std::string::npos);
  for (int i = 0; i < 20; ++i) CHECK(refusal(3, round) == refusal(3, round));
}

TEST_CASE("what a device cannot do is one sentence, and comes before those who wait for it") {
  const auto first = [](auto does) { return [does](nd::Device& device) { device.rank() == 0 ? does(device) : void(device.receive(0)); }; };
  CHECK(refusal(2, first([](nd::Device& d) { d.compute(-1); })) == "rank 0 computes -1 units. Fix: give 0 to 1e9.");
  CHECK(refusal(2, first([](nd::Device& d) { d.compute(std::numeric_limits<double>::quiet_NaN()); })) ==
        "rank 0 computes nan units. Fix: give 0 to 1e9.");
  CHECK(refusal(2, first([](nd::Device& d) { d.send(1, -0.5); })) == "rank 0 sends -0.5 units. Fix: give 0 to 1e9.");
  CHECK(refusal(2, first([](nd::Device& d) { d.send(2, 1); })) == "rank 0 sends to rank 2, but the ranks are 0 to 1. Fix: name one of them.");
  CHECK(refusal(2, first([](nd::Device& d) { d.receive(-1); })) == "rank 0 receives from rank -1, but the ranks are 0 to 1. Fix: name one of them.");
  CHECK(refusal(2, first([](nd::Device& d) { d.send(0, 1); })) == "rank 0 sends to itself. Fix: keep the value, or name another rank.");
  CHECK(refusal(2, first([](nd::Device& d) { d.receive(0); })) == "rank 0 receives from itself. Fix: keep the value, or name another rank.");
  CHECK(refusal(0, [](nd::Device&) {}) == "0 devices. Fix: ask for 1 to 1024.");
  CHECK(refusal(1, [](nd::Device&) {}, {.latency = -1}) == "A machine whose latency is -1. Fix: give 0 to 1e6.");
}

TEST_CASE("options change the machine, and what is none is one sentence") {
  std::vector<std::string> words{"program", "--compute", "0.2", "--node", "4", "--real", "--scale", "0.5", "--log"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  const nd::Settings settings = nd::read_options(static_cast<int>(arguments.size()), arguments.data());
  CHECK(settings.machine.compute == 0.2);
  CHECK(settings.machine.node == 4);
  CHECK(settings.machine.pause == 0.5);
  CHECK(settings.virtual_time().pause == 0);
  CHECK(settings.log);
  CHECK(option_refused({"program", "--fast"}).find("There is no option --fast. Fix: ") == 0);
  CHECK(option_refused({"program", "--compute"}) == "--compute has no number behind it. Fix: write one, such as --compute 1.");
  CHECK(option_refused({"program", "--latency", "1s"}) == "--latency has no number behind it. Fix: write one, such as --latency 1.");
  CHECK(option_refused({"program", "--node", "1.5"}) == "A node of 1.5 devices. Fix: give 0 to 1024.");
}
