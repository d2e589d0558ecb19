// SPDX-License-Identifier: MIT
// Mistakes with memory: bounds, memory that was given back or never written, host code that touches a card's, copies of the wrong kind.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "compute/cuda/own_kernels.hpp"
#include "cuda_emulator/one_card.hpp"

namespace {
using namespace cuda_emulator;
using namespace cuda_emulator::tests;

/// out[i] = in[i + by], for i below n.
struct Shifted {
  static constexpr const char* name = "Shifted";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, int n, int by, const float* in, float* out) const {
    const int i = b.index() * b.threads() + b.thread();
    if (i < n) out[i] = in[i + by];
  }
};
/// The same, with shuffles and barriers, and pointers that only the struct knows.
struct Ends {
  const float* in;
  float* out;
};
struct ShiftedTogether {
  static constexpr const char* name = "ShiftedTogether";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, int n, int by, Ends ends) const {
    b.sync();
    const int i = b.index() * b.threads() + b.thread();
    if (i < n) ends.out[i] = ends.in[i + by];
  }
};
void shift(const OneCard& card, std::int64_t blocks, int n, int by, const CardMemory<float>& in, const CardMemory<float>& out) {
  launch<Shifted>(card.stream(), {blocks, 32}, n, by, static_cast<const float*>(in.get()), out.get());
}

TEST_CASE("memory that nobody has written is NaN, and so is what one block too few leaves out") {
  reset({});
  const OneCard card;
  const auto in = card.unset(100);
  CHECK(std::isnan(card.down(in, 100)[99]));
  const auto large = card.unset(std::size_t{1} << 20);
  CHECK(std::isnan(card.down(large.get() + 777777, 1)[0]));
  const auto ones = card.up(100, 1.0F);
  shift(card, 3, 100, 0, ones, in);
  const std::vector<float> got = card.down(in, 100);
  CHECK(got[95] == 1.0F);
  CHECK(std::isnan(got[96]));
  CHECK(violations().empty());
}
TEST_CASE("a read past the end is NaN, a write past the end a fault that names kernel and memory") {
  if (asan::on) return;  // the sanitizer ends the program at the first of these
  reset({});
  const OneCard card;
  const auto in = card.up(100, 1.0F);
  const auto out = card.unset(100);
  shift(card, 4, 100, 1, in, out);
  CHECK(std::isnan(card.down(out, 100)[99]));
  CHECK(violations().empty());
  shift(card, 4, 101, -1, in, out);
  CHECK(card.synchronize() == cudaErrorIllegalAddress);
  CHECK(says(violations(), {"Shifted wrote outside of memory", "of device 0, which has 400 bytes"}));
}
TEST_CASE("a touch behind the pages of an allocation is a fault that names kernel, block, thread and memory") {
  if (asan::on || tsan::on) return;  // the first ends the program there, and the handler of the second wants a return
  for (const bool together : {false, true}) {
    reset({});
    const OneCard card;
    const auto in = card.up(100, 1.0F);
    const auto out = card.unset(100);
    if (together)
      launch<ShiftedTogether>(card.stream(), {1, 32}, 1, 200, Ends{in.get(), out.get()});
    else
      shift(card, 1, 1, 200, in, out);
    CHECK(card.synchronize() == cudaErrorIllegalAddress);
    CHECK(says(violations(), {together ? "ShiftedTogether, block 0: thread 0 touches byte 800 of" : "Shifted, block 0: thread 0 touches byte 800"}));
    CHECK(says(violations(), {together ? ", after memory_test.cpp:" : "touches"}));
  }
  reset({});
  {
    const OneCard card;
    const auto in = card.up(100, 1.0F);
    const auto out = card.unset(100);
    launch<ShiftedTogether>(card.stream(), {1, 32}, 4, 110, Ends{in.get(), out.get()});  // between the data and the guard page: NaN
    CHECK(card.synchronize() == cudaSuccess);
    CHECK(card.down(in, 100)[3] == 1.0F);  // the struct's memory was open to the kernel, and is closed again
  }
  check_right();
}
TEST_CASE("memory that was given back is not touched again, by a kernel or by a graph") {
  reset({.eager = 0});
  const OneCard card;
  auto in = card.up(100, 1.0F);
  const auto out = card.unset(100);
  const RunnableGraph graph = captured(card.stream(), [&] { shift(card, 4, 100, 0, in, out); });
  const float* const before = in.get();
  in = CardMemory<float>{};
  CHECK(cudaGraphLaunch(graph.get(), card.stream()) == cudaSuccess);
  CHECK(card.synchronize() == cudaErrorIllegalAddress);
  CHECK(says(violations(), {"Shifted touches byte 0 of the memory", "which was given back"}));
  reset({});
  CHECK_THROWS_AS(launch<Shifted>(card.stream(), {1, 32}, 1, 0, before, out.get()), heddle::seams_room::Error);
  CHECK(says(violations(), {"Shifted is launched with argument 2, a pointer to"}));
}
TEST_CASE("pointers of the host, and of another card that is no peer, are no arguments of a kernel") {
  reset({.devices = 2});
  const OneCard card;
  const auto out = card.unset(100);
  std::vector<float> host(100);
  CHECK_THROWS_AS(launch<Shifted>(card.stream(), {1, 32}, 1, 0, static_cast<const float*>(host.data()), out.get()), heddle::seams_room::Error);
  CHECK(says(violations(), {"argument 2, a pointer to address", "no memory of a card"}));
  CHECK(cudaSetDevice(1) == cudaSuccess);
  const auto far = card.unset(100);
  CHECK(cudaSetDevice(0) == cudaSuccess);
  CHECK_THROWS_AS(shift(card, 1, 1, 0, far, out), heddle::seams_room::Error);
  int can = 0;
  CHECK(cudaDeviceCanAccessPeer(&can, 0, 1) == cudaSuccess);
  CHECK(can == 1);
  CHECK(cudaDeviceEnablePeerAccess(1, 0) == cudaSuccess);
  CHECK(cudaDeviceEnablePeerAccess(1, 0) == cudaErrorPeerAccessAlreadyEnabled);
  shift(card, 1, 1, 0, far, out);
  CHECK(card.synchronize() == cudaSuccess);
}
TEST_CASE("host code that touches memory of a card ends its process with a sentence") {
  reset({});
  const OneCard card;
  const auto x = card.up(100, 1.0F);
  CHECK(card.synchronize() == cudaSuccess);
  const auto [code, text] = ended_by([&] { *static_cast<volatile float*>(x.get() + 1) = 2; });
  CHECK(code == 99);
  CHECK(text.find("host code touches byte 4 of the memory") != std::string::npos);
  CHECK(text.find("of device 0, which has 400 bytes") != std::string::npos);
}
TEST_CASE("a card has as much memory as the test says") {
  reset({.devices = 1, .device_bytes = 10000});
  {
    const auto some = OneCard::unset<std::byte>(6000);
    std::size_t free_bytes = 0;
    std::size_t total_bytes = 0;
    CHECK(cudaMemGetInfo(&free_bytes, &total_bytes) == cudaSuccess);
    CHECK(free_bytes == 4000);
    CHECK(total_bytes == 10000);
    CHECK_THROWS_WITH_AS(OneCard::unset<std::byte>(4001), doctest::Contains("4000 of 10,000 bytes are free"), heddle::seams_room::Error);
    CHECK(says(refusals(), {"cudaMalloc of 4001 bytes", "holds 6000 of 10000"}));
    CHECK(cudaGetLastError() == cudaSuccess);  // whoever was told R14 may go on with less
    void* more = nullptr;
    CHECK(cudaMalloc(&more, 4001) == cudaErrorMemoryAllocation);
    CHECK(cudaGetLastError() == cudaErrorMemoryAllocation);
    const auto rest = OneCard::unset<std::byte>(4000);
    CHECK(alive() == "2 allocations");
  }
  CHECK(peak_bytes(0) == 10000);
  check_right();
  cudaDeviceProp properties{};
  CHECK(cudaGetDeviceProperties(&properties, 0) == cudaSuccess);
  CHECK(properties.totalGlobalMem == 10000);
}
TEST_CASE("copies go in all directions, also between cards") {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    reset({.seed = seed, .devices = 2});
    {
      const OneCard card;
      const auto pinned = pinned_memory<float>(100);
      std::iota(pinned.get(), pinned.get() + 100, 0.0F);
      const auto here = card.unset(100);
      CHECK(cudaMemcpyAsync(here.get(), pinned.get(), 400, cudaMemcpyHostToDevice, card.stream()) == cudaSuccess);
      CHECK(cudaSetDevice(1) == cudaSuccess);
      const auto there = card.unset(100);
      CHECK(cudaSetDevice(0) == cudaSuccess);
      CHECK(cudaMemcpyPeerAsync(there.get(), 1, here.get(), 0, 400, card.stream()) == cudaSuccess);
      CHECK(cudaMemsetAsync(here.get(), 0, 400, card.stream()) == cudaSuccess);
      CHECK(cudaMemcpyAsync(here.get() + 50, there.get() + 50, 200, cudaMemcpyDeviceToDevice, card.stream()) == cudaSuccess);
      const auto back = pinned_memory<float>(100);
      CHECK(cudaMemcpyAsync(back.get(), here.get(), 400, cudaMemcpyDefault, card.stream()) == cudaSuccess);
      CHECK(card.synchronize() == cudaSuccess);
      CHECK(back.get()[49] == 0.0F);
      CHECK(back.get()[50] == 50.0F);
      float one = 0;
      CHECK(cudaMemcpy(&one, there.get() + 7, sizeof one, cudaMemcpyDeviceToHost) == cudaSuccess);
      CHECK(one == 7.0F);
    }
    check_right();
  }
}
TEST_CASE("rows that lie apart are copied in one call, and what lies between them keeps what it has") {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    reset({.seed = seed});
    {
      const OneCard card;
      std::vector<float> host(12);
      std::iota(host.begin(), host.end(), 0.0F);
      const auto wide = card.up(host);     // 3 rows of 4
      const auto thin = card.up(6, 7.0F);  // 3 rows of 2
      constexpr std::size_t row = 2 * sizeof(float);
      const auto before = counts().fallible_calls;
      CHECK(cudaMemcpy2DAsync(thin.get(), row, wide.get() + 1, 2 * row, row, 3, cudaMemcpyDeviceToDevice, card.stream()) == cudaSuccess);
      CHECK(counts().fallible_calls - before == 1);
      CHECK(card.down(thin, 6) == std::vector<float>{1, 2, 5, 6, 9, 10});
      CHECK(cudaMemcpy2DAsync(wide.get() + 2, 2 * row, thin.get(), row, row, 3, cudaMemcpyDeviceToDevice, card.stream()) == cudaSuccess);
      CHECK(cudaMemcpy2DAsync(wide.get(), 2 * row, host.data(), row, row, 2, cudaMemcpyHostToDevice, card.stream()) == cudaSuccess);
      CHECK(card.down(wide, 12) == std::vector<float>{0, 1, 1, 2, 2, 3, 5, 6, 8, 9, 9, 10});
      const auto back = pinned_memory<float>(12);
      std::fill(back.get(), back.get() + 12, -1.0F);
      CHECK(cudaMemcpy2DAsync(back.get(), 2 * row, thin.get(), row, row, 3, cudaMemcpyDeviceToHost, card.stream()) == cudaSuccess);
      CHECK(back.get()[2] == -1.0F);
      CHECK(card.synchronize() == cudaSuccess);
      CHECK(std::vector<float>(back.get(), back.get() + 6) == std::vector<float>{1, 2, -1, -1, 5, 6});
    }
    check_right();
  }
  const OneCard card;
  const auto x = card.up(6, 1.0F);
  CHECK(cudaMemcpy2DAsync(x.get(), 4, x.get(), 8, 8, 2, cudaMemcpyDeviceToDevice, card.stream()) == cudaErrorInvalidPitchValue);
  CHECK(cudaMemcpy2DAsync(x.get(), 8, x.get(), 16, 8, 3, cudaMemcpyDeviceToDevice, card.stream()) == cudaErrorInvalidValue);
  CHECK(says(violations(), {"cudaMemcpy2DAsync of 40 bytes from byte 0 of the memory", "which has 24 bytes"}));
  CHECK(cudaMemcpy2DAsync(x.get(), std::size_t{1} << 31U, x.get(), 8, 8, 1, cudaMemcpyDeviceToDevice, card.stream()) == cudaErrorInvalidPitchValue);
  CHECK(says(violations(), {"rows that lie 2,147,483,648 bytes apart"}));
}
TEST_CASE("a copy outside of its memory, or of the wrong kind, is refused") {
  reset({});
  const OneCard card;
  const auto x = card.up(100, 1.0F);
  std::vector<float> host(200);
  CHECK(cudaMemcpyAsync(host.data(), x.get(), 404, cudaMemcpyDeviceToHost, card.stream()) == cudaErrorInvalidValue);
  CHECK(says(violations(), {"cudaMemcpyAsync of 404 bytes from byte 0 of the memory", "which has 400 bytes"}));
  CHECK(cudaMemcpyAsync(x.get(), host.data(), 400, cudaMemcpyDeviceToHost, card.stream()) == cudaErrorInvalidValue);
  CHECK(cudaMemsetAsync(host.data(), 0, 400, card.stream()) == cudaErrorInvalidValue);
  CHECK(cudaMemsetAsync(x.get() + 1, 0, 400, card.stream()) == cudaErrorInvalidValue);
  CHECK(violations().size() == 4);
}
TEST_CASE("a result in pinned memory is NaN until it is waited for, and pinned memory that is filled again too early is seen") {
  if (tsan::on) return;  // which says of both that they are races
  int early = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    reset({.seed = seed});
    const OneCard card;
    const auto pinned = pinned_memory<float>(1);
    const auto x = card.unset(1);
    *pinned.get() = 1;
    CHECK(cudaMemcpyAsync(x.get(), pinned.get(), 4, cudaMemcpyHostToDevice, card.stream()) == cudaSuccess);
    *pinned.get() = 2;
    early += card.down(x, 1)[0] == 2.0F ? 1 : 0;
  }
  CHECK(early > 5);
  CHECK(early < 50);
  reset({.eager = 0});
  const OneCard card;
  const auto x = card.up(1, 3.0F);
  const auto result = pinned_memory<float>(1);
  *result.get() = 0;
  CHECK(cudaMemcpyAsync(result.get(), x.get(), 4, cudaMemcpyDeviceToHost, card.stream()) == cudaSuccess);
  CHECK(std::isnan(*result.get()));
  CHECK(card.synchronize() == cudaSuccess);
  CHECK(*result.get() == 3.0F);
  // The same memory is read first: it keeps what it has until then.
  CHECK(cudaMemcpyAsync(x.get(), result.get(), 4, cudaMemcpyHostToDevice, card.stream()) == cudaSuccess);
  CHECK(cudaMemcpyAsync(result.get(), x.get(), 4, cudaMemcpyDeviceToHost, card.stream()) == cudaSuccess);
  CHECK(card.synchronize() == cudaSuccess);
  CHECK(*result.get() == 3.0F);
}
TEST_CASE("what is not given back is named, and what is given back twice as well") {
  reset({});
  void* leaked = nullptr;
  CHECK(cudaMalloc(&leaked, 100) == cudaSuccess);
  cudaEvent_t event = nullptr;
  CHECK(cudaEventCreate(&event) == cudaSuccess);
  CHECK(alive() == "1 allocations, 1 events");
  CHECK(cudaFree(leaked) == cudaSuccess);
  CHECK(cudaEventDestroy(event) == cudaSuccess);
  CHECK(alive().empty());
  CHECK(violations().empty());
  CHECK(cudaFree(leaked) == cudaErrorInvalidValue);
  CHECK(cudaEventDestroy(event) == cudaErrorInvalidResourceHandle);
  CHECK(says(violations(), {"cudaFree is given an address that was not allocated, or was given back."}));
  CHECK(says(violations(), {"An event is used that does not exist."}));
}
}  // namespace
