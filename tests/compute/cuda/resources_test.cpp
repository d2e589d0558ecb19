// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/resources.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "compute/cuda/on_card.hpp"
#include "compute/cuda/own_kernels.hpp"
#include "cuda_emulator/one_card.hpp"
#include "says.hpp"

using namespace heddle;
using namespace compute_room;
using cuda_emulator::alive;
using cuda_emulator::tests::OneCard;
using on_card::Card;
using tests::sentence;

namespace {

/// x = scale x + by.
struct Scaled {
  static constexpr const char* name = "Scaled";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, std::int64_t n, float scale, float by, float* x) const {
    const std::int64_t i = first_of_thread<1>(b);
    if (i < n) x[i] = scale * x[i] + by;
  }
};
void scale(cudaStream_t stream, const CardMemory<float>& x, float by, float and_add) {
  launch<Scaled>(stream, extents_of(8), 8, by, and_add, x.get());
}
std::vector<float> all(float x) { return std::vector<float>(8, x); }

}  // namespace

TEST_CASE("owners give back what they have, each in its way") {
  const Card emulated;
  {
    const CardMemory<float> memory = card_memory<float>(8, "a test");
    const PinnedMemory<double> pinned = pinned_memory<double>(8);
    CHECK((memory.get() != nullptr && pinned.get() != nullptr));
    pinned.get()[7] = 3;  // of the host
    CHECK(alive() == "2 allocations");
    const Stream stream = make_stream();
    const compute_room::Event event = make_event();
    const RunnableGraph graph = captured(stream.get(), [&] { scale(stream.get(), memory, 2, 0); });
    CHECK(alive() == "2 allocations, 1 events, 1 runnable graphs, 1 streams");
  }
  CHECK(alive() == "");
}

TEST_CASE("what is owned moves to the new owner; one that is given something else gives the old back in the end") {
  const Card emulated;
  CardMemory<float> first = card_memory<float>(8, "a test");
  float* const at = first.get();
  CardMemory<float> second = std::move(first);
  CHECK((first.get() == nullptr && second.get() == at));  // NOLINT: what is left of it
  second = card_memory<float>(16, "another");
  CHECK((second.get() != at && alive() == "1 allocations"));
  second = CardMemory<float>{};
  CHECK((second.get() == nullptr && alive() == ""));
  Stream stream;
  CHECK(stream.get() == nullptr);
  CHECK(cudaStreamCreateWithFlags(stream.slot(), cudaStreamNonBlocking) == cudaSuccess);
  CHECK((stream.get() != nullptr && alive() == "1 streams"));
}

TEST_CASE("a card without room is R14 with the bytes that were asked for, those that are free, and what they were for") {
  const Card emulated({.device_bytes = 1'000'000});
  const auto held = card_memory<float>(50'000, "a test");
  const std::string said = sentence([] { static_cast<void>(card_memory<float>(250'000, "the arena of rank 3")); });
  CHECK(said.find("[heddle.R14] the card does not give the 1,000,000 bytes of the arena of rank 3: ") == 0);
  CHECK(said.find(" of 1,000,000 bytes are free. Fix: ") != std::string::npos);
  std::size_t free = 0, total = 0;
  CHECK(cudaMemGetInfo(&free, &total) == cudaSuccess);
  CHECK(said.find(": " + grouped_digits(free) + " of ") != std::string::npos);
  CHECK(alive() == "1 allocations");
  CHECK_NOTHROW(static_cast<void>(card_memory<float>(50'000, "what it has room for")));
  // A card that does not even say what is free: the second call from here.
  cuda_emulator::fail_call(2);
  CHECK(sentence([] { static_cast<void>(card_memory<float>(250'000, "it")); }).find("of it: the card does not say how much is free. Fix: ") !=
        std::string::npos);
}

TEST_CASE("what the runtime refuses is R36, or R14 where memory is lacking, with the name of the call, and nothing is left behind") {
  const Card emulated;
  const auto said = [](auto make) {
    cuda_emulator::fail_call(1);
    return sentence([&] { static_cast<void>(make()); });
  };
  CHECK(said([] { return pinned_memory<float>(8); }).find("[heddle.R14] cudaMallocHost failed with ") == 0);
  CHECK(said([] { return make_stream(); }).find("[heddle.R14] cudaStreamCreateWithFlags failed with ") == 0);
  CHECK(said([] { return make_event(); }).find("[heddle.R14] cudaEventCreateWithFlags failed with ") == 0);
  CHECK(said([] { return card_memory<float>(8, "a test"); }).find("[heddle.R14] ") == 0);
  CHECK(cudaPeekAtLastError() == cudaSuccess);  // the sentence has said it
  CHECK(alive() == "");
}

TEST_CASE("what is put after an event begins when all before it is done") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Card emulated(seed);
    const OneCard card;
    const Stream later = make_stream();
    const compute_room::Event between = make_event(), back = make_event();
    const auto x = card.up(8, 1.0F);
    for (int i = 0; i < 5; ++i) scale(card.stream(), x, 1, 1);
    put_after(card.stream(), between, later.get());
    scale(later.get(), x, 10, 0);
    put_after(later.get(), back, card.stream());
    scale(card.stream(), x, 1, -1);
    CHECK(card.down(x, 8) == all(59));
  }
}

TEST_CASE("what was captured has not run; each replay runs it") {
  const Card emulated;
  const OneCard card;
  const auto x = card.up(8, 1.0F);
  const RunnableGraph graph = captured(card.stream(), [&] {
    scale(card.stream(), x, 2, 0);
    scale(card.stream(), x, 1, 3);
  });
  CHECK(card.down(x, 8) == all(1));
  for (const float wanted : {5.0F, 13.0F, 29.0F}) {
    check_cuda(cudaGraphLaunch(graph.get(), card.stream()), "cudaGraphLaunch");
    CHECK(card.down(x, 8) == all(wanted));
  }
}

TEST_CASE("another thread may allocate while a stream captures") {
  const Card emulated;
  const OneCard card;
  const auto x = card.up(8, 1.0F);
  CardMemory<float> of_other;
  std::string said;
  const RunnableGraph graph = captured(card.stream(), [&] {
    std::thread{[&] { said = sentence([&] { of_other = card_memory<float>(8, "a test"); }); }}.join();
    scale(card.stream(), x, 2, 0);
  });
  CHECK(said == "nothing was thrown");
  CHECK((of_other.get() != nullptr && graph.get() != nullptr));
}

TEST_CASE("an exception within a capture ends it, and the stream is as it was") {
  const Card emulated;
  const OneCard card;
  const auto x = card.up(8, 1.0F);
  const auto capture_and_throw = [&] {
    static_cast<void>(captured(card.stream(), [&] {
      scale(card.stream(), x, 2, 0);
      throw std::runtime_error("a kernel that was not found");
    }));
  };
  CHECK_THROWS_WITH_AS(capture_and_throw(), "a kernel that was not found", std::runtime_error);
  CHECK(alive() == "1 allocations, 1 streams");
  scale(card.stream(), x, 1, 1);
  CHECK(card.down(x, 8) == all(2));
  const RunnableGraph graph = captured(card.stream(), [&] { scale(card.stream(), x, 3, 0); });
  check_cuda(cudaGraphLaunch(graph.get(), card.stream()), "cudaGraphLaunch");
  CHECK(card.down(x, 8) == all(6));
}

TEST_CASE("an exception between a fork and its join leaves no error behind, for a library or a kernel's author to find") {
  const Card emulated;
  const OneCard card;
  const OneCard side;
  const auto x = card.up(8, 1.0F);
  const compute_room::Event fork = make_event();
  const auto capture_and_throw = [&] {
    static_cast<void>(captured(card.stream(), [&] {
      put_after(card.stream(), fork, side.stream());
      scale(side.stream(), x, 2, 0);
      throw std::runtime_error("a rank is lost");
    }));
  };
  CHECK_THROWS_WITH_AS(capture_and_throw(), "a rank is lost", std::runtime_error);
  CHECK(cudaPeekAtLastError() == cudaSuccess);
  scale(card.stream(), x, 1, 1);
  CHECK(card.down(x, 8) == all(2));
}

TEST_CASE("a call that fails while a graph is made is R36, nothing is left behind, and the stream can be used") {
  const Card emulated;
  const OneCard card;
  const auto x = card.up(8, 1.0F);
  CHECK(card.synchronize() == cudaSuccess);
  const auto make = [&] { static_cast<void>(captured(card.stream(), [&] { scale(card.stream(), x, 2, 0); })); };
  const long before = cuda_emulator::counts().fallible_calls;
  make();
  const long calls = cuda_emulator::counts().fallible_calls - before;
  CHECK(calls >= 4);  // begin, launch, end, instantiate
  for (long number = 1; number <= calls; ++number) {
    cuda_emulator::fail_call(number);
    const std::string told = sentence(make);
    CAPTURE(told);
    CHECK((told.starts_with("[heddle.R36] ") || told.starts_with("[heddle.R14] ")));
    CHECK(alive() == "1 allocations, 1 streams");
    make();
  }
  CHECK(card.down(x, 8) == all(1));
}

TEST_CASE("a wait asks lost() as long as the stream is not done, and ends with what that throws") {
  const Card emulated({.eager = 0});
  const OneCard card;
  const auto x = card.up(8, 1.0F);
  const auto queue_much = [&] {
    for (int i = 0; i < 200; ++i) scale(card.stream(), x, 1, 1);
  };
  queue_much();
  int asked = 0;
  wait_for(card.stream(), [&] { ++asked; });
  CHECK(asked > 0);
  CHECK(cudaPeekAtLastError() == cudaSuccess);  // that it was not done yet is no error of anybody
  CHECK(cudaStreamQuery(card.stream()) == cudaSuccess);
  queue_much();
  CHECK_THROWS_WITH_AS(wait_for(card.stream(), [] { throw std::runtime_error("rank 1 is gone"); }), "rank 1 is gone", std::runtime_error);
  CHECK(cudaPeekAtLastError() == cudaSuccess);
  wait_for(card.stream());  // what was queued is done all the same
  CHECK(card.down(x, 8) == all(401));
}

TEST_CASE("a wait for a card that fails is R36") {
  const Card emulated;
  const OneCard card;
  const auto said = [](auto wait) {
    cuda_emulator::fail_call(1);
    return sentence(wait);
  };
  CHECK(said([&] { wait_for(card.stream()); }).find("[heddle.R36] cudaStreamSynchronize failed with ") == 0);
  CHECK(said([&] { wait_for(card.stream(), [] {}); }).find("[heddle.R36] cudaStreamQuery failed with ") == 0);
}
