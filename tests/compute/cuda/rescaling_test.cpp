// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/rescaling.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "compute/cuda/on_card.hpp"
#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"

using namespace heddle;
using conformance::UploadedCuda;
using on_card::Card;

TEST_CASE_TEMPLATE("bytes of any extents and rows become on a card the numbers that loops in double make of them", L, Rescaling<>, Rescaling<3, 7>) {
  const Card card;
  CHECK(conformance::broken_law_of_layer<L, UploadedCuda>(20) == "");
}

TEST_CASE("every byte has the bits of the table that the CPU looks up, as many as there are") {
  const Card card;
  for (const std::int64_t n : {1, 3, 4, 255, 256, 2051}) {
    std::vector<std::uint8_t> bytes;
    for (std::int64_t i = 0; i < n; ++i) bytes.push_back(static_cast<std::uint8_t>(i));
    const auto check = [&]<class L>() {
      Floats y(bytes.size(), conformance::nan);
      const Leaf leaf = L::describe(Spec{Shape{1}});
      ForwardCall call{&leaf, n, nullptr, y.data()};
      call.bytes = bytes.data();
      run_room::KernelFor<L, UploadedCuda>::forward(call);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < y.size(); ++i) wrong += y[i] == L::numbers()[bytes[i]] ? 0 : 1;
      CHECK(wrong == 0);
    };
    check.operator()<Rescaling<>>();
    check.operator()<Rescaling<1, 3>>();
    check.operator()<Rescaling<65'536, 65'535>>();
  }
}
