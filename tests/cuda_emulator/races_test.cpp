// SPDX-License-Identifier: MIT
// With the thread sanitizer a race is a sentence with two lines of kernels: missing barriers, events and edges of a graph. Right programs have none.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "compute/cuda/own_kernels.hpp"
#include "cuda_emulator/one_card.hpp"

namespace {
using namespace cuda_emulator;
using namespace cuda_emulator::tests;

/// x[i] = x[i] + by.
struct Raised {
  static constexpr const char* name = "Raised";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, float* x, float by) const { x[b.thread()] += by; }
};
/// Each thread writes and reads what its neighbour has written.
struct Neighbours {
  static constexpr const char* name = "Neighbours";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, float* x, bool meets, bool meets_again) const {
    float* const shared = b.template shared<float>(b.threads());
    for (int round = 0; round < 2; ++round) {
      shared[b.thread()] = x[b.thread()];
      if (meets) b.sync();
      x[b.thread()] = shared[(b.thread() + 1) % b.threads()];
      if (meets_again) b.sync();
    }
  }
};
/// Blocks that write to one number.
struct OneNumber {
  static constexpr const char* name = "OneNumber";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, float* x, bool atomic) const {
    if (atomic)
      b.atomic_add(x, 1);
    else
      *x += 1;
  }
};
void neighbours(bool meets, bool meets_again) {
  reset({});
  const OneCard card;
  const auto x = card.up(64, 1.0F);
  launch<Neighbours>(card.stream(), {1, 64, 64 * sizeof(float)}, x.get(), meets, meets_again);
  static_cast<void>(card.down(x, 64));
}
void one_number(bool atomic) {
  reset({});
  const OneCard card;
  const auto x = card.up(1, 0.0F);
  launch<OneNumber>(card.stream(), {2, 32}, x.get(), atomic);
  CHECK((!atomic || card.down(x, 1)[0] == 64.0F));
  wait_for(card.stream());
}
void two_streams(bool with_event, bool in_graph) {
  reset({});
  const OneCard card;
  const OneCard side;
  const auto x = card.up(32, 1.0F);
  wait_for(card.stream());
  const Event fork = make_event();
  const Event between = make_event();
  const Event join = make_event();
  const auto work = [&] {
    put_after(card.stream(), fork, side.stream());
    launch<Raised>(card.stream(), {1, 32}, x.get(), 1.0F);
    if (with_event) put_after(card.stream(), between, side.stream());
    launch<Raised>(side.stream(), {1, 32}, x.get(), 2.0F);
    put_after(side.stream(), join, card.stream());
  };
  if (in_graph) {
    const RunnableGraph graph = captured(card.stream(), work);
    for (int replay = 0; replay < 2; ++replay) check_cuda(cudaGraphLaunch(graph.get(), card.stream()), "cudaGraphLaunch");
  } else {
    work();
  }
  static_cast<void>(card.down(x, 32));
}
/// Programs by name; those whose name begins with "no" lack something.
void run_program(const std::string& name) {
  if (name == "barriers") neighbours(true, true);
  if (name == "no barrier before a read") neighbours(false, true);
  if (name == "no barrier before it is written again") neighbours(true, false);
  if (name == "atomic") one_number(true);
  if (name == "no atomic") one_number(false);
  if (name == "event") two_streams(true, false);
  if (name == "no event") two_streams(false, false);
  if (name == "edge") two_streams(true, true);
  if (name == "no edge") two_streams(false, true);
}
constexpr const char* chosen_program = "HEDDLE_RACES_TEST_PROGRAM";
TEST_CASE("races_test runs the program that its environment names") {
  if (const char* const name = std::getenv(chosen_program)) run_program(name);
}
/// Whether the sanitizer speaks of lines of this file. A process that was only forked keeps no order of threads for the sanitizer.
bool races(const std::string& name) {
  const std::string text = ended_by([&] {
                             setenv(chosen_program, name.c_str(), 1);
                             execl("/proc/self/exe", "races_test", "--test-case=races_test runs the program that its environment names", nullptr);
                           }).second;
  return text.find("data race") != std::string::npos && text.find("races_test.cpp:") != std::string::npos;
}

TEST_CASE("right programs have no race") {
  for (const char* const name : {"barriers", "atomic", "event", "edge"}) {
    run_program(name);
    check_right();
  }
}
TEST_CASE("the thread sanitizer names the lines of a missing barrier, event, edge and atomic") {
  if (!tsan::on) return;
  for (const char* const name : {"barriers", "atomic", "event", "edge"}) CHECK_MESSAGE(!races(name), std::string(name));
  for (const char* const name : {"no barrier before a read", "no barrier before it is written again", "no atomic", "no event", "no edge"})
    CHECK_MESSAGE(races(name), std::string(name));
}
}  // namespace
