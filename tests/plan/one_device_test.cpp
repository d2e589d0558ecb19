// SPDX-License-Identifier: MIT
#include "heddle/plan/one_device.hpp"

#include <doctest/doctest.h>

#include <string>
#include <type_traits>

#include "heddle/heddle.hpp"

using namespace heddle;
using plan_room::OneDeviceOf;

namespace {

struct Flat : Sequential<Linear<4, 12>, ReLU, Linear<12, 2>> {};
template <class Norm> struct Images : Sequential<Linear<4, 12>, Unflatten<3, 2, 2>, Norm, Flatten, Linear<12, 2>> {};
using Joined = Images<BatchNorm2d<3>>;
template <class Model, class Rows, class... Parts> using Of = Plan<Model, CrossEntropy, SGD, Rows, Parts...>;
// Requests: no plan here is lowered to name its rows.
template <class P> using Alone = typename OneDeviceOf<RequestOf<P>>::Unscaled;
template <class P> inline constexpr const BatchDivision& alone = RequestOf<Alone<P>>::batch;

}  // namespace

TEST_CASE("one device has the rows of the plan, and its clipping; where rows stand alone it has them as one grain") {
  using Whole = Of<Flat, Batch<16>, DataParallel<4>>;
  static_assert(std::is_same_v<OneDeviceOf<RequestOf<Whole>>::Unscaled, Plan<Flat, CrossEntropy, SGD, Batch<16>, Single>>);
  static_assert(RequestOf<Alone<Of<Flat, Batch<16>, DataParallel<4>, Clip<GlobalNorm>>>>::clips);
  static_assert(alone<Of<Flat, Batch<18, DropLast>, DataParallel<4>>>.batch == 16);
  static_assert(alone<Of<Images<Frozen<BatchNorm2d<3>>>, Batch<16>, DataParallel<4>>>.grains() == 1);
}

TEST_CASE("where a layer normalises rows together it has the grains of the plan, under every remedy") {
  static_assert(alone<Of<Joined, Batch<16>, DataParallel<4>>>.grain_rows == 4);
  static_assert(alone<Of<Joined, Batch<24>, DataParallel<3>, Clip<GlobalNorm>>>.grain_rows == 8);
  static_assert(RequestOf<Alone<Of<Joined, Batch<24>, DataParallel<3>, Clip<GlobalNorm>>>>::clips);
  static_assert(alone<Of<Joined, Batch<16>, DataParallel<2>, Accumulate<2>, Grain<2>>>.grain_rows == 2);
  static_assert(alone<Of<Joined, Batch<18, DropLast>, DataParallel<4>>>.grain_rows == 4);
  static_assert(alone<Of<Joined, Batch<48, KeepLast>, DataParallel<2>, Grain<16>>>.grain_rows == 16);
  static_assert(alone<Of<Joined, Batch<48, KeepLast>, DataParallel<2>, Grain<16>>>.capacity() == 64);
  static_assert(alone<Of<Joined, Batch<30, PadLast>, DataParallel<4>>>.grain_rows == 8);
  static_assert(alone<Of<Joined, Batch<30, PadLast>, DataParallel<4>>>.rounds == 4 &&
                alone<Of<Joined, Batch<30, PadLast>, DataParallel<4>>>.batch == 30);
}

TEST_CASE("unequal shares are no grains of one device, and nothing is asked where rows stand alone") {
  using Unequal = Of<Joined, Batch<16>, WeightedDataParallel<3, 1>>;
  CHECK(std::string{check_one_device(RequestOf<Unequal>::graph, RequestOf<Unequal>::batch).sentence().view()} ==
        "[heddle.B12] no device alone has the numbers of this plan: layer 2 '2' BatchNorm2d<3> normalises the rows of a grain together, and replicas "
        "take unequal shares of the batch, so their grains differ. Fix: compare the plan with DataParallel<2> in the place of WeightedDataParallel.");
  using Apart = Of<Flat, Batch<16>, WeightedDataParallel<3, 1>>;
  CHECK(check_one_device(RequestOf<Apart>::graph, RequestOf<Apart>::batch).ok());
  using Still = Of<Images<Frozen<BatchNorm2d<3>>>, Batch<16>, WeightedDataParallel<3, 1>>;
  CHECK(check_one_device(RequestOf<Still>::graph, RequestOf<Still>::batch).ok());
}

TEST_CASE("where ranks tell each other of a micro-batch, one device has micro-batches of the same rows, or none has") {
  using Told = Images<BatchNorm2d<3, Synchronised>>;
  static_assert(alone<Of<Told, Batch<16>, DataParallel<4>>>.grain_rows == 4 &&
                alone<Of<Told, Batch<16>, DataParallel<4>>>.total_micro_batches() == 1);
  static_assert(alone<Of<Told, Batch<16>, Single, Accumulate<4>>>.rounds == 4 && alone<Of<Told, Batch<16>, Single, Accumulate<4>>>.micro_rows == 4);
  static_assert(alone<Of<Told, Batch<30, PadLast>, DataParallel<4>>>.grains() == 1 &&
                alone<Of<Told, Batch<30, PadLast>, DataParallel<4>>>.batch == 30);
  static_assert(alone<Of<Told, Batch<18, DropLast>, DataParallel<4>>>.batch == 16);
  using Several = Of<Told, Batch<16>, DataParallel<2>, Accumulate<2>>;
  CHECK(std::string{check_one_device(RequestOf<Several>::graph, RequestOf<Several>::batch).sentence().view()} ==
        "[heddle.B12] no device alone has the numbers of this plan: layer 2 '2' BatchNorm2d<3, Synchronised> normalises the rows of a micro-batch of "
        "all "
        "ranks together, and the rows of one of the 2 micro-batches of 2 ranks do not lie side by side. Fix: compare a plan with one micro-batch, or "
        "one "
        "whose ranks do not split the batch.");
  using Unequal = Of<Told, Batch<16>, WeightedDataParallel<3, 1>>;
  CHECK(check_one_device(RequestOf<Unequal>::graph, RequestOf<Unequal>::batch).ok());
  struct Both : Sequential<Linear<4, 12>, Unflatten<3, 2, 2>, BatchNorm2d<3>, BatchNorm2d<3, Synchronised>, Flatten, Linear<12, 2>> {};
  using Padded = Of<Both, Batch<30, PadLast>, DataParallel<4>>;
  CHECK(std::string{check_one_device(RequestOf<Padded>::graph, RequestOf<Padded>::batch).sentence().view()}.find(
            " which PadLast fills up in another way on several ranks. Fix: name KeepLast in its place.") != std::string::npos);
  using Kept = Of<Both, Batch<30, KeepLast>, DataParallel<4>>;
  CHECK(check_one_device(RequestOf<Kept>::graph, RequestOf<Kept>::batch).ok());
}
