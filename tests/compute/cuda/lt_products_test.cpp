// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/lt_products.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "compute/cuda/on_card.hpp"

using namespace heddle;
using namespace compute_room;
using core_room::rounded;
using core_room::widened;

namespace {

constexpr ProductAlignments even{16, 16, 16, 16};
constexpr ProductShape outputs{.m = 8, .n = 16, .k = 4, .b_transposed = true, .bias = true};

TypedProduct ending_in(Epilogue epilogue, ProductShape shape = outputs) {
  shape.epilogue = epilogue;
  return {shape, {ElementType::float32, ElementType::float32}};
}

}  // namespace

TEST_CASE("each epilogue has algorithms of its own, and one for another epilogue is not taken") {
  const on_card::Card card;
  const Stream stream = make_stream();
  const LtProducts lt{stream.get(), 1 << 20, false};
  const ProductPlan plain = lt.described(ending_in(Epilogue::nothing), even), relu = lt.described(ending_in(Epilogue::relu), even);
  const OfferedAlgorithms of_plain = lt.offered(plain, ElementType::float32, even), of_relu = lt.offered(relu, ElementType::float32, even);
  REQUIRE(of_plain.count > 0);
  REQUIRE(of_relu.count > 0);
  CHECK(lt.takes(plain, of_plain.all[0].algo));
  CHECK(lt.takes(relu, of_relu.all[0].algo));
  CHECK_FALSE(lt.takes(relu, of_plain.all[0].algo));
}

TEST_CASE("an algorithm of other rows is not taken where it wants more workspace for these than there is") {
  const on_card::Card card{{.workspace_grows = true}};
  const Stream stream = make_stream();
  const LtProducts lt{stream.get(), 1 << 20, false};
  ProductShape longer = outputs;
  longer.m = std::int64_t{1} << 15;  // results of 2 MiB
  const ProductPlan few = lt.described(ending_in(Epilogue::nothing), even), many = lt.described(ending_in(Epilogue::nothing, longer), even);
  const OfferedAlgorithms offers = lt.offered(few, ElementType::float32, even);
  int refused = 0;
  for (int way = 0; way < offers.count; ++way) {
    CHECK(lt.takes(few, offers.all[way].algo));
    CHECK(lt.takes(many, offers.all[way].algo) == (offers.all[way].workspaceSize == 0));
    refused += offers.all[way].workspaceSize == 0 ? 0 : 1;
  }
  CHECK(refused > 0);
}

TEST_CASE("a matrix that GELUTanh reads has rows of a multiple of 8 numbers, or nothing is offered") {
  const on_card::Card card;
  const Stream stream = make_stream();
  const LtProducts lt{stream.get(), 1 << 20, false};
  for (const std::int64_t columns : {8, 16, 10, 3}) {
    ProductShape shape = outputs;
    shape.n = columns;
    const TypedProduct gelu = ending_in(Epilogue::gelu, shape);
    CAPTURE(columns);
    CHECK((lt.offered(lt.described(gelu, even), ElementType::float32, even).count > 0) == (columns % 8 == 0));
  }
}

TEST_CASE("products that differ in an extent, a type, an epilogue or an address have keys of their own") {
  std::set<ProductKey> keys;
  for (const Epilogue e : {Epilogue::nothing, Epilogue::relu, Epilogue::gelu, Epilogue::gelu_gradient, Epilogue::sums_of_a})
    keys.insert(key_of(ending_in(e), even));
  TypedProduct halves = ending_in(Epilogue::nothing);
  halves.types = {ElementType::bfloat16, ElementType::float32};
  keys.insert(key_of(halves, even));
  keys.insert(key_of(ending_in(Epilogue::nothing), {16, 4, 16, 16}));
  ProductShape longer = outputs;
  longer.m = 9;
  keys.insert(key_of(ending_in(Epilogue::nothing, longer), even));
  CHECK(keys.size() == 8);
  ProductShape added = outputs;
  added.add = true;
  CHECK(key_of(ending_in(Epilogue::nothing, added), even) == key_of(ending_in(Epilogue::nothing), even));
}

TEST_CASE("a product is called by its extents and its type, and one of too many matrices cannot be described") {
  const on_card::Card card;
  const Stream stream = make_stream();
  const LtProducts lt{stream.get(), 1 << 20, true};
  CHECK(lt.in_words(ending_in(Epilogue::nothing)) == "the product of 8 x 4 and 4 x 16 (transposed) in TF32");
  ProductShape many = outputs;
  many.batch = std::int64_t{std::numeric_limits<std::int32_t>::max()} + 1;
  CHECK_FALSE(LtProducts::can_be_described(many));
  CHECK(LtProducts::can_be_described(outputs));
}

TEST_CASE("products that make bfloat16 are sums in float32, rounded once, by every algorithm that is offered") {
  const on_card::Card card;
  const Stream stream = make_stream();
  const LtProducts lt{stream.get(), 1 << 20, false};
  constexpr std::int64_t k = 64;
  const TypedProduct shape{{.m = 1, .n = 8, .k = k, .b_transposed = true}, {ElementType::bfloat16, ElementType::bfloat16}};
  std::vector<BFloat16> a(k), b(8 * k), c(8);
  double sum = 0;  // of terms that nearly cancel: shares are large, and what they round away is seen
  for (std::int64_t l = 0; l < k; ++l) {
    a[static_cast<std::size_t>(l)] = rounded((l < k / 2 ? 1.0F : -1.0F) * (100.0F + static_cast<float>(l % 7)));
    for (std::int64_t j = 0; j < 8; ++j) b[static_cast<std::size_t>(j * k + l)] = rounded(1.0F + static_cast<float>(l % 5) / 64);
    sum += static_cast<double>(widened(a[static_cast<std::size_t>(l)])) * static_cast<double>(widened(b[static_cast<std::size_t>(l)]));
  }
  const CardMemory<BFloat16> on_a = card_memory<BFloat16>(a.size(), "a"), on_b = card_memory<BFloat16>(b.size(), "b"),
                             on_c = card_memory<BFloat16>(c.size(), "c");
  const auto copy = [&](void* to, const void* from, std::size_t numbers, cudaMemcpyKind kind) {
    check_cuda(cudaMemcpyAsync(to, from, 2 * numbers, kind, stream.get()), "cudaMemcpyAsync");
    wait_for(stream.get());
  };
  copy(on_a.get(), a.data(), a.size(), cudaMemcpyHostToDevice);
  copy(on_b.get(), b.data(), b.size(), cudaMemcpyHostToDevice);
  const ProductPlan plan = lt.described(shape, even);
  const OfferedAlgorithms offers = lt.offered(plan, ElementType::bfloat16, even);
  REQUIRE(offers.count > 3);
  for (int way = 0; way < offers.count; ++way) {
    lt.multiply(plan, offers.all[way].algo, shape, {on_a.get(), on_b.get(), on_c.get()}, 1);
    copy(c.data(), on_c.get(), c.size(), cudaMemcpyDeviceToHost);
    CAPTURE(way);
    CHECK(std::abs(static_cast<double>(widened(c[0])) - sum) <= 0x1p-8 * std::abs(sum) + 0x1p-18 * 100 * k);
  }
}
