// SPDX-License-Identifier: MIT
#include "heddle/backend/cuda_words.hpp"

#include <doctest/doctest.h>

#include <string_view>
#include <type_traits>

#include "heddle/backend/cpu_threads.hpp"
#include "heddle/backend/cuda_autotuned.hpp"
#include "heddle/backend/cuda_cudnn.hpp"
#include "heddle/backend/cuda_one_card.hpp"
#include "heddle/backend/cuda_tf32.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using backend_room::AutotunedWord;
using backend_room::CuDNNWord;
using backend_room::NamedInWord;
using backend_room::TF32Word;
using extending::Autotuned;
using extending::WithCuDNN;

namespace {

/// A session that keeps what it was told.
struct Kept {
  run_room::CardOptions cards;
  Kept(const run_room::TransportNeeds& needs, std::chrono::nanoseconds) : cards(needs.cards) {}
};
struct OnPaper {
  static constexpr bool on_gpus = true;
  using Session = Kept;
};
template <class Backend> run_room::CardOptions told() { return typename Backend::Session{run_room::TransportNeeds{}, {}}.cards; }

}  // namespace

TEST_CASE("each word tells the session its own, in any order of words, and nothing else") {
  CHECK(told<OnPaper>().in_words().view() == "TF32=off;cuDNN=off;autotuned=off;");
  CHECK(told<AllowTF32<OnPaper>>().in_words().view() == "TF32=on;cuDNN=off;autotuned=off;");
  CHECK(told<WithCuDNN<OnPaper>>().in_words().view() == "TF32=off;cuDNN=on;autotuned=off;");
  CHECK(told<Autotuned<OnPaper>>().in_words().view() == "TF32=off;cuDNN=off;autotuned=on;");
  CHECK(told<Autotuned<WithCuDNN<AllowTF32<OnPaper>>>>().in_words().view() == "TF32=on;cuDNN=on;autotuned=on;");
  CHECK(told<AllowTF32<Autotuned<WithCuDNN<OnPaper>>>>().in_words().view() == "TF32=on;cuDNN=on;autotuned=on;");
}

TEST_CASE("a backend without cards is refused by the name of the word") {
  static_assert(NamedInWord<CudaOneCard, CuDNNWord>::found.ok() && NamedInWord<CudaOneCard, AutotunedWord>::found.ok());
  CHECK(NamedInWord<CpuThreads, TF32Word>::found.sentence().view() ==
        "[heddle.L09] AllowTF32 names CpuThreads, which computes on cores and rounds no factors. Fix: name CudaOneCard, CudaThreads, CudaMpi or "
        "CudaFiles in it, or leave it out.");
  CHECK(NamedInWord<CpuThreads, CuDNNWord>::found.sentence().view().find("WithCuDNN names CpuThreads, which computes on cores. Fix: ") !=
        std::string_view::npos);
  CHECK(NamedInWord<CpuThreads, AutotunedWord>::found.sentence().view().find(
            "Autotuned names CpuThreads, which computes on cores and tries no algorithms. Fix: ") != std::string_view::npos);
}
