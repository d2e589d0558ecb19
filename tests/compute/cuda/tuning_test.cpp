// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/tuning.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compute/cuda/on_card.hpp"
#include "compute/cuda/own_kernels.hpp"
#include "heddle/compute/cuda/launch.hpp"

using namespace heddle;
using namespace compute_room;

namespace {

/// Nothing: the emulator says that it takes 1 ms.
struct Waits {
  static constexpr const char* name = "Waits";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B&) const {}
};

}  // namespace

TEST_CASE("of some ways the fastest is taken, and the first where the others are hardly faster") {
  const on_card::Card card{{.known_times = true}};
  const Stream stream = make_stream();
  const CudaTuning tuning{stream.get()};
  const std::vector<int> kernels{4, 3, 2, 3};
  const auto run = [&](int way) {
    for (int k = 0; k < kernels[static_cast<std::size_t>(way)]; ++k) launch<Waits>(stream.get(), {1, 32});
  };
  const CudaTuning::Fastest best = tuning.fastest(4, run);
  CHECK(best.way == 2);
  CHECK(best.microseconds == doctest::Approx(2000));
  CHECK(best.first == doctest::Approx(4000));
  const CudaTuning::Fastest near = tuning.fastest(2, [&](int way) {
    for (int k = 0; k < 50 - way; ++k) launch<Waits>(stream.get(), {1, 32});
  });
  CHECK(near.way == 0);
  CHECK(near.microseconds == near.first);
  CHECK(CudaTuning::is_faster(0.96F, 1));
  CHECK_FALSE(CudaTuning::is_faster(0.98F, 1));
  CHECK(in_microseconds(38.25F) == "38.2 us");
}

TEST_CASE("a room is made once for its largest use, holds numbers, and is none where the card is full") {
  const on_card::Card card{{.device_bytes = 4096}};
  const Stream stream = make_stream();
  {
    CudaTuning tuning{stream.get()};
    std::byte* const room = tuning.room(0, 1024);
    REQUIRE(room != nullptr);
    CHECK(tuning.room(0, 100) == room);
    CHECK_FALSE(tuning.is_nan(room, ElementType::float32));
    CHECK_FALSE(tuning.is_nan(room, ElementType::bfloat16));
    check_cuda(cudaMemsetAsync(room, 0xff, 4, stream.get()), "cudaMemsetAsync");
    CHECK(tuning.is_nan(room, ElementType::float32));
    CHECK(tuning.is_nan(room, ElementType::bfloat16));
    CHECK(tuning.room(1, 8192) == nullptr);
    CHECK(cudaGetLastError() == cudaSuccess);
  }
  wait_for(stream.get());
}

TEST_CASE("what an earlier run has found and cannot be is told with its file") {
  const on_card::Card card;
  const Stream stream = make_stream();
  const CudaTuning tuning{stream.get(), {}, "tuned.txt"};
  CHECK_THROWS_WITH_AS(tuning.refuse_known("an algorithm that is none"),
                       "[heddle.R43] the tuned choices of 'tuned.txt' have an algorithm that is none. Fix: remove the file; the next trainer writes "
                       "it anew.",
                       HeddleError);
}

TEST_CASE("what is kept is what was found now, and what was known of products that were not met") {
  const on_card::Card card;
  const Stream stream = make_stream();
  TunedChoices known;
  known.algorithms["1,2"] = {1};
  known.algorithms["3,4"] = {2};
  known.together["5,6"] = true;
  CudaTuning tuning{stream.get(), known};
  CHECK(tuning.all() == known);
  tuning.found().algorithms["3,4"] = {7};
  tuning.found().together["7,8"] = false;
  TunedChoices both = known;
  both.algorithms["3,4"] = {7};
  both.together["7,8"] = false;
  CHECK(tuning.all() == both);
}
