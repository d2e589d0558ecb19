// SPDX-License-Identifier: MIT
// Room: core. Names that stand in headers of their own, declared in the front door: a forgotten #include is one sentence.
// Sees: core/unanswered, core/refused.  Does not see: what the names mean.
// In: the use of a name whose header is not there.  Out: L17; the headers of backends, for L09 and L03.
#pragma once

#include <string_view>
#include <type_traits>

#include "heddle/core/refused.hpp"
#include "heddle/core/unanswered.hpp"
#include "heddle/core/units.hpp"

namespace heddle::backend_room {

struct CpuThreads;    // [heddle.L09] Fix: add #include <heddle/backend/cpu_threads.hpp>
struct CpuMpi;        // [heddle.L09] Fix: add #include <heddle/backend/cpu_mpi.hpp>
struct CudaOneCard;   // [heddle.L09] Fix: add #include <heddle/backend/cuda_one_card.hpp>
struct CudaThreads;   // [heddle.L09] Fix: add #include <heddle/backend/cuda_threads.hpp>
struct CudaMpi;       // [heddle.L09] Fix: add #include <heddle/backend/cuda_mpi.hpp>
struct CudaFiles;     // [heddle.L09] Fix: add #include <heddle/backend/cuda_files.hpp>
struct TF32Word;      // of AllowTF32
struct FieldThreads;  // [heddle.L17] Fix: add #include <heddle/backend/field_threads.hpp>
struct FieldMpi;      // [heddle.L17] Fix: add #include <heddle/backend/field_mpi.hpp>

}  // namespace heddle::backend_room

namespace heddle::core_room {

/// The header of a backend that is declared here; empty of any other type.
template <class Backend> inline constexpr std::string_view header_of_backend;
template <> inline constexpr std::string_view header_of_backend<backend_room::CpuThreads> = "heddle/backend/cpu_threads.hpp";
template <> inline constexpr std::string_view header_of_backend<backend_room::CpuMpi> = "heddle/backend/cpu_mpi.hpp";
template <> inline constexpr std::string_view header_of_backend<backend_room::CudaOneCard> = "heddle/backend/cuda_one_card.hpp";
template <> inline constexpr std::string_view header_of_backend<backend_room::CudaThreads> = "heddle/backend/cuda_threads.hpp";
template <> inline constexpr std::string_view header_of_backend<backend_room::CudaMpi> = "heddle/backend/cuda_mpi.hpp";
template <> inline constexpr std::string_view header_of_backend<backend_room::CudaFiles> = "heddle/backend/cuda_files.hpp";

/// Specialised by the header that has what is named. The arguments make the answer wait until the name is used.
template <class Header, class... Given> inline constexpr bool is_included = false;

struct SyntheticHeader;
struct SeveralTargetsHeader;
struct SequencesHeader;
struct GzipHeader;
struct ExamplesHeader;
struct SummaryHeader;
struct DifferenceHeader;
struct RunMainHeader;
struct WithPlanHeader;
struct ByRankHeader;
struct ProofHeader;
struct TF32Header;

/// What run_main is given: worse than every other parameter, so that a program's own run_main is taken.
struct AnyBody {
  template <class Body> AnyBody(const Body&) {}  // NOLINT(google-explicit-constructor)
};
/// In place of MainOptions, of run_main; it has the same 2 members.
struct AnyMainOptions {
  std::string_view program{};
  void (*before_words)() = nullptr;
};

/// In place of a Difference; tests/house/stand_ins.py compares them.
struct UnansweredDifference : RefusedAnswer {
  RefusedNumber first, second;
  RefusedFact same_bits;
  RefusedWord<RefusedNumber> devices, messages, idle_percent, instructions;
  RefusedWord<RefusedBytes> memory, moved;
  [[nodiscard]] Unanswered text() const { return {}; }
};

}  // namespace heddle::core_room

namespace heddle::backend_room {

/// L17, unless heddle/backend/cuda_tf32.hpp is included.
template <class Word, class Backend> struct BackendWith {
  static_assert(is_included<TF32Header, Backend>,
                "[heddle.L17] AllowTF32 stands in a header that is not included. Fix: add #include <heddle/backend/cuda_tf32.hpp>.");
  using type = Backend;
};
template <class Backend> using AllowTF32 = typename BackendWith<TF32Word, Backend>::type;

}  // namespace heddle::backend_room

namespace heddle::io_room {

class Dataset;       // [heddle.L17] Fix: add #include <heddle/io/dataset.hpp>, <heddle/io/synthetic.hpp> or <heddle/io/idx.hpp>
class IdxDataset;    // [heddle.L17] Fix: add #include <heddle/io/idx.hpp>
class TokenDataset;  // [heddle.L17] Fix: add #include <heddle/io/token_dataset.hpp> or <heddle/io/sequences.hpp>

/// L17, unless heddle/io/synthetic.hpp is included.
template <class... Given>
requires(!is_included<SyntheticHeader, Given...>) Unanswered synthetic(const Given&...) {
  static_assert(is_included<SyntheticHeader, Given...>,
                "[heddle.L17] datasets::synthetic() stands in a header that is not included. Fix: add #include <heddle/io/synthetic.hpp>.");
  return {};
}

template <class... Given>
requires(!is_included<SyntheticHeader, Given...>) Unanswered synthetic_regression(const Given&...) {
  static_assert(
      is_included<SyntheticHeader, Given...>,
      "[heddle.L17] datasets::synthetic_regression() stands in a header that is not included. Fix: add #include <heddle/io/synthetic.hpp>.");
  return {};
}
template <class... Given>
requires(!is_included<SyntheticHeader, Given...>) Unanswered synthetic_tokens(const Given&...) {
  static_assert(is_included<SyntheticHeader, Given...>,
                "[heddle.L17] datasets::synthetic_tokens() stands in a header that is not included. Fix: add #include <heddle/io/synthetic.hpp>.");
  return {};
}

/// L17, unless heddle/io/several_targets.hpp is included.
template <class... Given>
requires(!is_included<SeveralTargetsHeader, Given...>) Unanswered with_targets(const Given&...) {
  static_assert(is_included<SeveralTargetsHeader, Given...>,
                "[heddle.L17] datasets::with_targets() stands in a header that is not included. Fix: add #include <heddle/io/several_targets.hpp>.");
  return {};
}

/// In place of Windows; tests/house/stand_ins.py compares them.
struct AnyWindows {
  AnyBody length = 0, stride = 0, predict = 0;
};

/// L17, unless heddle/io/sequences.hpp is included.
template <class Tokens, class Vocabulary>
requires(!is_included<SequencesHeader, Tokens, Vocabulary>) Unanswered next_token_rows(const Tokens&, const Vocabulary&, AnyWindows) {
  static_assert(is_included<SequencesHeader, Tokens, Vocabulary>,
                "[heddle.L17] datasets::next_token_rows() stands in a header that is not included. Fix: add #include <heddle/io/sequences.hpp>.");
  return {};
}

/// L17, unless heddle/io/gzip.hpp is included.
template <class Data = void, class... Given>
requires(!is_included<GzipHeader, Data, Given...>) Unanswered load_idx(const Given&...) {
  static_assert(
      is_included<GzipHeader, Data, Given...>,
      "[heddle.L17] datasets::load_idx() stands in a header that is not included. Fix: add #include <heddle/io/gzip.hpp>, which needs zlib (-lz).");
  return {};
}

}  // namespace heddle::io_room

namespace heddle::run_room {

/// L17, unless a header of Heddle has included heddle/run/examples.hpp.
template <class... Given>
requires(!is_included<ExamplesHeader, Given...>) Unanswered examples(const Given&...) {
  static_assert(is_included<ExamplesHeader, Given...>,
                "[heddle.L17] examples() stands in a header that is not included. Fix: add #include <heddle/backend/cpu_threads.hpp>.");
  return {};
}

/// L17, unless heddle/run/run_main.hpp is included.
template <class Given = AnyBody>
requires(!is_included<RunMainHeader, Given>) int run_main(const AnyBody&, AnyMainOptions = {}) {
  static_assert(is_included<RunMainHeader, Given>,
                "[heddle.L17] run_main() stands in a header that is not included. Fix: add #include <heddle/run/run_main.hpp>.");
  return 1;
}

// What is called with types: the pack at the end makes a program's own function of the name and the types the better one.
/// L17, unless heddle/run/with_plan.hpp is included.
template <class Set, class... Given>
requires(!is_included<WithPlanHeader, Set, Given...>) RefusedNumber with_plan(const Given&...) {
  static_assert(is_included<WithPlanHeader, Set, Given...>,
                "[heddle.L17] with_plan() stands in a header that is not included. Fix: add #include <heddle/run/with_plan.hpp>.");
  return {};
}

/// L17, unless heddle/run/by_rank.hpp is included: a backend includes it.
template <class ThePlan, class Given>
requires(std::is_same_v<Given, Rank> && !is_included<ByRankHeader, ThePlan, Given>) constexpr RefusedBytes peak_memory(Given) {
  static_assert(is_included<ByRankHeader, ThePlan, Given>,
                "[heddle.L17] peak_memory() of a Rank stands in a header that is not included. Fix: add #include <heddle/run/by_rank.hpp>, or ask "
                "peak_memory<MyPlan>(device<0>).");
  return {};
}

}  // namespace heddle::run_room

namespace heddle::report_room {

/// L17, unless heddle/report/summary.hpp is included.
template <class Asked, class... Given>
requires(!is_included<SummaryHeader, Asked, Given...>) Unanswered summary(const Given&...) {
  static_assert(is_included<SummaryHeader, Asked, Given...>,
                "[heddle.L17] summary() stands in a header that is not included. Fix: add #include <heddle/report/summary.hpp>.");
  return {};
}

/// L17, unless heddle/report/difference.hpp is included.
template <class A, class B, class... Given>
requires(!is_included<DifferenceHeader, A, B, Given...>) constexpr UnansweredDifference difference(const Given&...) {
  static_assert(is_included<DifferenceHeader, A, B, Given...>,
                "[heddle.L17] difference() stands in a header that is not included. Fix: add #include <heddle/report/difference.hpp>.");
  return {};
}

}  // namespace heddle::report_room

namespace heddle::proof_room {

struct Proof;  // [heddle.L17] Fix: add #include <heddle/backend/field_threads.hpp>

/// In place of ProofOptions; tests/house/stand_ins.py compares them.
struct AnyProofOptions {
  AnyBody seed = 0, deadline = 0, most_draws = 0;
};

/// L17, unless heddle/proof/prove.hpp is included: a backend of the field includes it.
template <class ThePlan, class Backend = void, class... Given>
requires(!is_included<ProofHeader, ThePlan, Backend, Given...>) Unanswered prove(AnyProofOptions = {}, const Given&...) {
  static_assert(is_included<ProofHeader, ThePlan, Backend, Given...>,
                "[heddle.L17] prove() stands in a header that is not included. Fix: add #include <heddle/backend/field_threads.hpp>.");
  return {};
}

}  // namespace heddle::proof_room

namespace heddle {
using backend_room::AllowTF32, backend_room::CpuMpi, backend_room::CpuThreads, backend_room::CudaFiles, backend_room::CudaMpi,
    backend_room::CudaOneCard, backend_room::CudaThreads;
using proof_room::prove, report_room::difference, report_room::summary;
using run_room::examples, run_room::peak_memory, run_room::run_main, run_room::with_plan;
}  // namespace heddle

namespace heddle::extending {
using backend_room::FieldMpi, backend_room::FieldThreads, proof_room::Proof;
}  // namespace heddle::extending

namespace heddle::datasets {
using io_room::Dataset, io_room::IdxDataset, io_room::TokenDataset, io_room::load_idx, io_room::next_token_rows, io_room::synthetic,
    io_room::synthetic_regression, io_room::synthetic_tokens, io_room::with_targets;
}  // namespace heddle::datasets
