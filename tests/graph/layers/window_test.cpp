// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/window.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace heddle;
using graph_room::SlidingWindow, graph_room::window_of_pooling, graph_room::WindowFacts;

TEST_CASE("places are those of PyTorch's formula, rounded down") {
  constexpr SlidingWindow w{{3, 2}, {2, 3}, {1, 0}};
  static_assert(w.pixels() == 6);
  static_assert(w.places(0, 7) == 4 && w.places(0, 8) == 4 && w.places(0, 1) == 1 && w.places(1, 7) == 2 && w.places(1, 8) == 3);
  static_assert(w.places(1, 1) == 0 && SlidingWindow{{5, 5}}.places(0, 4) == 0 && SlidingWindow{{5, 5}}.places(0, 5) == 1);
}

TEST_CASE("the ranges of all windows together have each pixel as often as a walk over the padded image") {
  const SlidingWindow w{{3, 4}, {2, 1}, {1, 2}};
  for (int d = 0; d < 2; ++d)
    for (std::int64_t pixels = 3; pixels < 9; ++pixels)
      for (std::int64_t place = 0; place < w.places(d, pixels); ++place) {
        const auto range = w.range(d, place, pixels);
        std::int64_t inside = 0;
        for (std::int64_t k = 0; k < w.size[d]; ++k) {
          const std::int64_t at = place * w.stride[d] + k - w.padding[d];
          if (at < 0 || at >= pixels) continue;
          ++inside;
          CHECK(range.begin <= at);
          CHECK(at < range.end);
        }
        CHECK(range.end - range.begin == inside);
        CHECK(inside > 0);
      }
}

TEST_CASE("adaptive windows have every pixel, as PyTorch's divide them: side by side where their number divides the pixels") {
  constexpr graph_room::AdaptiveWindows three{{3, 1}};
  static_assert(three.range(0, 0, 5).begin == 0 && three.range(0, 0, 5).end == 2 && three.range(0, 1, 5).begin == 1 && three.range(0, 1, 5).end == 4);
  static_assert(three.range(0, 2, 5).begin == 3 && three.range(0, 2, 5).end == 5 && three.pixels(0, 5) == 7 && three.pixels(0, 6) == 6);
  static_assert(three.range(1, 0, 9).begin == 0 && three.range(1, 0, 9).end == 9 && three.share({0, 2}, {1, 3}) == 0.25F);
  for (std::int64_t count = 1; count < 12; ++count)
    for (std::int64_t pixels = 1; pixels < 12; ++pixels) {
      const graph_room::AdaptiveWindows w{{1, count}};
      std::int64_t next = 0;
      for (std::int64_t i = 0; i < count; ++i) {
        CHECK(w.range(1, i, pixels).begin <= next);
        CHECK(w.range(1, i, pixels).end > w.range(1, i, pixels).begin);
        next = w.range(1, i, pixels).end;
      }
      CHECK(next == pixels);
    }
}

TEST_CASE("options are taken in any order; a pooling without Stride steps by its size") {
  constexpr WindowFacts facts = window_of_pooling<Padding<1, 0>, KernelSize<3, 2>, Stride<2>>();
  static_assert(facts.window == SlidingWindow{{3, 2}, {2, 2}, {1, 0}} && facts.sound && facts.others == 0 && facts.named[1] == 1);
  static_assert(window_of_pooling<KernelSize<2, 3>>().window == SlidingWindow{{2, 3}, {2, 3}, {0, 0}});
  static_assert(window_of_pooling<KernelSize<2>, KernelSize<3>>().named[0] == 2 && window_of_pooling<int>().others == 1);
  static_assert(!window_of_pooling<KernelSize<>>().sound && !window_of_pooling<KernelSize<1, 2, 3>>().sound);
}

TEST_CASE("a window is spelled with what was named, and one number where height and width have the same") {
  const auto spelled = [](const WindowFacts& facts) {
    Text<64> text;
    graph_room::write_pooling(text, "MaxPool2d", facts);
    return std::string{text.view()};
  };
  CHECK(spelled(window_of_pooling<KernelSize<3>, Stride<2>, Padding<1>>()) == "MaxPool2d<KernelSize<3>, Stride<2>, Padding<1>>");
  CHECK(spelled(window_of_pooling<Stride<2, 1>, KernelSize<3, 3>>()) == "MaxPool2d<KernelSize<3>, Stride<2, 1>>");
  CHECK(spelled(window_of_pooling<>()) == "MaxPool2d<>");
}
