// SPDX-License-Identifier: MIT
#include "heddle/mesh/views.hpp"

#include <doctest/doctest.h>

#include <Eigen/Core>
#include <any>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#if !defined(__clang__) || __clang_major__ >= 16  // clang 14 cannot read the ranges of libstdc++ 12
#include <ranges>
#endif
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/mesh/norm.hpp"
#include "heddle/mesh/statistics.hpp"

using namespace heddle;

namespace {

struct Numbers {
  std::vector<float> values;
  float scale = 1;
  std::array<float, 3> more{};
};
struct WithSpan {
  int n = 0;
  std::span<float> values;
};
struct WithPointer {
  std::array<float, 2> own{};
  float* others = nullptr;
};
struct WithReference {
  float& other;
};
struct Nested {
  float first = 0;
  WithPointer inner;
};
struct Derived : WithPointer {};
struct WithAny {
  std::any anything;
};
class Hides {
 public:
  [[nodiscard]] float* data() { return others_; }
  [[nodiscard]] static std::size_t size() { return 1; }

 private:
  float* others_ = nullptr;
};

}  // namespace

TEST_CASE("numbers and what holds numbers of its own are no views") {
  static_assert(!looks_at_others<float> && !looks_at_others<int> && !looks_at_others<std::vector<float>> && !looks_at_others<std::array<float, 4>>);
  static_assert(!looks_at_others<std::string> && !looks_at_others<std::optional<float>> && !looks_at_others<Eigen::VectorXf>);
  static_assert(!looks_at_others<SquaredNorm> && !looks_at_others<WeightedSum> && !looks_at_others<MeanOf<4>>);
  CHECK_FALSE(looks_at_others<Numbers>);
}

TEST_CASE("pointers, references, spans, views of ranges and smart pointers look at what others hold") {
  static_assert(looks_at_others<float*> && looks_at_others<const float*> && looks_at_others<float&> && looks_at_others<const float&>);
  static_assert(looks_at_others<float[4]> && looks_at_others<std::span<float>> && looks_at_others<std::span<const float, 4>>);
  static_assert(looks_at_others<std::string_view>);
  static_assert(looks_at_others<std::shared_ptr<float>> && looks_at_others<std::reference_wrapper<float>>);
  static_assert(looks_at_others<std::vector<float>::iterator>);
  static_assert(looks_at_others<Eigen::Map<Eigen::VectorXf>> && looks_at_others<Eigen::Ref<Eigen::VectorXf>>);
#if !defined(__clang__) || __clang_major__ >= 16
  static_assert(looks_at_others<std::ranges::ref_view<std::vector<float>>>);
#endif
  CHECK(looks_at_others<std::span<float>>);
}

TEST_CASE("a struct that contains one of them is one, also through its members and bases") {
  static_assert(looks_at_others<WithSpan> && looks_at_others<WithPointer> && looks_at_others<WithReference>);
  static_assert(looks_at_others<Nested> && looks_at_others<Derived>);
  static_assert(!looks_at_others<WithAny>);  // nobody knows
  CHECK_FALSE(looks_at_others<Hides>);       // nobody knows
}
