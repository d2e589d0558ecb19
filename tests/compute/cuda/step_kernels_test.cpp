// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/step_kernels.hpp"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "compute/cuda/on_card.hpp"
#include "cuda_emulator/one_card.hpp"
#include "heddle/core/random.hpp"
#include "heddle/run/arithmetic.hpp"
#include "heddle/run/host_work.hpp"
#include "heddle/transport/tree_sum.hpp"

using namespace heddle;
using namespace compute_room;
using cuda_emulator::tests::OneCard;
using on_card::Card;
using Numbers = std::vector<float>;

namespace {

constexpr float infinite = std::numeric_limits<float>::infinity();
constexpr float no_number = std::numeric_limits<float>::quiet_NaN();

/// Numbers of both signs and many sizes, so that their sum depends on the order.
Numbers drawn(std::size_t n, std::uint64_t seed) {
  Numbers numbers(n);
  for (std::size_t i = 0; i < n; ++i) numbers[i] = std::ldexp(uniform(Seed{seed}, 1, i, -1, 1), static_cast<int>(bits64(Seed{seed}, 2, i) % 16) - 8);
  return numbers;
}
template <class T> bool equal_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}
/// What a kernel of one thread an element makes of an array; its last argument is that array.
template <class K, class... A> Numbers made(const Numbers& values, A... arguments) {
  const OneCard card;
  const auto there = card.up(values);
  const auto n = static_cast<std::int64_t>(values.size());
  launch_each<K>(card.stream(), n, arguments..., there.get());
  return card.down(there, values.size());
}

/// Buffers of a group: sums into those that `into` says, in place or beside.
struct Members {
  std::vector<Numbers> values;
  explicit Members(int members) {
    for (int m = 0; m < members; ++m) values.push_back(drawn(300, static_cast<std::uint64_t>(m + 1)));
  }
  [[nodiscard]] Numbers sum_on_host() const {
    std::vector<Numbers> copies = values;
    std::vector<float*> at;
    for (Numbers& one : copies) at.push_back(one.data());
    transport_room::tree_sum_to_all(at.data(), static_cast<int>(at.size()), 0, 300);
    return copies[0];
  }
  /// Whether each member's buffer has the sum in place.
  [[nodiscard]] bool in_place() const {
    const OneCard card;
    MemberBuffers at{};
    std::vector<CardMemory<float>> there;
    for (std::size_t m = 0; m < values.size(); ++m) at.from[m] = at.to[m] = there.emplace_back(card.up(values[m])).get();
    launch<SumOfMembers>(card.stream(), extents_of(300), std::int64_t{300}, static_cast<int>(values.size()), at);
    for (const auto& one : there)
      if (!equal_bits(card.down(one, 300), sum_on_host())) return false;
    return true;
  }
  /// Whether member `only` alone has the sum, beside its numbers, and all numbers stay.
  [[nodiscard]] bool beside(std::size_t only) const {
    const OneCard card;
    MemberBuffers at{};
    std::vector<CardMemory<float>> there;
    const auto to = OneCard::unset(300);
    for (std::size_t m = 0; m < values.size(); ++m) at.from[m] = there.emplace_back(card.up(values[m])).get();
    at.to[only] = to.get();
    launch<SumOfMembers>(card.stream(), extents_of(300), std::int64_t{300}, static_cast<int>(values.size()), at);
    for (std::size_t m = 0; m < values.size(); ++m)
      if (!equal_bits(card.down(there[m], 300), values[m])) return false;
    return equal_bits(card.down(to, 300), sum_on_host());
  }
};

CardMemory<CudaNumbers> numbers_with(const OneCard& card, float loss_scale) {
  CudaNumbers numbers;
  numbers.loss_scale = loss_scale;
  return card.up(std::vector<CudaNumbers>{numbers});
}
/// Gradients after their division by a scale, and the flag, which was 0 before.
struct Unscaled {
  Numbers values;
  float flag;
  static Unscaled of(const Numbers& values, float scale) {
    const OneCard card;
    const auto there = card.up(values), flag = card.up(1, 0.0F);
    const auto numbers = numbers_with(card, scale);
    const auto n = static_cast<std::int64_t>(values.size());
    Extents extents = extents_of(n);
    extents.shared_bytes = warp_threads * sizeof(float);
    launch<Unscale>(card.stream(), extents, n, static_cast<const CudaNumbers*>(numbers.get()), there.get(), flag.get());
    return {card.down(there, values.size()), card.down(flag, 1)[0]};
  }
};

/// Every kind of float: ties, the largest, the smallest, both zeros, infinities and numbers that are none.
std::vector<float> floats_to_round() {
  std::vector<float> numbers;
  for (const std::uint32_t high : {0x0000U, 0x0001U, 0x007fU, 0x0080U, 0x3f80U, 0x3f81U, 0x7f7fU, 0x7f80U, 0x7fc0U, 0x7f81U})
    for (const std::uint32_t low : {0x0000U, 0x0001U, 0x7fffU, 0x8000U, 0x8001U, 0xffffU})
      for (const std::uint32_t sign : {0U, 0x80000000U}) numbers.push_back(__builtin_bit_cast(float, sign | high << 16U | low));
  for (std::uint64_t i = 0; i < 1000; ++i) numbers.push_back(__builtin_bit_cast(float, static_cast<std::uint32_t>(bits64(Seed{1}, 3, i))));
  return numbers;
}

}  // namespace

TEST_CASE("the sum of the members of a group has the bits of the tree of transports, in place and beside") {
  const Card emulated;
  for (int members = 1; members <= 9; ++members) {
    CAPTURE(members);
    const Members group(members);
    CHECK(group.in_place());
    CHECK(group.beside(static_cast<std::size_t>(members) / 2));
  }
  CHECK(Members(MemberBuffers::most).in_place());
}

TEST_CASE("the sum of losses has the bits of the tree on the host, and stands behind them") {
  const Card emulated;
  const OneCard card;
  const run_room::KernelTable table;
  const run_room::HostWork host(table);
  for (int count = 1; count <= 40; ++count) {
    CAPTURE(count);
    Numbers losses = drawn(static_cast<std::size_t>(count) + 1, 5);
    const auto there = card.up(losses);
    host.sum_losses(losses.data(), count, {});
    launch<TreeOfLosses>(card.stream(), {1, 32}, count, there.get());
    CHECK(equal_bits(card.down(there, losses.size()), losses));
  }
}

TEST_CASE("gradients are divided by the scale of the loss, and the flag says whether each is a number then") {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const Card emulated(seed);
    const Numbers values = drawn(1000, 4);
    Numbers wanted = values;
    CHECK(FloatArithmetic::multiply(wanted.data(), 1000, 1.0F / 1024));
    const Unscaled sound = Unscaled::of(values, 1024);
    CHECK((equal_bits(sound.values, wanted) && sound.flag == 0));
    for (const float odd : {infinite, -infinite, no_number})
      for (const std::size_t at : {0U, 255U, 256U, 999U}) {
        Numbers spoilt = values;
        spoilt[at] = odd;
        CHECK(Unscaled::of(spoilt, 1024).flag > 0);
      }
    CHECK(Unscaled::of(Numbers(1000, 3e38F), 0.5F).flag == 4);  // they overflow, in 4 blocks
    CHECK(Unscaled::of(Numbers{}, 2).flag == 0);
  }
}

TEST_CASE("a gradient is multiplied by the scale of the loss that the card is told") {
  const Card emulated;
  const OneCard card;
  const auto numbers = numbers_with(card, 1024);
  CHECK(card.synchronize() == cudaSuccess);  // the kernel is queued elsewhere
  const Numbers values = drawn(1000, 6), scaled = made<Scale>(values, static_cast<const CudaNumbers*>(numbers.get()));
  for (std::size_t i = 0; i < values.size(); ++i) CHECK(scaled[i] == 1024 * values[i]);
}

TEST_CASE("gradients are shrunk by a factor below 1 and stay otherwise; each alone is taken to the limit") {
  const Card emulated;
  const OneCard card;
  CudaNumbers of_step;
  of_step.max_value = 0.5F;
  const auto numbers = card.up(std::vector<CudaNumbers>{of_step});
  CHECK(card.synchronize() == cudaSuccess);  // the kernels are queued elsewhere
  const CudaNumbers* const limit = numbers.get();
  const Numbers values = drawn(1000, 7);
  const auto clipped = [&](const Numbers& given, float factor, float holds = 0) {
    CudaNumbers of_factor;
    of_factor.clip_factor = factor;
    of_factor.holds = holds;
    const auto there = card.up(std::vector<CudaNumbers>{of_factor});
    CHECK(card.synchronize() == cudaSuccess);
    return made<ClipAll>(given, static_cast<const CudaNumbers*>(there.get()));
  };
  for (const float factor : {0.3F, 0.0F, 1.0F, 2.0F}) {
    Numbers wanted = values;
    FloatArithmetic::clip(wanted.data(), 1000, factor);
    CHECK(equal_bits(clipped(values, factor), wanted));
    CHECK(equal_bits(clipped(values, factor, 1), values));
  }
  Numbers wanted = values;
  FloatArithmetic::clip_values(wanted.data(), nullptr, 1000, 0.5F);
  CHECK(equal_bits(made<ClipEach>(values, limit), wanted));
  const Numbers odd = made<ClipEach>({3, -4, 0.25F, infinite, -infinite, no_number, -0.0F}, limit);
  CHECK((odd[0] == 0.5F && odd[1] == -0.5F && odd[2] == 0.25F && odd[3] == 0.5F && odd[4] == -0.5F));
  CHECK((is_nan(odd[5]) && std::signbit(odd[6])));
  CHECK(is_nan(clipped({no_number}, 0.5F)[0]));
}

TEST_CASE("norm, factor and whether a step holds are decided on the card, with the bits of the host") {
  const Card emulated;
  const OneCard card;
  const auto decided = [&](const Numbers& squares, double most, float flag, float holds = 0) {
    CudaNumbers given;
    given.max_norm = most;
    given.holds = holds;
    const auto numbers = card.up(std::vector<CudaNumbers>{given});
    const auto there = card.up(squares), flags = card.up(Numbers{flag});
    launch<TakeOverflow>(card.stream(), {1, 32}, static_cast<const float*>(flags.get()), numbers.get());
    launch<TakeNorm>(card.stream(), {1, 32}, static_cast<int>(squares.size()), static_cast<const float*>(there.get()), numbers.get());
    return card.down(numbers, 1)[0];
  };
  for (int seed = 1; seed <= 20; ++seed) {
    Numbers squares = drawn(7, seed);
    for (float& s : squares) s *= s;
    for (const double most : {0.01, 0.5, 100.0}) {
      const CudaNumbers numbers = decided(squares, most, 0);
      const float norm = FloatArithmetic::norm(squares.data(), 7);
      CHECK(equal_bits(Numbers{numbers.norm, numbers.clip_factor}, Numbers{norm, FloatArithmetic::clip_factor(norm, most)}));
      CHECK((numbers.overflows == 0 && numbers.holds == 0));
    }
  }
  CHECK((decided({1, 2}, 1, 3).overflows == 3 && decided({1, 2}, 1, 3).holds > 0));
  CHECK((decided({1, 2}, 1, 0, 1).overflows == 0 && decided({1, 2}, 1, 0, 1).holds > 0));  // as its losses have said
  for (const float odd : {infinite, no_number}) CHECK((decided({1, odd}, 1, 0).holds > 0 && decided({1, odd}, 1, 0).overflows == 0));
}

TEST_CASE("the losses of a rank are odd if one of them or their sum is not finite, and a flag of any rank holds the step") {
  const Card emulated;
  const OneCard card;
  const auto odd = [&](const Numbers& losses) {
    const auto there = card.up(losses), flag = OneCard::unset(1);
    launch<GuardLosses>(card.stream(), {1, 32}, static_cast<int>(losses.size()), static_cast<const float*>(there.get()), flag.get());
    const auto numbers = card.up(std::vector<CudaNumbers>{CudaNumbers{}});
    launch<TakeGuard>(card.stream(), {1, 32}, static_cast<const float*>(flag.get()), numbers.get());
    const CudaNumbers decided = card.down(numbers, 1)[0];
    CHECK(decided.odd_losses == card.down(flag, 1)[0]);
    CHECK((decided.holds > 0) == (decided.odd_losses > 0));
    return decided.odd_losses;
  };
  for (int count = 1; count <= 9; ++count) {
    Numbers losses = drawn(static_cast<std::size_t>(count), 5);
    CHECK(odd(losses) == 0);
    for (const float wrong : {infinite, -infinite, no_number}) {
      losses[static_cast<std::size_t>(count) / 2] = wrong;
      CHECK(odd(losses) == 1);
    }
  }
  CHECK(odd({3e38F, 3e38F}) == 1);
  CHECK(odd({infinite, -infinite, 1}) == 1);
  CHECK(odd({3e38F, -3e38F}) == 0);
}

TEST_CASE("what is tracked goes its momentum of the way to the mean") {
  const Card emulated;
  const OneCard card;
  const Numbers values = drawn(1000, 1), sums = drawn(1000, 2);
  const auto there = card.up(sums);
  CHECK(card.synchronize() == cudaSuccess);  // the kernels are queued elsewhere
  const auto each = static_cast<float>(1 / 7.0);
  Numbers wanted = values;
  FloatArithmetic::fold(wanted.data(), sums.data(), 1000, 0.1F, 7);
  const auto numbers = card.up(std::vector<CudaNumbers>(2));
  CudaNumbers held;
  held.holds = 1;
  const auto holding = card.up(std::vector<CudaNumbers>{held});
  CHECK(card.synchronize() == cudaSuccess);
  const CudaNumbers* const goes = numbers.get();
  const Numbers folded = made<FoldTracked>(values, goes, 0.1F, each, static_cast<const float*>(there.get()));
  for (std::size_t i = 0; i < values.size(); ++i)  // a compiler may fuse one product and the sum
    CHECK(std::abs(folded[i] - wanted[i]) <= 2 * 0x1p-24F * (std::abs(values[i]) + std::abs(sums[i])));
  CHECK(equal_bits(made<FoldTracked>(values, goes, 0.0F, each, static_cast<const float*>(there.get())), values));
  CHECK(equal_bits(made<FoldTracked>(values, static_cast<const CudaNumbers*>(holding.get()), 0.1F, each, static_cast<const float*>(there.get())),
                   values));
}

TEST_CASE("every bfloat16 is widened, and every sort of float rounded, to the bits of the host") {
  const Card emulated;
  const OneCard card;
  std::vector<BFloat16> all(65536);
  Numbers widened_all(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].bits = static_cast<std::uint16_t>(i);
    widened_all[i] = widened(all[i]);
  }
  const auto narrow = card.up(all);
  const auto wide = OneCard::unset(all.size());
  const auto n = static_cast<std::int64_t>(all.size());
  convert_all(card.stream(), n, static_cast<const BFloat16*>(narrow.get()), wide.get());
  CHECK(equal_bits(card.down(wide, all.size()), widened_all));

  const std::vector<float> numbers = floats_to_round();
  std::vector<BFloat16> rounded_numbers;
  Numbers rounded_floats;
  for (const float& x : numbers) {
    rounded_numbers.push_back(rounded(x));
    rounded_floats.push_back(widened(rounded(x)));
  }
  const auto from = card.up(numbers);
  const auto to = OneCard::unset<BFloat16>(numbers.size());
  const auto as_floats = OneCard::unset(numbers.size());
  const auto count = static_cast<std::int64_t>(numbers.size());
  convert_all(card.stream(), count, static_cast<const float*>(from.get()), to.get());
  convert_all(card.stream(), count, static_cast<const float*>(from.get()), as_floats.get());
  CHECK(equal_bits(card.down(to, numbers.size()), rounded_numbers));
  CHECK(equal_bits(card.down(as_floats, numbers.size()), rounded_floats));
}
