// SPDX-License-Identifier: MIT
// Room: core. Names that stand in headers of their own, declared in the front door: a forgotten #include is one sentence.
// Sees: core/unanswered.  Does not see: what the names mean.
// In: the use of a name whose header is not there.  Out: L17; the headers of backends, for L09 and L03.
#pragma once

#include <string_view>

#include "heddle/core/unanswered.hpp"

namespace heddle::inline backend_room {

struct CpuThreads;  // [heddle.L09] Fix: add #include <heddle/backend/cpu_threads.hpp>
struct CpuMpi;      // [heddle.L09] Fix: add #include <heddle/backend/cpu_mpi.hpp>

}  // namespace heddle::inline backend_room

namespace heddle::inline core_room {

/// The header of a backend that is declared here; empty of any other type.
template <class Backend> inline constexpr std::string_view header_of_backend;
template <> inline constexpr std::string_view header_of_backend<CpuThreads> = "heddle/backend/cpu_threads.hpp";
template <> inline constexpr std::string_view header_of_backend<CpuMpi> = "heddle/backend/cpu_mpi.hpp";

/// Specialised by the header that has what is named. The arguments make the answer wait until the name is used.
template <class Header, class... Given> inline constexpr bool is_included = false;

struct SyntheticHeader;
struct ExamplesHeader;

}  // namespace heddle::inline core_room

namespace heddle::inline io_room {

class Dataset;     // [heddle.L17] Fix: add #include <heddle/io/dataset.hpp>, <heddle/io/synthetic.hpp> or <heddle/io/idx.hpp>
class IdxDataset;  // [heddle.L17] Fix: add #include <heddle/io/idx.hpp>

/// L17, unless heddle/io/synthetic.hpp is included.
template <class... Given>
requires(!is_included<SyntheticHeader, Given...>) Unanswered synthetic(const Given&...) {
  static_assert(is_included<SyntheticHeader, Given...>,
                "[heddle.L17] synthetic() stands in a header that is not included. Fix: add #include <heddle/io/synthetic.hpp>.");
  return {};
}

}  // namespace heddle::inline io_room

namespace heddle::inline run_room {

/// L17, unless a header of Heddle has included heddle/run/examples.hpp.
template <class... Given>
requires(!is_included<ExamplesHeader, Given...>) Unanswered examples(const Given&...) {
  static_assert(is_included<ExamplesHeader, Given...>,
                "[heddle.L17] examples() stands in a header that is not included. Fix: add #include <heddle/backend/cpu_threads.hpp>.");
  return {};
}

}  // namespace heddle::inline run_room
