// SPDX-License-Identifier: MIT
#include "compute/eigen/counted_allocations.hpp"

#include <doctest/doctest.h>

#include "compute/eigen/arrays.hpp"
#include "heddle/backend/cpu.hpp"
#include "heddle/compute/eigen/embedding.hpp"

using namespace heddle;
using arrays::Array;

namespace {

/// One table with random rows, ids that repeat, and the part of it that one of some ranks has.
struct Bench {
  Leaf leaf;
  std::int64_t rows, ids, tokens, features;
  std::vector<std::int32_t> x;
  Array w, y, dy, dw;

  Bench(const Leaf& described, std::int64_t samples)
      : leaf(described), rows(samples), ids(samples * leaf.in.elements()), tokens(leaf.parameters[0].shape.sizes[0]),
        features(leaf.parameters[0].shape.last()), w(tokens * features, 2), y(ids * features, 0, arrays::nan), dy(ids * features, 4),
        dw(tokens * features, 5) {
    for (std::int64_t i = 0; i < ids; ++i) x.push_back(static_cast<std::int32_t>((5 * i + i / 3) % leaf.vocabulary));
  }
  template <class L> void forward(int part = 0) {
    const float* const parameters[] = {w.data()};
    Kernel<L, EigenCompute>::forward({&leaf, rows, nullptr, y.data(), parameters, nullptr, part, nullptr, x.data()});
  }
  template <class L> void backward(bool add, int part = 0) {
    const float* const parameters[] = {w.data()};
    float* const gradients[] = {dw.data()};
    Kernel<L, EigenCompute>::backward(
        {&leaf, rows, nullptr, nullptr, dy.data(), nullptr, parameters, gradients, add, nullptr, part, nullptr, x.data()});
  }
};

/// The slow reference: every row of the table asks every id, in order.
void reference_gradient(const Bench& t, std::int64_t first, bool add, const Array& start, const Array& wanted) {
  for (std::int64_t token = 0; token < t.tokens; ++token)
    for (std::int64_t j = 0; j < t.features; ++j) {
      float sum = add ? start[token * t.features + j] : 0;
      for (std::int64_t i = 0; i < t.ids; ++i)
        if (t.x[static_cast<std::size_t>(i)] == first + token && first + token != t.leaf.parameters[0].padding_row) sum += t.dy[i * t.features + j];
      wanted[token * t.features + j] = sum;
    }
}

template <std::int64_t Tokens, std::int64_t Features, class... Options> void check(std::int64_t samples) {
  using L = Embedding<Tokens, Features, Options...>;
  CAPTURE(samples);
  Bench t(L::describe(Spec{Shape{2, 3}}), samples);
  t.template forward<L>();
  std::int64_t wrong = 0;
  for (std::int64_t i = 0; i < t.ids; ++i)
    for (std::int64_t j = 0; j < Features; ++j) wrong += t.y[i * Features + j] == t.w[t.x[static_cast<std::size_t>(i)] * Features + j] ? 0 : 1;
  CHECK(wrong == 0);
  for (const bool add : {false, true}) {
    const Array start = t.dw;
    const Array wanted(t.tokens * Features);
    reference_gradient(t, 0, add, start, wanted);
    t.template backward<L>(add);
    CHECK(t.dw.same_bits(wanted));  // the same sums in the same order
  }
  CHECK((t.y.guarded() && t.dw.guarded()));
}

}  // namespace

TEST_CASE("a lookup copies rows of the table, its gradient adds them up in the order of the ids, to the last bit") {
  for (const std::int64_t samples : {0, 1, 2, 7}) {
    check<1, 1>(samples);
    check<5, 16>(samples);
    check<11, 8>(samples);
    check<11, 8, PaddingIndex<0>>(samples);
    check<40, 33>(samples);
  }
}

TEST_CASE_TEMPLATE("a part of the table gives zeros for the tokens of others, and parts add up to the whole", L, Embedding<12, 5>,
                   Embedding<12, 5, PaddingIndex<6>>) {
  Bench whole(L::describe(Spec{Shape{4}}), 6);
  whole.forward<L>();
  whole.backward<L>(false);
  const Array sum(whole.ids * 5);
  for (int part = 0; part < 3; ++part) {
    Bench t(local_leaf(whole.leaf, whole.leaf.signatures[0], 3), 6);
    for (std::int64_t i = 0; i < t.tokens * 5; ++i) t.w[i] = whole.w[part * t.tokens * 5 + i];
    t.forward<L>(part);
    for (std::int64_t i = 0; i < t.ids * 5; ++i) sum[i] += t.y[i];
    t.backward<L>(false, part);
    const Array wanted(t.tokens * 5);
    reference_gradient(t, part * t.tokens, false, t.dw, wanted);
    CHECK(t.dw.same_bits(wanted));
  }
  CHECK(sum.same_bits(whole.y));
}

TEST_CASE("ids that are no tokens give NaN, touch no row and read nothing outside the table") {
  using L = Embedding<4, 3>;
  for (const std::int32_t id : {-1, 4, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()}) {
    Bench t(L::describe(Spec{Shape{2}}), 1);
    t.x[1] = id;
    t.forward<L>();
    for (int j = 0; j < 3; ++j) {
      CHECK(t.y[j] == t.w[j]);
      CHECK(std::isnan(t.y[3 + j]));
    }
    t.backward<L>(false);
    for (int i = 0; i < 12; ++i) CHECK(t.dw[i] == (i < 3 ? t.dy[i] : 0.0F));
  }
}

TEST_CASE("finite differences, halves of the rows, two parts of the backward, and 2 and 3 ranks say the same") {
  CHECK(gradcheck<Embedding<11, 8>>().text == "");
  CHECK(gradcheck<Embedding<12, 6>>(Spec{Shape{2, 3}}).text == "");
  CHECK(gradcheck<Embedding<12, 6, PaddingIndex<3>>>(Spec{Shape{2, 3}}).text == "");
  int checked = 0;
  CHECK(check_signatures_on<Embedding<12, 6>, EigenCompute>(Spec{Shape{5}}, checked).text == "");
  CHECK(checked == 4);
  CHECK(check_signatures_on<Embedding<12, 6, PaddingIndex<7>>, EigenCompute>(Spec{Shape{5}}, checked).text == "");
}

TEST_CASE("a lookup allocates nothing") {
  Bench t(Embedding<11, 8>::describe(Spec{Shape{6}}), 5);
  const long before = counted_allocations::count;
  t.forward<Embedding<11, 8>>();
  t.backward<Embedding<11, 8>>(true);
  const long after = counted_allocations::count;
  CHECK(after == before);
}
