// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/embedding.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "compute/cuda/on_card.hpp"
#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"
#include "heddle/compute/eigen/embedding.hpp"

using namespace heddle;
using conformance::drawn;
using conformance::equal_bits;
using conformance::UploadedCuda;
using on_card::Card;

namespace {

/// A table with ids of its own, its output and its gradient; ids may lie outside the vocabulary.
struct Looked {
  Floats y, dw;

  template <class L, class C>
  static Looked up(const Leaf& leaf, std::int64_t rows, const std::vector<std::int32_t>& ids, int part = 0, bool add = false) {
    const std::int64_t n = rows * leaf.out.elements(), of_table = leaf.parameters[0].shape.elements();
    const Floats w = drawn(of_table, 2), dy = drawn(n, 3);
    Looked made{Floats(static_cast<std::size_t>(n), conformance::nan), drawn(of_table, 4)};
    const float* const parameters[] = {w.data()};
    float* const gradients[] = {made.dw.data()};
    run_room::KernelFor<L, C>::forward({&leaf, rows, nullptr, made.y.data(), parameters, nullptr, part, nullptr, ids.data()});
    run_room::KernelFor<L, C>::backward(
        {&leaf, rows, nullptr, nullptr, dy.data(), nullptr, parameters, gradients, add, nullptr, part, nullptr, ids.data()});
    return made;
  }
};
/// With Eigen, with the same bits: the same sums in the same order.
template <class L> bool looks_up_as_eigen(const Leaf& leaf, std::int64_t rows, const std::vector<std::int32_t>& ids, int part, bool add) {
  const Looked here = Looked::up<L, UploadedCuda>(leaf, rows, ids, part, add), there = Looked::up<L, EigenCompute>(leaf, rows, ids, part, add);
  return conformance::equal_numbers(here.y, there.y) && equal_bits(here.dw, there.dw);
}
/// Of which one in `often` is 1, and one in 50 no token.
std::vector<std::int32_t> tokens(std::int64_t count, std::int64_t vocabulary, std::uint64_t often) {
  std::vector<std::int32_t> ids;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint64_t bits = bits64(Seed{5}, 1, static_cast<std::uint64_t>(i));
    ids.push_back(bits % often == 0 ? 1
                  : bits % 50 == 7  ? -1 - static_cast<std::int32_t>(i)
                                    : static_cast<std::int32_t>((bits >> 20U) % static_cast<std::uint64_t>(vocabulary)));
  }
  return ids;
}

}  // namespace

TEST_CASE_TEMPLATE("a table looks up and sums on a card what loops in double do, of any ids", L, Embedding<5, 3>, Embedding<5, 3, PaddingIndex<2>>) {
  const Card card;
  CHECK(conformance::broken_law_of_layer<L, UploadedCuda>(20) == "");
}

TEST_CASE_TEMPLATE("gradients of a table are sums in the order of the ids, to the last bit, of ids that fill what a block keeps", L,
                   Embedding<60, 20>, Embedding<60, 5>, Embedding<60, 5, PaddingIndex<1>>) {
  const Card card;
  const Leaf leaf = L::describe(Spec{Shape{9}});
  for (const std::int64_t rows : {1, 114, 350})        // 9, 1,026 and 3,150 ids: a step reads 1,024, a block keeps 2,048
    for (const std::uint64_t often : {1, 3, 1'000}) {  // all are one token, many are, few are
      if (rows < 350 && often == 3) continue;
      CHECK(looks_up_as_eigen<L>(leaf, rows, tokens(rows * 9, 60, often), 0, rows == 114));
    }
}

TEST_CASE_TEMPLATE("a block that owns several rows, or a slice of their features, keeps them apart; so does a rank with a part of the table", L,
                   Embedding<1'030, 3>, Embedding<1'030, 136>, Embedding<1'030, 3, PaddingIndex<700>>) {
  const Card card(3);
  const Leaf leaf = L::describe(Spec{Shape{2, 30}});
  const auto ids = tokens(3 * 60, 40, 5);
  CHECK(looks_up_as_eigen<L>(leaf, 3, ids, 0, true));
  Leaf of_rank = leaf;
  of_rank.parameters[0].shape.sizes[0] = 515;
  auto far = ids;
  for (std::size_t i = 0; i < far.size(); i += 2) far[i] += 690;  // 700 is the padding
  for (int part = 0; part < 2; ++part) CHECK(looks_up_as_eigen<L>(of_rank, 3, far, part, false));
}
