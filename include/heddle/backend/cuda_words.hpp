// SPDX-License-Identifier: MIT
// Room: backend. What the words around a backend of cards have in common: each is said to the sessions of the backend that it names.
// Sees: run/card_options, run/transport_needs, core.  Does not see: which transport, kernels, any word.
// In: a backend, a word.  Out: ComputesOnCards, SaidTo, WordOn.
#pragma once

#include <chrono>
#include <string_view>
#include <type_traits>

#include "heddle/core/fire.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/rule.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/run/card_options.hpp"
#include "heddle/run/transport_needs.hpp"

namespace heddle::backend_room {

/// A backend that computes on cards.
template <class Backend>
concept ComputesOnCards = requires {
  requires Backend::on_gpus;
};

/// A session of cards to which a word is said: it asks for them as every session does, and Word::say(options) before.
template <class Session, class Word> class SessionTold : public Session {
 public:
  HEDDLE_APART SessionTold(const run_room::TransportNeeds& needs, std::chrono::nanoseconds deadline) : Session(told(needs), deadline) {}

 private:
  [[nodiscard]] static run_room::TransportNeeds told(run_room::TransportNeeds needs) {
    Word::say(needs.cards);
    return needs;
  }
};
/// A backend of cards whose sessions are told a word: SaidTo<CudaOneCard, TF32Word>.
template <class Backend, class Word> struct SaidTo : Backend { using Session = SessionTold<typename Backend::Session, Word>; };

/// L09 of a backend without cards.
template <class Backend, class Word> struct NamedInWord {
  static constexpr Diagnosis found = [] {
    if (ComputesOnCards<Backend>) return Diagnosis{};
    return Diagnosis{Code{'L', 9}, Word::name} << " names " << type_name<Backend>().view() << ", which computes on cores" << Word::and_so
                                               << ". Fix: name CudaOneCard, CudaThreads, CudaMpi or CudaFiles in it, or leave it out.";
  }();
};
/// What a word makes of a backend. Refused where it is named, before a Trainer asks what it is. A Word has
///   static constexpr std::string_view name, and_so;   its name and, for L09, what cores do not do because of it, or ""
///   static void say(run_room::CardOptions&);          what it says
///   template <class Backend> using On = ...;          a backend that derives from SaidTo<Backend, Word>
///
/// Errors  L09
/// Tested  backend/cuda_words_test
template <class Word, class Backend> struct WordOn {
  static_assert(sizeof(fired<NamedInWord<Backend, Word>>) > 0);
  using type = std::conditional_t<ComputesOnCards<Backend>, typename Word::template On<Backend>, Backend>;
};

}  // namespace heddle::backend_room
