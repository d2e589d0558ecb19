// SPDX-License-Identifier: MIT
// What becomes of a touch of memory that is closed, given back or nobody's.
#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "grid.hpp"
#include "memory.hpp"
#include "state.hpp"

namespace cuda_emulator {
namespace {

constexpr int exit_code_of_a_trap = 99;

void trap(int, siginfo_t* info, void*) {
  if (OpenMemory::also(info->si_addr)) return;
  char place[160];
  state().memory.describe(info->si_addr, place, sizeof place);
  leave_kernel(place);
  char text[320];
  const int length =
      std::snprintf(text, sizeof text, "cuda_emulator: %s touches %s. Memory of a card is open to queued work alone.\n", who_runs(), place);
  [[maybe_unused]] ssize_t written = write(STDERR_FILENO, text, static_cast<std::size_t>(length));
  void* callers[30];
  backtrace_symbols_fd(callers, backtrace(callers, 30), STDERR_FILENO);
  _exit(exit_code_of_a_trap);
}

/// The handler needs a stack of its own where the one of a fiber is full.
class StackOfHandler {
 public:
  StackOfHandler() {
    stack_t there{};
    if (sigaltstack(nullptr, &there) == 0 && (there.ss_flags & SS_DISABLE) == 0) return;
    stack_t mine{};
    bytes_ = std::make_unique<char[]>(stack_bytes);
    mine.ss_sp = bytes_.get();
    mine.ss_size = stack_bytes;
    sigaltstack(&mine, nullptr);
  }
  ~StackOfHandler() {
    if (bytes_ == nullptr) return;
    stack_t none{};
    none.ss_flags = SS_DISABLE;
    sigaltstack(&none, nullptr);
  }
  StackOfHandler(const StackOfHandler&) = delete;
  StackOfHandler& operator=(const StackOfHandler&) = delete;

 private:
  static constexpr std::size_t stack_bytes = std::size_t{64} << 10;
  std::unique_ptr<char[]> bytes_;
};

}  // namespace

void watch_for_traps() {
  thread_local StackOfHandler stack;
  struct sigaction there {};
  sigaction(SIGSEGV, nullptr, &there);
  if (there.sa_sigaction == &trap) return;  // the main function of a test puts its own there before each test
  struct sigaction action {};
  action.sa_sigaction = &trap;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;  // a kernel is left without a return from the handler
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace cuda_emulator
