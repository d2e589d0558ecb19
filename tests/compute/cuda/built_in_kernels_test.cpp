// SPDX-License-Identifier: MIT
// Compiled with HEDDLE_CUDA_KERNELS, as a file of the host's compiler is; the unit of kernels is src/cuda_kernels.cu, compiled for the emulator.
#include "heddle/compute/cuda/built_in_kernels.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "compute/cuda/on_card.hpp"
#include "cuda_emulator/one_card.hpp"
#include "says.hpp"

using namespace heddle;
using namespace compute_room;
using cuda_emulator::tests::OneCard;
using tests::sentence;

namespace {

struct Own {
  static constexpr const char* name = "Own";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B&, std::int64_t, float*) const {}
};
/// Numbers, names and counts of arguments of all kernels of a list, in its order.
struct Listed {
  int number;
  const char* name;
  int arguments;
};
template <class Kernel> struct ListedOf;
template <class K, class... A> struct ListedOf<KernelOf<K, A...>> {
  static constexpr Listed listed{number_of_kernel<KernelOf<K, A...>>(), K::name, static_cast<int>(sizeof...(A))};
};
template <class... Kernel> std::vector<Listed> listed_of(KernelList<Kernel...> /*all*/) { return {ListedOf<Kernel>::listed...}; }

const HostKernel* of_unit(int number, std::uint64_t hash) {
  return static_cast<const HostKernel*>(heddle_R42_the_target_heddle_cuda_kernels_is_not_linked(number, hash));
}

}  // namespace

static_assert(number_of_kernel<BuiltIn<UpdateElements<SGD>>>() == 0);
static_assert(Own::name[0] == 'O' && !Own::cooperative);
static_assert(number_of_kernel<KernelOf<Own, std::int64_t, float*>>() == -1);
static_assert(number_of_kernel<KernelOf<FinishLoss, int, double, double*, float*>>() == -1);  // an argument of another type is another kernel
static_assert(std::is_same_v<BuiltIn<FinishLoss>, KernelOf<FinishLoss, std::int64_t, double, double*, float*>>);
static_assert(RefusedHere<FinishLoss>::found.ok() && RefusedHere<Own>::found.code == Code{'L', 28});
static_assert(hash_of_kernels(KernelList<BuiltIn<FinishLoss>, BuiltIn<AddShares>>{}) !=
              hash_of_kernels(KernelList<BuiltIn<AddShares>, BuiltIn<FinishLoss>>{}));
static_assert(hash_of_kernels(KernelList<BuiltIn<FinishLoss>>{}) !=
              hash_of_kernels(KernelList<KernelOf<FinishLoss, int, double, double*, float*>>{}));

TEST_CASE("every kernel is listed once, and the unit has it under its number") {
  const std::vector<Listed> all = listed_of(BuiltInKernels{});
  CHECK(all.size() == KernelsInOrder<BuiltInKernels>::count);
  std::set<const HostKernel*> different;
  for (int i = 0; i < static_cast<int>(all.size()); ++i) {
    CAPTURE(all[i].name);
    CHECK(all[i].number == i);
    const HostKernel* const kernel = of_unit(i, hash_of_built_in_kernels());
    REQUIRE(kernel != nullptr);
    CHECK(kernel->name == std::string{all[i].name});
    CHECK(kernel->arguments == all[i].arguments);
    different.insert(kernel);
  }
  CHECK(different.size() == all.size());
}

TEST_CASE("a unit of other headers has nothing, which is R42") {
  CHECK(of_unit(0, hash_of_built_in_kernels() + 1) == nullptr);
  CHECK(of_unit(-1, hash_of_built_in_kernels()) == nullptr);
  CHECK(of_unit(KernelsInOrder<BuiltInKernels>::count, hash_of_built_in_kernels()) == nullptr);
  CHECK(sentence([] { static_cast<void>(kernel_of_unit(-1, "FinishLoss")); }) ==
        "[heddle.R42] heddle::cuda_kernels was compiled from other headers than this program, which asks it for FinishLoss. Fix: build both from one "
        "version of Heddle.");
}

TEST_CASE("a launch takes its kernel from the unit, with const arguments or without") {
  const on_card::Card emulated;
  const OneCard card;
  const auto from = card.up(8, 3.0F), to = card.up(8, -1.0F);
  launch<AddArrays<float>>(card.stream(), extents_of(8, 4), std::int64_t{8}, static_cast<const float*>(from.get()), from.get(), to.get());
  CHECK(card.down(to, 8) == std::vector<float>(8, 6.0F));
  CHECK(InTheUnit<BuiltIn<AddArrays<float>>>::entry() == of_unit(number_of_kernel<BuiltIn<AddArrays<float>>>(), hash_of_built_in_kernels()));
}
