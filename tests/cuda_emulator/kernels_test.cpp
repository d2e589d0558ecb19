// SPDX-License-Identifier: MIT
// Mistakes within a block: each is made once and found, and right kernels are right in every order.
#include <doctest/doctest.h>

#include <cmath>
#include <stdexcept>

#include "compute/cuda/own_kernels.hpp"
#include "cuda_emulator/one_card.hpp"
#include "heddle/compute/cuda/values.hpp"

namespace {
using namespace cuda_emulator;
using namespace cuda_emulator::tests;

enum class Barriers { both, none_before_read, none_before_reuse };

/// totals[b] = the sum of the numbers of block b, taken twice from the same scratch.
template <Barriers Has> struct Totals {
  static constexpr const char* name = "Totals";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, const float* numbers, float* totals) const {
    float* const scratch = b.template shared<float>(b.threads());
    float total = 0;
    for (int round = 0; round < 2; ++round) {
      scratch[b.thread()] = numbers[b.index() * b.threads() + b.thread()] + static_cast<float>(round);
      if (Has != Barriers::none_before_read) b.sync();
      for (int t = 0; t < b.threads(); ++t) total += scratch[t];
      if (Has != Barriers::none_before_reuse) b.sync();
    }
    if (b.thread() == 0) totals[b.index()] = total;
  }
};
/// In how many orders the result is not 64 threads x (1 + 2).
template <Barriers Has> int wrong_orders() {
  int wrong = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    reset({.seed = seed});
    {
      const OneCard card;
      const auto numbers = card.up(3 * 64, 1.0F);
      const auto totals = card.unset(3);
      launch<Totals<Has>>(card.stream(), {3, 64, 64 * sizeof(float)}, static_cast<const float*>(numbers.get()), totals.get());
      wrong += all_are(card.down(totals, 3), 192.0F) ? 0 : 1;
    }
    check_right();
  }
  return wrong;
}

TEST_CASE("a block that meets before it reads and before it writes again is right in every order") { CHECK(wrong_orders<Barriers::both>() == 0); }
TEST_CASE("a barrier that is missing before a read shows as a wrong sum") {
  if (!tsan::on) CHECK(wrong_orders<Barriers::none_before_read>() > 40);  // races_test: the thread sanitizer names the line
}
TEST_CASE("a barrier that is missing before scratch is used again shows as a wrong sum") {
  if (!tsan::on) CHECK(wrong_orders<Barriers::none_before_reuse>() > 5);
}

enum class Meets { not_all, at_two_lines, half_a_warp, lanes_apart, product_of_some, shuffle_and_product };
template <Meets How> struct Apart {
  static constexpr const char* name = "Apart";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, float* out) const {
    float x = 1;
    if constexpr (How == Meets::not_all) {
      if (b.thread() == 5) return;
      b.sync();
    }
    if constexpr (How == Meets::at_two_lines) {
      if (b.thread() < 32)
        b.sync();
      else
        b.sync();
    }
    if constexpr (How == Meets::half_a_warp)
      if (b.thread() % 32 < 16) x = b.shuffle_xor(x, 1);
    if constexpr (How == Meets::lanes_apart) {
      if (b.thread() % 2 == 0)
        x = b.shuffle_xor(x, 1);
      else
        x = b.shuffle_xor(x, 1);
    }
    if constexpr (How == Meets::product_of_some || How == Meets::shuffle_and_product) {
      float sums[4] = {};
      const TensorFloat left[4] = {}, right[2] = {};
      const KernelLine here{__FILE__, __LINE__};
      if (b.thread() != 7)
        b.add_product(sums, left, right, here);
      else if (How == Meets::shuffle_and_product)
        x = b.shuffle_xor(x, 1, here);
      x += sums[0];
    }
    out[b.thread()] = x;
  }
};
/// The error after the launch of a kernel with one pointer, and everything that was said.
template <class K> std::pair<cudaError_t, std::vector<std::string>> said_of(Extents extents) {
  reset({.seed = 3});
  cudaError_t error = cudaSuccess;
  {
    const OneCard card;
    const auto out = card.unset(1024);
    try {
      launch<K>(card.stream(), extents, out.get());
      error = card.synchronize();
    } catch (const heddle::seams_room::Error&) {
      error = cudaGetLastError();
    }
  }
  CHECK(alive().empty());
  return {error, violations()};
}

TEST_CASE("threads that do not all meet are counted by place") {
  const auto [error, said] = said_of<Apart<Meets::not_all>>({2, 64});
  CHECK(error == cudaErrorLaunchFailure);
  CHECK(says(said, {"Apart, block ", "its threads do not meet", "1 is at the end", "63 are at sync in kernels_test.cpp:"}));
  CHECK(says(said_of<Apart<Meets::at_two_lines>>({1, 64}).second, {"32 are at sync in kernels_test.cpp:", "; 32 are at sync"}));
  CHECK(says(said_of<Apart<Meets::half_a_warp>>({1, 32}).second, {"16 are at a shuffle in kernels_test.cpp:", "16 are at the end"}));
  CHECK(
      says(said_of<Apart<Meets::lanes_apart>>({1, 32}).second, {"the lanes of warp 0 do not meet at one shuffle or product", "16 are at a shuffle"}));
  CHECK(says(said_of<Apart<Meets::product_of_some>>({1, 64}).second,
             {"its threads do not meet", "31 are at a product in kernels_test.cpp:", "33 are at the end"}));
  CHECK(says(said_of<Apart<Meets::shuffle_and_product>>({1, 32}).second,
             {"the lanes of warp 0 do not meet at one shuffle or product", "31 are at a product", "1 is at a shuffle"}));
}
enum class Factors { rounded, left_is_not, right_is_not, two_forms, not_cooperative };
template <Factors Are> struct Multiplies {
  static constexpr const char* name = "Multiplies";
  static constexpr bool cooperative = Are != Factors::not_cooperative;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, float* out) const {
    const bool here = b.thread() == 37;
    const TensorFloat even{0x3F800000}, odd{0x3F800001};
    float sums[4] = {};
    const TensorFloat left[4] = {even, even, even, here && Are == Factors::left_is_not ? odd : even};
    const TensorFloat right[2] = {even, here && Are == Factors::right_is_not ? odd : even};
    if constexpr (Are == Factors::two_forms) {
      const BFloat16Pair left_pairs[4] = {}, right_pairs[2] = {};
      const int line = __LINE__;
      if (here)
        b.add_product(sums, left_pairs, right_pairs, {__FILE__, line});
      else
        b.add_product(sums, left, right, {__FILE__, line});
    } else {
      b.add_product(sums, left, right);
    }
    out[b.thread()] = sums[3];
  }
};
TEST_CASE("a factor of a product that is not rounded to TF32 is named, and so are lanes with factors of two types") {
  for (const auto& said : {said_of<Multiplies<Factors::left_is_not>>({1, 64}).second, said_of<Multiplies<Factors::right_is_not>>({1, 64}).second})
    CHECK(says(said, {"Multiplies, block 0: thread 37 multiplies a factor that is not rounded to TF32 in kernels_test.cpp:"}));
  CHECK(says(said_of<Multiplies<Factors::two_forms>>({1, 64}).second, {"the lanes of warp 1 do not meet at one shuffle or product"}));
  CHECK(says(said_of<Multiplies<Factors::not_cooperative>>({1, 64}).second, {"meets other threads, but is said to be not cooperative"}));
  CHECK(said_of<Multiplies<Factors::rounded>>({1, 64}).second.empty());
}
TEST_CASE("cooperative kernels have whole warps") { CHECK(says(said_of<Apart<Meets::half_a_warp>>({1, 40}).second, {"Apart", "40 threads", "32"})); }

struct SaysItIsAlone {
  static constexpr const char* name = "SaysItIsAlone";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, float*) const { b.sync(); }
};
TEST_CASE("a kernel that meets is said to be cooperative") {
  CHECK(says(said_of<SaysItIsAlone>({1, 32}).second, {"SaysItIsAlone, block 0: thread", "is said to be not cooperative"}));
}

enum class Shared { too_much, past_its_end, unset, unlike };
template <Shared How> struct OfShared {
  static constexpr const char* name = "OfShared";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, float* out) const {
    float* const piece = b.template shared<float>(How == Shared::too_much ? 64 : How == Shared::unlike && b.thread() > 3 ? 16 : 32);
    if constexpr (How == Shared::past_its_end) piece[b.thread() == 7 ? 33 : b.thread()] = 1;
    if constexpr (How == Shared::unset) out[b.thread()] = piece[b.thread()];
  }
};
TEST_CASE("shared memory: too little, written past its end, unset, not asked for alike") {
  const Extents extents{1, 32, 128};
  CHECK(says(said_of<OfShared<Shared::too_much>>(extents).second, {"OfShared, block 0: thread", "more shared memory than the launch has"}));
  CHECK(says(said_of<OfShared<Shared::unlike>>(extents).second, {"other shared memory than the threads before it, after kernels_test.cpp:"}));
  if (!asan::on)  // the sanitizer ends the program there
    CHECK(says(said_of<OfShared<Shared::past_its_end>>(extents).second, {"OfShared, block 0:", "writes past its shared memory"}));
  reset({});
  const OneCard card;
  const auto out = card.unset(32);
  launch<OfShared<Shared::unset>>(card.stream(), extents, out.get());
  CHECK(std::isnan(card.down(out, 32)[5]));
}

struct Throws {
  static constexpr const char* name = "Throws";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, float*) const {
    if (b.thread() == 2) throw std::runtime_error("no");
  }
};
TEST_CASE("an exception in a kernel is a fault of the card, which answers nothing from then on") {
  reset({.devices = 2, .eager = 0});
  {
    const OneCard card;
    const auto out = card.unset(4);
    launch<Throws>(card.stream(), {1, 32}, out.get());
    CHECK(card.synchronize() == cudaErrorLaunchFailure);
    CHECK(says(violations(), {"Throws, block 0: thread 2 throws: no"}));
    CHECK(cudaMemsetAsync(out.get(), 0, 4, card.stream()) == cudaErrorLaunchFailure);
    CHECK(std::string(cudaGetErrorString(cudaErrorLaunchFailure)).find("Throws, block 0") != std::string::npos);
    CHECK(cudaSetDevice(1) == cudaErrorLaunchFailure);
  }
  CHECK(alive().empty());
}
/// A thread takes several values at once from so many bytes behind a multiple of 16.
template <class Value, int off, bool stores> struct TakesAtOnce {
  static constexpr const char* name = "TakesAtOnce";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, float* out) const {
    if (b.thread() != 3) return;
    auto* const at = reinterpret_cast<Value*>(reinterpret_cast<std::byte*>(out) + off);
    if constexpr (stores) return store_four(at, Pack<float>{});
    out[4] = load_four(at).values[0];
  }
};
TEST_CASE("several values that are touched at once lie on a multiple of their bytes") {
  for (const auto& [error, said] : {said_of<TakesAtOnce<float, 4, false>>({1, 32}), said_of<TakesAtOnce<float, 8, true>>({1, 32})}) {
    CHECK(error == cudaErrorMisalignedAddress);
    CHECK(says(said, {"TakesAtOnce, block 0: thread 3 touches several values at once at no multiple of 16 bytes"}));
  }
  CHECK(says(said_of<TakesAtOnce<BFloat16, 4, true>>({1, 32}).second, {"at no multiple of 8 bytes"}));
  CHECK(said_of<TakesAtOnce<BFloat16, 8, true>>({1, 32}).second.empty());
  CHECK(said_of<TakesAtOnce<float, 16, false>>({1, 32}).second.empty());
}
TEST_CASE("extents that no card has are refused") {
  CHECK(said_of<OfShared<Shared::unset>>({1, 2048, 128}).first == cudaErrorInvalidConfiguration);
  const auto [error, said] = said_of<OfShared<Shared::unset>>({1, 32, 64 << 10});
  CHECK(error == cudaErrorInvalidValue);
  CHECK(says(said, {"OfShared is launched with 65536 bytes of shared memory"}));
  reset({});
  const void* const entry = entry_of<OfShared<Shared::unset>, float*>();
  CHECK(cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10) == cudaSuccess);
  CHECK(cudaFuncSetAttribute(entry, cudaFuncAttributeMaxDynamicSharedMemorySize, 256 << 10) == cudaErrorInvalidValue);
  const OneCard card;
  const auto out = card.unset(32);
  launch<OfShared<Shared::unset>>(card.stream(), {1, 32, 64 << 10}, out.get());
  CHECK(card.synchronize() == cudaSuccess);
}
TEST_CASE("blocks, barriers and kernels are counted") {
  reset({});
  const OneCard card;
  const auto numbers = card.up(3 * 64, 1.0F);
  const auto totals = card.unset(3);
  launch<Totals<Barriers::both>>(card.stream(), {3, 64, 64 * sizeof(float)}, static_cast<const float*>(numbers.get()), totals.get());
  CHECK(card.synchronize() == cudaSuccess);
  CHECK(counts().kernels == 1);
  CHECK(counts().blocks == 3);
  CHECK(counts().barriers == 3 * 4);
  CHECK(counts().copies == 1);
  CHECK(counts().allocations == 2);
}
}  // namespace
