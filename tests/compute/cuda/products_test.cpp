// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/products.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "compute/cuda/on_card.hpp"

using namespace heddle;
using namespace compute_room;
using on_card::Card;

namespace {

constexpr CudaProductOptions small{.workspace_bytes = std::size_t{1} << 16U};

/// Random numbers on the card and beside it.
struct Floats {
  std::vector<float> here;
  CardMemory<float> there;
  cudaStream_t stream;
  Floats(cudaStream_t s, std::int64_t n, std::uint32_t seed)
      : here(static_cast<std::size_t>(n)), there(card_memory<float>(here.size(), "a matrix")), stream(s) {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (float& x : here) x = uniform(generator);
    check_cuda(cudaMemcpyAsync(there.get(), here.data(), here.size() * sizeof(float), cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
    wait_for(stream);
  }
  [[nodiscard]] float* get() const { return there.get(); }
  [[nodiscard]] std::vector<float> now() const {
    std::vector<float> read(here.size());
    check_cuda(cudaMemcpyAsync(read.data(), there.get(), read.size() * sizeof(float), cudaMemcpyDeviceToHost, stream), "cudaMemcpyAsync");
    wait_for(stream);
    return read;
  }
};

/// Operands of one shape, and what a product should make of them.
struct Trial {
  ProductShape shape;
  std::int64_t a_pitch, b_pitch, c_pitch;
  Floats a, b, c, bias;

  static std::int64_t floats(std::int64_t rows, std::int64_t pitch, std::int64_t batch, std::int64_t stride) {
    return rows * pitch + (batch - 1) * stride;
  }
  explicit Trial(const Stream& stream, const ProductShape& s, std::uint32_t seed = 1)
      : shape(s), a_pitch(s.a_pitch != 0   ? s.a_pitch
                          : s.a_transposed ? s.m
                                           : s.k),
        b_pitch(s.b_pitch != 0   ? s.b_pitch
                : s.b_transposed ? s.k
                                 : s.n),
        c_pitch(s.c_pitch != 0 ? s.c_pitch : s.n), a(stream.get(), floats(s.a_transposed ? s.k : s.m, a_pitch, s.batch, s.a_stride), seed),
        b(stream.get(), floats(s.b_transposed ? s.n : s.k, b_pitch, s.batch, s.b_stride), seed + 1),
        c(stream.get(), floats(s.m, c_pitch, s.batch, s.c_stride), seed + 2), bias(stream.get(), s.n, seed + 3) {}
  void run(CudaProducts& products, float scale = 1) const {
    products.run(shape, a.get(), b.get(), c.get(), shape.bias ? bias.get() : nullptr, scale);
  }
  /// How many elements of c are off: products, and what lies beside them.
  [[nodiscard]] int wrong(double scale = 1) const {
    const std::vector<float> made = c.now();
    std::vector<bool> written(made.size());
    const auto at = [](const std::vector<float>& of, std::int64_t i) { return static_cast<double>(of[static_cast<std::size_t>(i)]); };
    int off = 0;
    for (std::int64_t p = 0; p < shape.batch; ++p)
      for (std::int64_t i = 0; i < shape.m; ++i)
        for (std::int64_t j = 0; j < shape.n; ++j) {
          const std::int64_t to = p * shape.c_stride + i * c_pitch + j;
          double sum = (shape.add ? at(c.here, to) : 0) + (shape.bias ? at(bias.here, j) : 0), magnitudes = 2;
          for (std::int64_t l = 0; l < shape.k; ++l) {
            const double term = scale * at(a.here, p * shape.a_stride + (shape.a_transposed ? l * a_pitch + i : i * a_pitch + l)) *
                                at(b.here, p * shape.b_stride + (shape.b_transposed ? j * b_pitch + l : l * b_pitch + j));
            sum += term;
            magnitudes += std::abs(term);
          }
          written[static_cast<std::size_t>(to)] = true;
          off += std::abs(at(made, to) - sum) <= static_cast<double>(shape.k + 4) * 0x1p-24 * magnitudes ? 0 : 1;
        }
    for (std::size_t i = 0; i < made.size(); ++i) off += written[i] || made[i] == c.here[i] ? 0 : 1;
    return off;
  }
};

}  // namespace

TEST_CASE("products of any transposition, pitch and batch, added or not, with a bias or not, are those of loops in double") {
  const Card card;
  const Stream stream = make_stream();
  CudaProducts products{stream.get(), small};
  std::mt19937 generator(7);
  const auto below = [&](int n) { return static_cast<std::int64_t>(generator() % static_cast<unsigned>(n)); };
  for (int trial = 0; trial < 64; ++trial) {
    ProductShape s{.m = 1 + below(40), .n = 1 + below(40), .k = 1 + below(40)};
    s.a_transposed = trial % 2 == 1;
    s.b_transposed = trial / 2 % 2 == 1;
    s.add = trial / 4 % 2 == 1;
    s.bias = trial / 8 % 2 == 1;
    if (trial / 16 % 2 == 1) {
      s.a_pitch = (s.a_transposed ? s.m : s.k) + below(5);
      s.b_pitch = (s.b_transposed ? s.k : s.n) + below(5);
      s.c_pitch = s.n + below(5);
    }
    if (trial / 32 == 1) {
      s.batch = 2 + below(4);
      s.a_stride = below(3) == 0 ? 0 : 40 * 45 + below(3);  // one a for all of them, or one each
      s.b_stride = 40 * 45 + below(3);
      s.c_stride = 40 * 45;
    }
    CAPTURE(trial);
    const float scale = trial % 3 == 0 ? 0.125F : 1.0F;
    const Trial t{stream, s, static_cast<std::uint32_t>(trial)};
    t.run(products, scale);
    wait_for(stream.get());
    CHECK(t.wrong(static_cast<double>(scale)) == 0);
  }
  CHECK(products.plans() == 64);
}

TEST_CASE("a shape is planned once, whatever is added to and whichever pointers are given, and of no extent nothing is queued") {
  const Card card;
  const Stream stream = make_stream();
  CudaProducts products{stream.get(), small};
  const Trial first{stream, {.m = 8, .n = 3, .k = 4, .b_transposed = true, .bias = true}, 1}, second{stream, first.shape, 5};
  Trial third{stream, first.shape, 9};
  third.shape.add = true;
  const long before = cuda_emulator::counts().products;
  first.run(products);
  const long planned = cuda_emulator::calls();
  second.run(products);
  third.run(products);
  CHECK(cuda_emulator::calls() - planned == 4);  // two biases set, two products
  const cuda_emulator::Counts made = cuda_emulator::counts();
  CHECK(made.heuristics == 1);
  for (const ProductShape& none : {ProductShape{.n = 3, .k = 4}, ProductShape{.m = 8, .k = 4}, ProductShape{.m = 8, .n = 3, .k = 4, .batch = 0}})
    products.run(none, first.a.get(), first.b.get(), first.c.get());
  CHECK(products.plans() == 1);
  wait_for(stream.get());
  CHECK(cuda_emulator::counts().products - before == 3);
  for (const Trial* t : {&first, &second, static_cast<const Trial*>(&third)}) CHECK(t->wrong() == 0);
}

TEST_CASE("shapes that differ in anything but what is added to have plans of their own") {
  const Card card;
  const Stream stream = make_stream();
  CudaProducts products{stream.get(), small};
  constexpr ProductShape base{
      .m = 6, .n = 6, .k = 6, .a_pitch = 8, .b_pitch = 8, .c_pitch = 8, .batch = 2, .a_stride = 64, .b_stride = 64, .c_stride = 64};
  std::vector<ProductShape> shapes(1, base);
  const auto with = [&](auto member, auto value) { shapes.emplace_back(base).*member = value; };
  for (const auto extent : {&ProductShape::m, &ProductShape::n, &ProductShape::k}) with(extent, 5);
  for (const auto flag : {&ProductShape::a_transposed, &ProductShape::b_transposed, &ProductShape::bias}) with(flag, true);
  for (const auto pitch : {&ProductShape::a_pitch, &ProductShape::b_pitch, &ProductShape::c_pitch}) with(pitch, 7);
  for (const auto stride : {&ProductShape::a_stride, &ProductShape::b_stride, &ProductShape::c_stride}) with(stride, 60);
  with(&ProductShape::batch, 3);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    CAPTURE(i);
    Trial t{stream, shapes[i], static_cast<std::uint32_t>(i)};
    t.run(products);
    wait_for(stream.get());
    CHECK(t.wrong() == 0);
    CHECK(products.plans() == static_cast<std::int64_t>(i) + 1);
    Trial added{stream, shapes[i], static_cast<std::uint32_t>(i)};
    added.shape.add = true;
    added.run(products);
    wait_for(stream.get());
    CHECK(added.wrong() == 0);
    CHECK(products.plans() == static_cast<std::int64_t>(i) + 1);
  }
}

TEST_CASE("a capture may be the first to plan, and holds the bias that it was given") {
  const Card card;
  const Stream stream = make_stream();
  CudaProducts products{stream.get(), small};
  const Trial first{stream, {.m = 8, .n = 3, .k = 4, .b_transposed = true, .bias = true}, 1}, second{stream, first.shape, 5};
  const RunnableGraph graph = captured(stream.get(), [&] {
    first.run(products);
    second.run(products);
  });
  const Trial other{stream, first.shape, 9};
  other.run(products);  // its bias is in the plan now
  check_cuda(cudaGraphLaunch(graph.get(), stream.get()), "cudaGraphLaunch");
  wait_for(stream.get());
  for (const Trial* t : {&first, &second, &other}) CHECK(t->wrong() == 0);
}

TEST_CASE("operands may lie at any float, and of a batch at any distance") {
  const Card card;
  const Stream stream = make_stream();
  CudaProducts products{stream.get(), small};
  const ProductShape shape{.m = 7, .n = 9, .k = 33, .b_transposed = true};
  const Floats a{stream.get(), 7 * 33 + 1, 1}, b{stream.get(), 9 * 33 + 1, 2}, c{stream.get(), 7 * 9 + 1, 3};
  for (const int off : {0, 1, 2, 4}) {  // which of the three is off
    products.run(shape, a.get() + off % 2, b.get() + off / 2 % 2, c.get() + off / 4 % 2);
    wait_for(stream.get());
    const std::vector<float> made = c.now();
    double sum = 0;
    for (std::size_t l = 0; l < 33; ++l)
      sum +=
          static_cast<double>(a.here[l + static_cast<std::size_t>(off % 2)]) * static_cast<double>(b.here[l + static_cast<std::size_t>(off / 2 % 2)]);
    CHECK(std::abs(static_cast<double>(made[static_cast<std::size_t>(off / 4 % 2)]) - sum) <= 40 * 0x1p-24 * 33);
  }
  CHECK(products.plans() == 4);  // an algorithm that loads 16 bytes at once is not for all
  ProductShape with_bias = shape;
  with_bias.bias = true;
  const Floats bias{stream.get(), 9 + 4, 4};
  for (const int off : {0, 1, 4, 3}) {  // the heuristic is told of an address like that of the bias
    products.run(with_bias, a.get(), b.get(), c.get(), bias.get() + off);
    wait_for(stream.get());
    double sum = static_cast<double>(bias.here[static_cast<std::size_t>(off)]);
    for (std::size_t l = 0; l < 33; ++l) sum += static_cast<double>(a.here[l]) * static_cast<double>(b.here[l]);
    CHECK(std::abs(static_cast<double>(c.now()[0]) - sum) <= 40 * 0x1p-24 * 33);
  }
  CHECK(products.plans() == 4 + 2);
  CHECK(cuda_emulator::violations() == std::vector<std::string>{});
}

TEST_CASE("products whose rows differ have the bits of the usual rows, whichever comes first; one that is not told so has others") {
  const Card card;
  const Stream stream = make_stream();
  constexpr std::int64_t most = 64, vectors = 5, in = 33, out = 10;
  const auto shape_of = [](std::int64_t rows, GrowsIn grows) {
    return ProductShape{.m = vectors * rows, .n = out, .k = in, .b_transposed = true, .bias = true, .grows = grows, .rows = rows};
  };
  const Trial whole{stream, shape_of(most, GrowsIn::m)};
  // The first row of a product of so many.
  const auto first_row = [&](CudaProducts& products, std::int64_t rows, GrowsIn grows) {
    products.run(shape_of(rows, grows), whole.a.get(), whole.b.get(), whole.c.get(), whole.bias.get());
    wait_for(stream.get());
    std::vector<float> made = whole.c.now();
    made.resize(out);
    return made;
  };
  CudaProductOptions options = small;
  options.usual_rows = most;
  CudaProducts forwards{stream.get(), options}, backwards{stream.get(), options}, first_decides{stream.get(), small};
  const std::vector<float> wanted = first_row(forwards, most, GrowsIn::m), of_three = first_row(first_decides, 3, GrowsIn::m);
  CHECK(whole.wrong() == 0);
  int others = 0;
  for (std::int64_t rows = 1; rows <= most; ++rows) {
    CHECK(first_row(forwards, rows, GrowsIn::m) == wanted);
    CHECK(first_row(backwards, most + 1 - rows, GrowsIn::m) == wanted);
    CHECK(first_row(first_decides, rows, GrowsIn::m) == of_three);
    others += first_row(forwards, rows, GrowsIn::nothing) == wanted ? 0 : 1;
  }
  CHECK(others > 0);
  for (const CudaProducts* products : {&forwards, &backwards, &first_decides}) CHECK(products->plans_of_their_own() == 0);
}

TEST_CASE("products of a batch, or of columns, that grow with the rows share an algorithm as well") {
  const Card card;
  const Stream stream = make_stream();
  CudaProducts products{stream.get(), small};
  for (const std::int64_t rows : {2, 7, 1}) {
    const Trial batch{
        stream, {.m = 4, .n = 3, .k = 9, .batch = 3 * rows, .a_stride = 36, .b_stride = 27, .c_stride = 12, .grows = GrowsIn::batch, .rows = rows}};
    const Trial columns{stream, {.m = 4, .n = 3 * rows, .k = 9, .b_pitch = 21, .c_pitch = 21, .grows = GrowsIn::n, .rows = 3 * rows, .usual = 21}};
    batch.run(products);
    columns.run(products);
    wait_for(stream.get());
    CHECK(batch.wrong() == 0);
    CHECK(columns.wrong() == 0);
  }
  CHECK(products.plans() == 6);
  CHECK(cuda_emulator::counts().heuristics == 2);
  CHECK(products.plans_of_their_own() == 0);
}

TEST_CASE("where no algorithm can be chosen for the usual rows a product has its own") {
  const Card card;
  const Stream stream = make_stream();
  CudaProductOptions options = small;
  for (const std::int64_t usual : {std::int64_t{1} << 31U, std::int64_t{1} << 33U}) {
    options.usual_rows = usual;
    CudaProducts products{stream.get(), options};
    const Trial batch{stream, {.m = 2, .n = 3, .k = 4, .batch = 6, .a_stride = 8, .b_stride = 12, .c_stride = 6, .grows = GrowsIn::batch, .rows = 2}};
    const Trial rows{stream, {.m = 6, .n = 3, .k = 4, .grows = GrowsIn::m, .rows = 2}};
    batch.run(products);
    rows.run(products);
    wait_for(stream.get());
    CHECK(batch.wrong() == 0);
    CHECK(rows.wrong() == 0);
    CHECK(products.plans_of_their_own() == 2);
  }
}

TEST_CASE("a bias that no algorithm of cuBLASLt adds is added behind the product, in all rows of all matrices of a batch") {
  for (const bool fused : {false, true}) {
    const Card card{{.bias_of_one = fused}};
    const Stream stream = make_stream();
    CudaProducts products{stream.get(), small};
    const ProductShape one_column{.m = 7, .n = 1, .k = 9, .b_transposed = true, .bias = true, .grows = GrowsIn::m, .rows = 7};
    const ProductShape of_depth_one{.m = 5, .n = 6, .k = 1, .bias = true, .c_pitch = 8, .batch = 3, .a_stride = 5, .b_stride = 6, .c_stride = 40};
    ProductShape added = of_depth_one;
    added.add = true;
    std::uint32_t seed = 0;
    for (const ProductShape& shape : {one_column, of_depth_one, added}) {
      const Trial t{stream, shape, ++seed};
      t.run(products);
      wait_for(stream.get());
      CHECK(t.wrong() == 0);
    }
    CHECK(products.plans() == 2);
    CHECK(cuda_emulator::counts().kernels == (fused ? 0 : 3));
    CHECK(cuda_emulator::violations() == std::vector<std::string>{});
  }
}

TEST_CASE("a product without an algorithm is refused with its sizes and types") {
  const Card card{{.algorithms = 0}};
  const Stream stream = make_stream();
  CudaProductOptions options = small;
  options.tf32 = true;
  CudaProducts products{stream.get(), small}, of_tf32{stream.get(), options};
  ProductShape shape{.m = 8, .n = 10, .k = 33, .b_transposed = true, .bias = true, .batch = 2, .a_stride = 264, .b_stride = 330, .c_stride = 80};
  const Trial t{stream, shape}, plain{stream, {.m = 1000, .n = 2, .k = 3, .a_transposed = true}};
  const auto refused = [&](CudaProducts& by, const ProductShape& s, const char* words) {
    CHECK_THROWS_WITH_AS(by.run(s, t.a.get(), t.b.get(), t.c.get(), t.bias.get()), words, HeddleError);
  };
  refused(products, shape,
          "[heddle.R36] cuBLASLt has no algorithm for the product of 8 x 33 and 33 x 10 (transposed) in float32, 2 in a batch. Fix: take "
          "sizes below 2,147,483,648, or smaller micro-batches.");
  refused(
      of_tf32, plain.shape,
      "[heddle.R36] cuBLASLt has no algorithm for the product of 1000 x 3 (transposed) and 3 x 2 in TF32. Fix: take sizes below 2,147,483,648, or "
      "smaller micro-batches.");
  shape.batch = std::int64_t{1} << 32U;
  refused(products, shape,
          "[heddle.R36] cuBLASLt has no algorithm for the product of 8 x 33 and 33 x 10 (transposed) in float32, 4,294,967,296 in a batch. Fix: take "
          "sizes below 2,147,483,648, or smaller micro-batches.");
  CHECK(products.plans() + of_tf32.plans() == 0);
  CHECK_THROWS_AS((CudaProducts{stream.get(), {.workspace_bytes = std::size_t{1} << 42U}}), HeddleError);  // R14: no card has 4 TiB
}

TEST_CASE("each call that fails is named, and a product that was refused runs if it is asked for once more") {
  const Card card;
  const Stream stream = make_stream();
  const Trial t{stream,
                {.m = 8,
                 .n = 3,
                 .k = 4,
                 .b_transposed = true,
                 .bias = true,
                 .batch = 2,
                 .a_stride = 32,
                 .b_stride = 12,
                 .c_stride = 24,
                 .grows = GrowsIn::m,
                 .rows = 8}};
  std::set<std::string> failed;
  for (long n = 1; n < 200; ++n) {
    CudaProducts products{stream.get(), small};
    const long before = cuda_emulator::counts().fallible_calls;
    cuda_emulator::fail_call(n);
    std::string words;
    try {
      t.run(products);
    } catch (const HeddleError& e) {
      words = e.what();
    }
    const bool had_less = cuda_emulator::counts().fallible_calls - before < n;
    const std::string name = cuda_emulator::failed_call();
    cuda_emulator::fail_call(0);
    if (had_less) {  // all calls of a run have failed once
      CHECK(words == "");
      break;
    }
    failed.insert(name);
    CHECK(words.find("[heddle.R36] " + name + " failed with ") == 0);
    t.run(products);
    wait_for(stream.get());
    CHECK(t.wrong() == 0);
  }
  for (const char* call :
       {"cublasLtMatmulDescCreate", "cublasLtMatrixLayoutCreate", "cublasLtMatrixLayoutSetAttribute", "cublasLtMatmulPreferenceCreate",
        "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmulAlgoCheck", "cublasLtMatmulDescSetAttribute", "cublasLtMatmul"})
    CHECK(failed.count(call) == 1);
}

TEST_CASE("TF32 is asked of cuBLASLt where it is chosen") {
  const Card card;
  const Stream stream = make_stream();
  CudaProductOptions options = small;
  options.tf32 = true;
  CudaProducts products{stream.get(), options};
  const Trial t{stream, {.m = 8, .n = 8, .k = 8}};
  t.run(products);
  wait_for(stream.get());
  const std::vector<float> made = t.c.now();
  double sum = 0;
  for (std::size_t l = 0; l < 8; ++l) sum += static_cast<double>(t.a.here[l]) * static_cast<double>(t.b.here[8 * l]);
  CHECK(std::abs(static_cast<double>(made[0]) - sum) <= 8 * 0x1p-10);  // 10 bits behind the point of each factor
  CHECK(t.wrong() > 0);                                                // to the digits of float32
}

TEST_CASE(
    "factors in bfloat16 make bfloat16, with a bias in it, or floats; each has a plan of its own, at addresses of any element, and TF32 rounds "
    "none") {
  const Card card;
  const Stream stream = make_stream();
  CudaProductOptions options = small;
  options.tf32 = true;  // it is asked of float32 alone
  CudaProducts products{stream.get(), options};
  constexpr std::int64_t m = 7, n = 5, k = 33;
  const Floats a{stream.get(), m * k, 1}, b{stream.get(), n * k, 2}, bias{stream.get(), n, 3}, sums{stream.get(), m * n, 4};
  const auto halves = [&](const Floats& floats) {
    CardMemory<BFloat16> there = card_memory<BFloat16>(floats.here.size() + 8, "a matrix");
    std::vector<BFloat16> rounded;
    for (const float x : floats.here) rounded.push_back(core_room::rounded(x));
    check_cuda(cudaMemcpyAsync(there.get() + 1, rounded.data(), rounded.size() * sizeof(BFloat16), cudaMemcpyHostToDevice, stream.get()), "up");
    wait_for(stream.get());
    return there;
  };
  const auto x = halves(a), w = halves(b), added = halves(bias), y = halves(sums);
  const ProductShape with_bias{.m = m, .n = n, .k = k, .b_transposed = true, .bias = true};
  ProductShape alone = with_bias;
  alone.bias = false;
  products.run(with_bias, x.get() + 1, w.get() + 1, y.get() + 1, added.get() + 1);
  products.run(alone, x.get() + 1, w.get() + 1, sums.get());
  products.run(alone, a.get(), b.get(), sums.get(), nullptr, 0);  // of floats, times 0: it has another plan, and its factors another type
  CHECK(products.plans() == 3);
  products.run(alone, x.get() + 1, w.get() + 1, sums.get());
  CHECK(products.plans() == 3);
  std::vector<BFloat16> made(m * n);
  check_cuda(cudaMemcpyAsync(made.data(), y.get() + 1, made.size() * sizeof(BFloat16), cudaMemcpyDeviceToHost, stream.get()), "down");
  const std::vector<float> floats = sums.now();
  const auto kept = [](const Floats& of, std::int64_t i) {
    return static_cast<double>(core_room::widened(core_room::rounded(of.here[static_cast<std::size_t>(i)])));
  };
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < k; ++l) sum += kept(a, i * k + l) * kept(b, j * k + l);
      const auto at = static_cast<std::size_t>(i * n + j);
      CHECK(std::abs(static_cast<double>(floats[at]) - sum) <= k * k * 0x1p-24);
      const double rounded = sum + kept(bias, j);
      CHECK(std::abs(static_cast<double>(core_room::widened(made[at])) - rounded) <= 0x1p-8 * std::abs(rounded) + k * k * 0x1p-24);
    }
}
