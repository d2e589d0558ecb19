// SPDX-License-Identifier: MIT
// Fibers on x86-64 switch by hand, in a dozen instructions; elsewhere, and with CUDA_EMULATOR_UCONTEXT, by ucontext, which asks the kernel each time.
#include "fibers.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "sanitizers.hpp"

#if !defined(__x86_64__) && !defined(CUDA_EMULATOR_UCONTEXT)
#define CUDA_EMULATOR_UCONTEXT
#endif
#if defined(CUDA_EMULATOR_UCONTEXT)
#include <ucontext.h>
#else
extern "C" void cuda_emulator_switch(void** from, void* to);
// The registers that a function must keep go onto the stack, and the stack is changed.
asm(R"(
.text
.globl cuda_emulator_switch
.type cuda_emulator_switch,@function
cuda_emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size cuda_emulator_switch,.-cuda_emulator_switch
)");
#endif

namespace cuda_emulator {
namespace {

constexpr std::size_t page = 4096;
#if defined(CUDA_EMULATOR_ASAN)
constexpr std::size_t stack_bytes = std::size_t{256} << 10;
#else
constexpr std::size_t stack_bytes = std::size_t{128} << 10;
#endif

#if defined(CUDA_EMULATOR_UCONTEXT)
struct Context {
  ucontext_t registers;
};
void jump(Context& from, Context& to) { swapcontext(&from.registers, &to.registers); }
void prepare(Context& context, char* stack, std::size_t /*number*/, void (*entry)()) {
  getcontext(&context.registers);
  context.registers.uc_stack.ss_sp = stack;
  context.registers.uc_stack.ss_size = stack_bytes;
  context.registers.uc_link = nullptr;
  makecontext(&context.registers, entry, 0);
}
#else
struct Context {
  void* stack_pointer = nullptr;
};
void jump(Context& from, Context& to) { cuda_emulator_switch(&from.stack_pointer, to.stack_pointer); }
/// Stacks that all began at one place of a page would have one another's lines of the first cache: 16 fibers beside each other have different places.
void prepare(Context& context, char* stack, std::size_t number, void (*entry)()) {
  constexpr int kept_registers = 6;
  constexpr std::size_t places = 16;
  auto** top = reinterpret_cast<void**>(stack + stack_bytes - number % places * (page / places));
  *--top = nullptr;  // the entry is reached by `ret`, after which the stack pointer + 8 must be a multiple of 16
  *--top = reinterpret_cast<void*>(entry);
  for (int i = 0; i < kept_registers; ++i) *--top = nullptr;
  context.stack_pointer = top;
}
#endif

}  // namespace

struct Fiber {
  Context context;
  char* stack = nullptr;
  std::size_t number = 0;
  void* asan_stack = nullptr;
  void* identity = nullptr;  // of the thread sanitizer
  void (*body)(void*) = nullptr;
  void* argument = nullptr;
  bool prepared = false;
};

namespace {

thread_local Fiber* running = nullptr;
thread_local Context host;
thread_local void* host_identity = nullptr;
[[maybe_unused]] thread_local void* host_asan_stack = nullptr;
[[maybe_unused]] thread_local const void* host_stack = nullptr;
[[maybe_unused]] thread_local std::size_t host_stack_bytes = 0;

void run_bodies() {
#if defined(CUDA_EMULATOR_ASAN)
  __sanitizer_finish_switch_fiber(nullptr, &host_stack, &host_stack_bytes);
#endif
  for (;;) {
    running->body(running->argument);
    pause_fiber();
  }
}

class Fibers {
 public:
  Fibers() = default;
  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;
  ~Fibers() {
    for (auto& made : all_) {
      abandon(*made);
      munmap(made->stack - page, stack_bytes + page);
    }
  }
  Fiber& at(std::size_t number) {
    const tsan::Silence silence;
    while (all_.size() <= number) {
      all_.push_back(std::make_unique<Fiber>());
      void* const pages = mmap(nullptr, stack_bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (pages == MAP_FAILED) std::abort();
      mprotect(pages, page, PROT_NONE);
      all_.back()->stack = static_cast<char*>(pages) + page;
      all_.back()->number = all_.size() - 1;
    }
    return *all_[number];
  }

 private:
  std::vector<std::unique_ptr<Fiber>> all_;
};

}  // namespace

Fiber& fiber(std::size_t number) {
  thread_local Fibers fibers;
  return fibers.at(number);
}
void give(Fiber& fiber, void (*body)(void*), void* argument) {
  fiber.body = body;
  fiber.argument = argument;
  if (fiber.prepared) return;
  prepare(fiber.context, fiber.stack, fiber.number, &run_bodies);
  fiber.identity = tsan::create();
  fiber.prepared = true;
}
void go_on(Fiber& fiber) {
  running = &fiber;
  host_identity = tsan::current();
#if defined(CUDA_EMULATOR_ASAN)
  __sanitizer_start_switch_fiber(&host_asan_stack, fiber.stack, stack_bytes);
#endif
  tsan::become(fiber.identity);
  jump(host, fiber.context);
#if defined(CUDA_EMULATOR_ASAN)
  __sanitizer_finish_switch_fiber(host_asan_stack, nullptr, nullptr);
#endif
}
void pause_fiber() {
  Fiber& mine = *running;
  tsan::become(host_identity);
#if defined(CUDA_EMULATOR_ASAN)
  __sanitizer_start_switch_fiber(&mine.asan_stack, host_stack, host_stack_bytes);
#endif
  jump(mine.context, host);
#if defined(CUDA_EMULATOR_ASAN)
  __sanitizer_finish_switch_fiber(mine.asan_stack, &host_stack, &host_stack_bytes);
#endif
}
void abandon(Fiber& fiber) {
  if (!fiber.prepared) return;
  fiber.prepared = false;
  tsan::destroy(fiber.identity);
  asan::allow(fiber.stack, stack_bytes);
  if (tsan::on) mmap(fiber.stack, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);  // no history
}

}  // namespace cuda_emulator
