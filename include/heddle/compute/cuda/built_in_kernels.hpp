// SPDX-License-Identifier: MIT
// Room: compute. Every kernel of Heddle's own, with what it is launched with: what the unit of kernels has, in this order (src/cuda_kernels.cu). A
// file that g++ or clang compiles asks it for one by its number. What is not listed runs functions of the user, and needs nvcc.
// Sees: compute/cuda, graph/layers, graph/optimizers, core.  Does not see: policies, programs.
// In: nothing.  Out: BuiltInKernels, number_of_kernel, InTheUnit, hash_of_built_in_kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "heddle/compute/cuda/attention.hpp"
#include "heddle/compute/cuda/batch_norm.hpp"
#include "heddle/compute/cuda/concat.hpp"
#include "heddle/compute/cuda/convolution.hpp"
#include "heddle/compute/cuda/cross_entropy.hpp"
#include "heddle/compute/cuda/dropout.hpp"
#include "heddle/compute/cuda/elementwise.hpp"
#include "heddle/compute/cuda/embedding.hpp"
#include "heddle/compute/cuda/linear.hpp"
#include "heddle/compute/cuda/losses.hpp"
#include "heddle/compute/cuda/norm.hpp"
#include "heddle/compute/cuda/optimizers.hpp"
#include "heddle/compute/cuda/pool.hpp"
#include "heddle/compute/cuda/positions.hpp"
#include "heddle/compute/cuda/rescaling.hpp"
#include "heddle/compute/cuda/several_losses.hpp"
#include "heddle/compute/cuda/softmax.hpp"
#include "heddle/compute/cuda/square_sums.hpp"
#include "heddle/compute/cuda/step_kernels.hpp"
#include "heddle/compute/cuda/swiglu.hpp"
#include "heddle/core/fire.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/core/version.hpp"
#include "heddle/graph/layers/gelu.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/layers/sigmoid.hpp"
#include "heddle/graph/layers/silu.hpp"
#include "heddle/graph/layers/tanh.hpp"
#include "heddle/graph/optimizers/adam.hpp"
#include "heddle/graph/optimizers/sgd.hpp"

#if (defined(HEDDLE_CUDA_KERNELS) || defined(HEDDLE_CUDA_KERNELS_UNIT)) && __has_include("headers_hash.hpp")
#include "headers_hash.hpp"  // of CMake: beside this file where Heddle is installed
#endif

namespace heddle::compute_room {

#if defined(__CUDACC__)
using AnyBlock = CardBlock;
#else
using AnyBlock = ExecutedBlock;
#endif

// ---- lists of kernels
/// A list of kernels, as a type: each is a KernelOf.
template <class... K> struct KernelList {};
/// Lists behind one another: of the lists of 2 and 3 kernels it is one of 5.
template <class... Lists> struct JoinKernels { using type = KernelList<>; };
template <class... K> struct JoinKernels<KernelList<K...>> { using type = KernelList<K...>; };
template <class... A, class... B, class... Rest>
struct JoinKernels<KernelList<A...>, KernelList<B...>, Rest...> : JoinKernels<KernelList<A..., B...>, Rest...> {};
template <class... Lists> using Joined = typename JoinKernels<Lists...>::type;

/// The arguments of a call operator, as launches have them.
template <class K, class Call> struct Launches;
template <class K, class... A> struct Launches<K, void (K::*)(AnyBlock&, A...) const> { using type = KernelOf<K, typename AsLaunched<A>::type...>; };
/// A kernel with the arguments that its call operator takes; `T` are what that is a template of, behind the block.
template <class K, class... T> using BuiltIn = typename Launches<K, decltype(&K::template operator()<AnyBlock, T...>)>::type;

// ---- by what they are templates of
template <class Value, class... F> using OfFunctions = KernelList<BuiltIn<MapElements<F, Value>>..., BuiltIn<PullBackElements<F, Value>>...>;
template <class Value, class... F> using OfLosses = KernelList<BuiltIn<ElementwiseLossElements<F, Value>>...>;
template <class Rule, class Value, class... Way>
using OfTargets = KernelList<BuiltIn<CrossEntropyPositions<Rule, Value, BlockOfPacks>>, BuiltIn<CrossEntropyPositions<Rule, Value, Way>>...,
                             BuiltIn<CrossEntropyTerms<Rule, Value, Way>>..., BuiltIn<CrossEntropyOfTerms<Rule, Value, Way>>...>;
template <class Value, bool Logarithm, class... Way>
using OfSoftmax = KernelList<BuiltIn<SoftmaxForward<Value, Logarithm, Way>>..., BuiltIn<SoftmaxBackward<Value, Logarithm, Way>>...>;
template <class Value, bool Centred, class... Way>
using OfNorm = KernelList<BuiltIn<NormForward<Value, Centred, Way>>..., BuiltIn<NormBackward<Value, Centred, Way>>...>;
/// Of runs of `each` elements, which are 1 or whole packs.
template <class Value, int... each>
using OfRuns = KernelList<BuiltIn<JoinRuns<Value, each>>..., BuiltIn<CutRuns<Value, each>>..., BuiltIn<LookUpRows<Value, each>>...,
                          BuiltIn<AddPositions<Value, each>>..., BuiltIn<OpenGates<Value, each>>..., BuiltIn<PullBackGates<Value, each>>...>;
/// Of 1 or 4 columns at once, whatever the values are.
template <class Value, int... each>
using OfColumns =
    KernelList<BuiltIn<TurnPairs<Value, each>>..., BuiltIn<SumPositions<each>, Value>..., BuiltIn<SumTokens<each>, Value>...,
               BuiltIn<SumColumns<PlainTerms, each>, Value*>..., BuiltIn<SumColumns<NormTerms<true, true>, each>, Value*, Value*, float*>...,
               BuiltIn<SumColumns<NormTerms<true, false>, each>, Value*, Value*, float*>...,
               BuiltIn<SumColumns<NormTerms<false, false>, each>, Value*, Value*, float*>...>;
template <class Value, class Line>
using OfWindows = KernelList<BuiltIn<MeanOfWindows<Line>, Value>, BuiltIn<MeanOfLargeWindows<Line>, Value>, BuiltIn<MeanOfWindowsBack<Line>, Value>>;
template <class Value, bool Drops, int... Chunks>
using OfAttention =
    KernelList<BuiltIn<AttentionForward<Value, Chunks, Drops>>..., BuiltIn<AttentionQueryGradients<Value, Chunks, Drops>>...,
               BuiltIn<AttentionKeyGradients<Value, Chunks, Drops>>..., BuiltIn<AttentionForwardOnTensorCores<Value, Drops>>,
               BuiltIn<AttentionQueryGradientsOnTensorCores<Value, Drops>>, BuiltIn<AttentionKeyGradientsOnTensorCores<Value, Drops>>>;

using WarpOfFew = TeamWay<false, 2>;
using WarpOfMany = TeamWay<false, 8>;
using BlockOfOne = TeamWay<true, 8>;

/// All that values in float32, or in bfloat16, have.
template <class Value>
using OfValues =
    Joined<OfFunctions<Value, Leak, FunctionsOfLayer<graph_room::ReLU>, FunctionsOfLayer<graph_room::GELU>, FunctionsOfLayer<graph_room::GELUTanh>,
                       FunctionsOfLayer<graph_room::Sigmoid>, FunctionsOfLayer<graph_room::SiLU>, FunctionsOfLayer<graph_room::Tanh>>,
           OfLosses<Value, HuberOf, FunctionsOfLoss<SquaredError>, FunctionsOfLoss<graph_room::MeanAbsoluteError>,
                    FunctionsOfLoss<graph_room::BinaryCrossEntropy>>,
           OfTargets<RuleOfTargets<false>, Value, WarpOfFew, WarpOfMany, BlockOfOne>,
           OfTargets<RuleOfTargets<true>, Value, WarpOfFew, WarpOfMany, BlockOfOne>, OfSoftmax<Value, false, WarpOfFew, WarpOfMany, BlockOfOne>,
           OfSoftmax<Value, true, WarpOfFew, WarpOfMany, BlockOfOne>, OfNorm<Value, true, WarpOfNorm, TeamWay<true, 2>>,
           OfNorm<Value, false, WarpOfNorm, TeamWay<true, 2>>, OfRuns<Value, 1, Pack<Value>::count>, OfColumns<Value, 1, Pack<float>::count>,
           OfWindows<Value, SlidingLine>, OfWindows<Value, AdaptiveLine>,
           KernelList<BuiltIn<AddArrays<Value>>, BuiltIn<DropElements<Value>>, BuiltIn<RescaleBytes<Value>>, BuiltIn<MaxOfWindows, Value>,
                      BuiltIn<MaxOfWindowsBack, Value>, BuiltIn<SumChannelMoments, Value>, BuiltIn<NormaliseChannels, Value>,
                      BuiltIn<SumChannelGradients, Value>, BuiltIn<PullBackChannels, Value>, BuiltIn<OfEach<Scale>, CudaNumbers*, Value*>,
                      BuiltIn<OfEach<AddBias>, std::int64_t, std::int64_t, std::int64_t, std::int64_t, Value*, Value*>>>;

/// Those whose values are in float32 alone, and those of a step. An optimizer's is that of all its options, which are arguments.
using OfFloats =
    KernelList<BuiltIn<UpdateElements<graph_room::SGD>>, BuiltIn<UpdateElements<graph_room::MomentumSGD>>, BuiltIn<UpdateElements<graph_room::Adam>>,
               BuiltIn<UpdateElements<graph_room::AdamW>>, BuiltIn<FinishLoss>, BuiltIn<JoinLosses>, BuiltIn<TellChannels>, BuiltIn<PutChannelSums>,
               BuiltIn<AddShares>, BuiltIn<SumChannels>, BuiltIn<MakeAngles>, BuiltIn<GatherPatches>, BuiltIn<SpreadOutputs>, BuiltIn<CollectOutputs>,
               BuiltIn<GatherPixels>, BuiltIn<SumOfMembers>, BuiltIn<SumSquares>, BuiltIn<TreeOfParts>, BuiltIn<Unscale>, BuiltIn<TakeOverflow>,
               BuiltIn<TakeNorm>, BuiltIn<TreeOfLosses>, BuiltIn<GuardLosses>, BuiltIn<TakeGuard>, BuiltIn<ConvertAll<BFloat16, float>>,
               BuiltIn<ConvertAll<float, BFloat16>>, BuiltIn<ConvertAll<float, float>>, BuiltIn<OfEach<ClipAll>, CudaNumbers*, float*>,
               BuiltIn<OfEach<ClipEach>, CudaNumbers*, float*>, BuiltIn<OfEach<FoldTracked>, CudaNumbers*, float, float, float*, float*>>;

using BuiltInKernels =
    Joined<OfFloats, OfValues<float>, OfValues<BFloat16>, OfNorm<BFloat16, true, WarpOfPacks>, OfNorm<BFloat16, false, WarpOfPacks>,
           OfAttention<float, false, 1, 2, 4>, OfAttention<float, true, 1, 2, 4>, OfAttention<BFloat16, false, 4>, OfAttention<BFloat16, true, 4>>;

// ---- by number
/// A kernel with its place in the list: the third has the number 2.
template <int Number, class Kernel> struct Numbered {};
template <class Numbers, class List> struct NumberedKernels;
template <int... Number, class... Kernel>
struct NumberedKernels<std::integer_sequence<int, Number...>, KernelList<Kernel...>> : Numbered<Number, Kernel>... {};
template <class List> struct KernelsInOrder;
template <class... Kernel> struct KernelsInOrder<KernelList<Kernel...>> {
  static constexpr int count = sizeof...(Kernel);
  using Numbers = NumberedKernels<std::make_integer_sequence<int, count>, KernelList<Kernel...>>;
};
template <class Kernel, int Number> constexpr int number_among(const Numbered<Number, Kernel>* /*listed*/) { return Number; }
template <class Kernel> constexpr int number_among(const void* /*all*/) { return -1; }
/// The place of a kernel in the list: of KernelOf<UpdateElements<SGD>, ...> 0; -1 of one that is not listed.
///
/// Tested  compute/cuda/built_in_kernels_test
template <class Kernel> [[nodiscard]] constexpr int number_of_kernel() {
  return number_among<Kernel>(static_cast<const KernelsInOrder<BuiltInKernels>::Numbers*>(nullptr));
}

/// A number of the name of a kernel and of the bytes of its arguments, in their order.
template <class Kernel> struct HashedKernel;
template <class K, class... A> struct HashedKernel<KernelOf<K, A...>> {
  static constexpr std::uint64_t hash() {
    std::uint64_t hash = sizeof...(A);
    const auto fold = [&](std::uint64_t word) { hash = (hash ^ word) * 0x100000001B3ULL; };
    for (const char c : std::string_view{K::name}) fold(static_cast<unsigned char>(c));
    (..., fold(sizeof(A)));
    return hash;
  }
};
/// The same of all of them, of the version and, where CMake has hashed them, of all headers: kernels of one template have one name, and a kernel may
/// change what its arguments mean.
template <class... Kernel> [[nodiscard]] constexpr std::uint64_t hash_of_kernels(KernelList<Kernel...> /*all*/) {
  constexpr std::uint64_t each[] = {HashedKernel<Kernel>::hash()...};
#if defined(HEDDLE_HEADERS_HASH)
  std::uint64_t hash = HEDDLE_HEADERS_HASH;
#else
  std::uint64_t hash = HEDDLE_VERSION;
#endif
  for (const std::uint64_t one : each) hash = (hash ^ one) * 0x100000001B3ULL;
  return hash;
}
[[nodiscard]] constexpr std::uint64_t hash_of_built_in_kernels() { return hash_of_kernels(BuiltInKernels{}); }

}  // namespace heddle::compute_room

/// In heddle::cuda_kernels. The address of a kernel by its number; null if the unit was compiled from other headers. The name is what a linker says
/// where the library is missing.
extern "C" const void* heddle_R42_the_target_heddle_cuda_kernels_is_not_linked(int number, std::uint64_t hash);

#if defined(HEDDLE_CUDA_KERNELS) && !defined(__CUDACC__)
namespace heddle::compute_room {

/// What a kernel runs of the user: its own functions, or the kernel itself.
template <class K> struct OwnedBy { using type = K; };
template <class K>
requires requires { typename K::Given::Functions; }
struct OwnedBy<K> {
  using type = typename K::Given::Functions;
};

/// L28, with the name of what is the user's own.
template <class Own> struct NamedInHostFile {
  static constexpr Diagnosis found = Diagnosis{Code{'L', 28}, type_name<Own>().view()}
                                     << " is no layer, loss, optimizer or kernel of Heddle, so heddle::cuda_kernels does not have it, and the "
                                        "compiler of this file compiles nothing for a card. Fix: put the plan into a .cu file, which nvcc compiles.";
};
/// L28 of a kernel that the unit does not have; what a kernel of a layer or loss says as `refused`.
///
/// Tested  compute/cuda/built_in_kernels_test, fail/L28_own_functions_in_a_host_file
template <class K> struct RefusedHere {
  static constexpr bool listed = number_of_kernel<BuiltIn<K>>() >= 0;
  static constexpr Diagnosis found = listed ? Diagnosis{} : NamedInHostFile<typename OwnedBy<K>::type>::found;
};
/// The same where a kernel is launched that says nothing itself.
template <class Own, bool Listed> struct ListedKernel { static_assert(sizeof(fired<NamedInHostFile<Own>>) > 0); };
template <class Own> struct ListedKernel<Own, true> {};

/// One undefined name in a file, wherever it launches kernels. Errors  R42
[[nodiscard]] HEDDLE_COLD inline const void* kernel_of_unit(int number, const char* name) {
  constexpr std::uint64_t hash = hash_of_built_in_kernels();
  const void* const entry = heddle_R42_the_target_heddle_cuda_kernels_is_not_linked(number, hash);
  if (entry != nullptr) return entry;
  throw Error(Code{'R', 42}, std::string{"heddle::cuda_kernels was compiled from other headers than this program, which asks it for "} + name +
                                 ". Fix: build both from one version of Heddle.");
}

template <class K, class... A> struct InTheUnit<KernelOf<K, A...>> {
  static constexpr int number = number_of_kernel<KernelOf<K, A...>>();
  [[nodiscard]] static const void* entry() {
    static_assert(sizeof(ListedKernel<typename OwnedBy<K>::type, (number >= 0)>) > 0);
    static const void* const found = kernel_of_unit(number, K::name);
    return found;
  }
};

}  // namespace heddle::compute_room
#endif
