// SPDX-License-Identifier: MIT
#include "heddle/mesh/norm.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <type_traits>
#include <vector>

#include "mesh/echo.hpp"

using namespace heddle;
using tests::Echo;

using Gradients = std::vector<float>;

TEST_CASE("a norm is partial over exactly the axes on which the value is split") {
  const Distributed<Gradients, Shard<axis::shard>, Shard<axis::stage>> split{{3, 4}};
  const auto squares = squared_norm(split);
  static_assert(std::is_same_v<decltype(squares), const Distributed<SquaredNorm, Partial<axis::shard, axis::stage>>>);
  CHECK(squares.held_by_this_rank().squares == 25.0F);
  static_assert(std::is_same_v<decltype(squared_norm(Distributed<Gradients, Mean<axis::data>>{{}})), Distributed<SquaredNorm>>);
}

TEST_CASE("clip takes the reduced norm and leaves what is short enough") {
  Echo comm{axis::shard, 4};
  const Distributed<Gradients, Shard<axis::shard>> mine{{3, 4}};
  const auto norm = all_reduce<axis::shard>(comm, squared_norm(mine));  // 4 x 25: the norm is 10
  const auto clipped = clip(mine, norm, 5.0F);
  static_assert(std::is_same_v<decltype(clipped), const Distributed<Gradients, Shard<axis::shard>>>);
  const float factor = 5.0F / (10.0F + 1e-6F);
  CHECK(clipped.part() == Gradients{3 * factor, 4 * factor});
  CHECK(clip(mine, norm, 11.0F).part() == mine.part());
  CHECK(std::isnan(clip_factor(Distributed<SquaredNorm>{SquaredNorm{NAN}}, 1.0F).value()));  // never hides that a gradient is not finite
}

TEST_CASE("P17: clip refuses a norm of one part, and a number that says nothing") {
  const Diagnosis found = norm_is_reduced<Distributed<SquaredNorm, Partial<axis::stage>>>();
  CHECK(found.code == Code{'P', 17});
  CHECK(found.words.view().find("not yet summed over stage") != std::string_view::npos);
  CHECK(norm_is_reduced<float>().code == Code{'P', 17});
  CHECK(norm_is_reduced<Distributed<float>>().code == Code{'P', 17});
  CHECK(norm_is_reduced<Distributed<SquaredNorm>>().ok());
}
