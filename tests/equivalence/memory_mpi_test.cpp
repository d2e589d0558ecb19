// SPDX-License-Identifier: MIT
// What a process takes beside MPI, which allocates as it pleases: every operator new is counted.
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "equivalence/processes.hpp"

namespace counted {
std::atomic<long> allocations{0};

void* take(void* memory) {
  if (memory == nullptr) throw std::bad_alloc{};
  allocations.fetch_add(1);
  return memory;
}
void* take_lines(std::size_t bytes, std::align_val_t alignment) {
  const auto multiple = static_cast<std::size_t>(alignment);
  return take(std::aligned_alloc(multiple, (bytes + multiple - 1) / multiple * multiple));
}
}  // namespace counted

// noinline: g++ 12 takes an inlined replacement for a mismatched pair.
[[gnu::noinline]] void* operator new(std::size_t bytes) { return counted::take(std::malloc(bytes)); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) { return counted::take_lines(bytes, alignment); }
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return counted::take_lines(bytes, alignment);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

using namespace equivalence;

namespace {

struct Narrow : Sequential<Linear<24, 32>, ReLU, Linear<32, 32>, ReLU, Linear<32, 10>> {};
struct Positions : Sequential<Input<4, 32>, Linear<32, 32>, Residual<Linear<32, 64>, ReLU, Linear<64, 32>>> {};
/// Values of many rows beside few parameters: the largest sums are those in bodies.
template <class Model, class... Parts> using Many = Plan<Model, MeanSquaredError, Adam, Batch<512>, Parts...>;

template <class ThePlan> void first_step_allocates_nothing() {
  CAPTURE(std::string{type_name<typename ThePlan::Request::ThePolicy>().view()});
  const FirstRanks ranks{devices<ThePlan>};
  if (!ranks.taking_part()) return;
  const auto rows = rows_of<ThePlan>(512);
  Trainer<ThePlan, CpuMpi> trainer{settings<Adam>(), Seed{5}};
  const auto batch = rows.batch(0, 512);
  const long before = counted::allocations.load();
  trainer.step(batch);
  CHECK(counted::allocations.load() - before == 0);
}

}  // namespace

TEST_CASE("the first step allocates nothing: the transport knows the largest sum, in a list or in a body") {
  first_step_allocates_nothing<Many<Narrow, DataParallel<4>, Clip<GlobalNorm>>>();
  first_step_allocates_nothing<Many<Narrow, TensorParallel<2>>>();
  first_step_allocates_nothing<Many<Narrow, Hybrid<TensorParallel<2>, Sharded<2>>, Clip<GlobalNorm>>>();
  first_step_allocates_nothing<Many<Positions, TensorParallel<4, SequenceParallel>>>();
  first_step_allocates_nothing<Many<Narrow, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>>();
}
