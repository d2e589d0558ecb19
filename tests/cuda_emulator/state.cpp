// SPDX-License-Identifier: MIT
// What a test says to the cards and asks of them, and what every call of the C APIs begins with.
#include "state.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <utility>

#include "nccl_ranks.hpp"
#include "queues.hpp"
#include "sanitizers.hpp"

namespace cuda_emulator {
namespace {

constexpr int identities_of_device = 8;
thread_local cudaError_t last_error_of_thread = cudaSuccess;
std::string& last_sentence() {
  thread_local std::string of_thread;
  return of_thread;
}

void make_cards(State& all) {
  const auto wanted = static_cast<std::size_t>(all.options.devices);
  for (std::size_t i = 0; i < all.devices.size(); ++i) {
    Device& card = all.devices[i];
    card.error = cudaSuccess;
    card.why.clear();
    card.collectives_running = 0;
    card.peak_bytes = card.held_bytes;
    card.peers.clear();
  }
  while (all.devices.size() < wanted) {
    Device card;
    for (int i = 0; i < identities_of_device; ++i) card.identities.push_back(tsan::create());
    all.devices.push_back(card);
  }
}
/// Of a program that never asks for cards itself, as an example: so many as HEDDLE_EMULATED_CARDS says, and ranks of NCCL that are processes where
/// HEDDLE_EMULATED_PROCESSES is set.
Options options_of_process() {
  Options options;
  if (const char* const cards = std::getenv("HEDDLE_EMULATED_CARDS")) options.devices = std::atoi(cards);
  options.processes = std::getenv("HEDDLE_EMULATED_PROCESSES") != nullptr;
  options.deadline_s = 100;
  return options;
}
void reset_locked(State& all, const Options& options) {
  all.there = true;
  all.options = options;
  current_device() = 0;
  last_error_of_thread = cudaSuccess;
  all.random.seed(options.seed);
  all.counts = {};
  all.violations.clear();
  all.refusals.clear();
  all.calls_to_failure = 0;
  all.failed_call.clear();
  all.captures.clear();
  all.communicators_fail = false;
  all.last_progress = std::chrono::steady_clock::now();
  all.memory.forget_given_back();
  make_cards(all);
  forget_lost_ranks();
}

}  // namespace

State& state() {
  static State* const all = new State;  // never destroyed: streams that are static objects of a test are given back later
  return *all;
}
int& current_device() {
  thread_local int number = 0;
  return number;
}
Device& device(int number) { return state().devices[static_cast<std::size_t>(number)]; }
cudaError_t error_of_card() {
  const State& all = state();
  if (all.options.driver_version < CUDART_VERSION / 1000 * 1000) return cudaErrorInsufficientDriver;
  return all.options.devices == 0 ? cudaErrorNoDevice : device(current_device()).error;
}
double chance() { return std::uniform_real_distribution<>(0, 1)(state().random); }

Call::Call(const char* name, Kind kind) : lock(state().mutex) {
  State& all = state();
  if (!all.there) reset_locked(all, options_of_process());
  watch_for_traps();
  ++all.counts.calls;
  if (kind == Kind::release) return;
  ++all.counts.fallible_calls;
  last_sentence().clear();
  if (all.calls_to_failure == 0 || --all.calls_to_failure > 0) return;
  failed_ = true;
  all.failed_call = name;
}

std::string why_last_call_failed() {
  const std::lock_guard lock(state().mutex);
  if (!last_sentence().empty()) return last_sentence();
  return state().options.devices > 0 && state().there ? device(current_device()).why : "";
}
void violation(const std::string& sentence) {
  const tsan::Silence silence;
  last_sentence() = sentence;
  state().violations.push_back(sentence);
}
void refusal(const std::string& sentence) {
  const tsan::Silence silence;
  last_sentence() = sentence;
  state().refusals.push_back(sentence);
}
void fault(int number, const std::string& sentence, cudaError_t error) {
  const tsan::Silence silence;
  violation(sentence);
  device(number).error = error;
  device(number).why = sentence;
}
cudaError_t noted(cudaError_t error) {
  if (error != cudaSuccess) last_error_of_thread = error;
  return error;
}
cudaError_t take_last_error() { return std::exchange(last_error_of_thread, cudaSuccess); }
cudaError_t last_error() { return last_error_of_thread; }

void reset(const Options& options) {
  const std::lock_guard lock(state().mutex);
  watch_for_traps();
  reset_locked(state(), options);
}
Counts counts() {
  const std::lock_guard lock(state().mutex);
  return state().counts;
}
std::vector<std::string> violations() {
  const std::lock_guard lock(state().mutex);
  return state().violations;
}
std::vector<std::string> refusals() {
  const std::lock_guard lock(state().mutex);
  return state().refusals;
}
std::string alive() {
  State& all = state();
  const std::lock_guard lock(all.mutex);
  std::map<std::string, std::size_t> there;
  there["allocations"] = all.memory.alive();
  there["streams"] = all.streams.size();
  there["events"] = all.events.size();
  there["graphs"] = all.graphs.size();
  there["runnable graphs"] = all.runnable_graphs.size();
  for (const auto& [object, kind] : all.library_objects) ++there[kind];
  std::ostringstream text;
  for (const auto& [kind, number] : there)
    if (number > 0) text << (text.tellp() > 0 ? ", " : "") << number << " " << kind;
  return text.str();
}
std::size_t peak_bytes(int number) {
  const std::lock_guard lock(state().mutex);
  return device(number).peak_bytes;
}
void fail_call(long number) {
  const std::lock_guard lock(state().mutex);
  state().calls_to_failure = number;
}
std::string failed_call() {
  const std::lock_guard lock(state().mutex);
  return state().failed_call;
}
void fail_communicators() {
  const std::lock_guard lock(state().mutex);
  state().communicators_fail = true;
}

}  // namespace cuda_emulator
