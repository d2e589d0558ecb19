// SPDX-License-Identifier: MIT
// Products of the emulated cuBLASLt beside sums in double, and what of its bits a program must not rely on.
#include <cuda_bf16.h>
#include <doctest/doctest.h>

#include <functional>
#include <set>

#include "cuda_emulator/described_product.hpp"

namespace {
using namespace cuda_emulator;
using namespace cuda_emulator::tests;

std::vector<__nv_bfloat16> as_bf16(const std::vector<float>& numbers) {
  std::vector<__nv_bfloat16> made(numbers.size());
  std::transform(numbers.begin(), numbers.end(), made.begin(), [](float x) { return __float2bfloat16(x); });
  return made;
}
std::vector<float> as_float(const std::vector<__nv_bfloat16>& numbers) {
  std::vector<float> made(numbers.size());
  std::transform(numbers.begin(), numbers.end(), made.begin(), [](__nv_bfloat16 x) { return __bfloat162float(x); });
  return made;
}

TEST_CASE("every algorithm makes the product, transposed or not, and each has bits of its own") {
  reset({});
  {
    const OneCard card;
    const auto workspace = card.unset<std::byte>(workspace_bytes);
    for (const bool a_transposed : {false, true})
      for (const bool b_transposed : {false, true}) {
        const Described::Extents e{37, 21, 65, a_transposed, b_transposed};
        Described described(e);
        const std::vector<float> a = drawn(e.m * e.k, 1);
        const std::vector<float> b = drawn(e.k * e.n, 2);
        const auto on_a = card.up(a);
        const auto on_b = card.up(b);
        const auto to = card.unset(e.m * e.n);
        std::set<std::vector<float>> bits;
        const auto algorithms = described.offered();
        CHECK(algorithms.size() == 8);
        for (const auto& algorithm : algorithms)
          for (int again = 0; again < 2; ++again) {
            CHECK(described.run(card, on_a.get(), on_b.get(), to.get(), algorithm, workspace.get(), 0.5F) == CUBLAS_STATUS_SUCCESS);
            std::vector<float> got = card.down(to, e.m * e.n);
            bits.insert(got);
            for (float& x : got) x *= 2;
            CHECK(distance(got, right(e, a, b)) < 1e-6);
          }
        CHECK(bits.size() == 8);
      }
    CHECK(counts().products == 64);
    CHECK(counts().heuristics == 4);
    CHECK(counts().descriptors == 4 * 5);
  }
  check_right();
}
TEST_CASE("the first choice depends on the rows, an algorithm that is kept keeps the bits of a row, but for one of TF32") {
  for (const bool tf32 : {false, true}) {
    reset({});
    const OneCard card;
    const auto workspace = card.unset<std::byte>(workspace_bytes);
    const auto compute = tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    const Described::Extents whole{16, 64, 48};
    const std::vector<float> a = drawn(whole.m * whole.k, 1);
    const auto on_a = card.up(a);
    const std::vector<float> b = drawn(whole.k * whole.n, 2);
    const auto on_b = card.up(b);
    Described described(whole, compute);
    const auto algorithms = described.offered();
    int others = 0;
    bool same_first_choice = true;
    for (const auto& algorithm : algorithms) {
      const auto to = card.unset(whole.m * whole.n);
      CHECK(described.run(card, on_a.get(), on_b.get(), to.get(), algorithm, workspace.get()) == CUBLAS_STATUS_SUCCESS);
      const std::vector<float> got = card.down(to, whole.m);
      const double error = distance(got, right({whole.m, 1, whole.k}, a, b));
      CHECK(error < (tf32 ? 1e-3 : 1e-6));
      CHECK(error > (tf32 ? 1e-5 : 0));
      for (const std::uint64_t n : {8, 24, 32}) {
        Described part({whole.m, n, whole.k}, compute);
        same_first_choice = same_first_choice && std::memcmp(&part.offered(1)[0], &algorithms[0], sizeof algorithm) == 0;
        cublasLtMatmulHeuristicResult_t checked{};
        CHECK(cublasLtMatmulAlgoCheck(part.handle, part.product, part.a, part.b, part.d, part.d, &algorithm, &checked) == CUBLAS_STATUS_SUCCESS);
        CHECK(part.run(card, on_a.get(), on_b.get(), to.get(), algorithm, workspace.get()) == CUBLAS_STATUS_SUCCESS);
        others += card.down(to, whole.m) == got ? 0 : 1;
      }
    }
    CHECK(!same_first_choice);
    CHECK((others > 0) == tf32);
    CHECK(others <= 3);
  }
}
TEST_CASE("what is not added to is not read, what is added to is") {
  reset({});
  const OneCard card;
  const auto workspace = card.unset<std::byte>(workspace_bytes);
  Described described({3, 2, 1});
  const auto ones = card.up(3, 1.0F);
  const auto to = card.unset(6);
  const auto algorithm = described.offered()[0];
  CHECK(described.run(card, ones.get(), ones.get(), to.get(), algorithm, workspace.get()) == CUBLAS_STATUS_SUCCESS);
  CHECK(described.run(card, ones.get(), ones.get(), to.get(), algorithm, workspace.get(), 1, 2) == CUBLAS_STATUS_SUCCESS);
  CHECK(all_are(card.down(to, 6), 3.0F));
}
TEST_CASE("batches with strides, and matrices that are columns of wider ones") {
  reset({});
  {
    const OneCard card;
    const auto workspace = card.unset<std::byte>(workspace_bytes);
    // Two heads of 4 numbers side by side in rows of 8: scores (5, 5) of each.
    Described described({5, 5, 4, true, false});
    for (const cublasLtMatrixLayout_t each : {described.a, described.b, described.d}) {
      Described::set(each, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{2});
      Described::set(each, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, each == described.d ? std::int64_t{28} : std::int64_t{4});
      if (each != described.d) Described::set(each, CUBLASLT_MATRIX_LAYOUT_LD, std::int64_t{8});
    }
    const std::vector<float> keys = drawn(40, 1);
    const std::vector<float> queries = drawn(40, 2);
    const auto on_keys = card.up(keys);
    const auto on_queries = card.up(queries);
    const auto to = card.up(53, 0.0F);
    CHECK(described.run(card, on_keys.get(), on_queries.get(), to.get(), described.offered()[0], workspace.get()) == CUBLAS_STATUS_SUCCESS);
    std::vector<double> wanted(53, 0);
    for (std::size_t head = 0; head < 2; ++head)
      for (std::size_t q = 0; q < 5; ++q)
        for (std::size_t k = 0; k < 5; ++k)
          for (std::size_t i = 0; i < 4; ++i)
            wanted[head * 28 + q * 5 + k] += static_cast<double>(keys[k * 8 + head * 4 + i]) * static_cast<double>(queries[q * 8 + head * 4 + i]);
    CHECK(distance(card.down(to, 53), wanted) < 1e-6);
  }
  check_right();
}

double gelu(double x) { return 0.5 * x * (1 + std::tanh(0.79788456080286536 * (x + 0.044715 * x * x * x))); }
double gelu_slope(double x) { return (gelu(x + 1e-5) - gelu(x - 1e-5)) / 2e-5; }

TEST_CASE("epilogues of a forward and a backward product, in float32 and bfloat16") {
  reset({});
  {
    const OneCard card;
    const auto workspace = card.unset<std::byte>(workspace_bytes);
    const Described::Extents e{13, 9, 20};
    const std::vector<float> bias = as_float(as_bf16(drawn(e.m, 3)));
    const std::vector<float> a = as_float(as_bf16(drawn(e.m * e.k, 1)));
    const std::vector<float> b = as_float(as_bf16(drawn(e.k * e.n, 2)));
    const std::vector<double> plain = right(e, a, b);
    for (const bool half : {false, true}) {
      const auto type = half ? CUDA_R_16BF : CUDA_R_32F;
      const double near = half ? 4e-3 : 1e-6;
      const auto up = [&](const std::vector<float>& numbers) {
        return half ? CardMemory<std::byte>(reinterpret_cast<std::byte*>(std::exchange(*card.up(as_bf16(numbers)).slot(), nullptr)))
                    : CardMemory<std::byte>(reinterpret_cast<std::byte*>(std::exchange(*card.up(numbers).slot(), nullptr)));
      };
      const auto down = [&](const CardMemory<std::byte>& there, std::size_t n) {
        return half ? as_float(card.down(reinterpret_cast<const __nv_bfloat16*>(there.get()), n))
                    : card.down(reinterpret_cast<const float*>(there.get()), n);
      };
      const auto on_a = up(a);
      const auto on_b = up(b);
      const auto on_bias = up(bias);
      const auto to = up(std::vector<float>(e.m * e.n, NAN));
      const auto numbers_kept = up(std::vector<float>(16 * e.n, NAN));
      const auto bits_kept = card.unset<std::byte>(16 * e.n);
      const auto sums = up(std::vector<float>(e.m, NAN));
      const auto made_by = [&](cublasLtEpilogue_t epilogue, void* of_bias, void* kept, std::int64_t pitch) {
        Described described(e, CUBLAS_COMPUTE_32F, type, type);
        described.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
        if (of_bias != nullptr) described.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, of_bias);
        if (kept != nullptr) described.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, kept);
        if (kept != nullptr) described.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, pitch);
        CHECK(described.run(card, on_a.get(), on_b.get(), to.get(), described.offered().at(0), workspace.get()) == CUBLAS_STATUS_SUCCESS);
        return down(to, e.m * e.n);
      };
      const auto wanted = [&](const std::function<double(double, std::size_t)>& of) {
        std::vector<double> all(plain.size());
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = of(plain[i], i);
        return all;
      };
      const auto with_bias = [&](double x, std::size_t i) { return x + static_cast<double>(bias[i % e.m]); };
      CHECK(distance(made_by(CUBLASLT_EPILOGUE_BIAS, on_bias.get(), nullptr, 0), wanted(with_bias)) < near);
      CHECK(distance(made_by(CUBLASLT_EPILOGUE_RELU_AUX_BIAS, on_bias.get(), bits_kept.get(), 128),
                     wanted([&](double x, std::size_t i) { return std::max(with_bias(x, i), 0.0); })) < near);
      CHECK(distance(made_by(CUBLASLT_EPILOGUE_DRELU, nullptr, bits_kept.get(), 128),
                     wanted([&](double x, std::size_t i) { return with_bias(x, i) > 0 ? x : 0; })) < near);
      CHECK(distance(made_by(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, on_bias.get(), numbers_kept.get(), 16),
                     wanted([&](double x, std::size_t i) { return gelu(with_bias(x, i)); })) < near);
      const std::vector<double> gradient = wanted([&](double x, std::size_t i) { return x * gelu_slope(with_bias(x, i)); });
      CHECK(distance(made_by(CUBLASLT_EPILOGUE_DGELU_BGRAD, sums.get(), numbers_kept.get(), 16), gradient) < (half ? 2e-2 : 1e-5));
      std::vector<double> row_sums(e.m, 0);
      for (std::size_t i = 0; i < gradient.size(); ++i) row_sums[i % e.m] += gradient[i];
      CHECK(distance(down(sums, e.m), row_sums) < (half ? 2e-2 : 1e-5));
      static_cast<void>(made_by(CUBLASLT_EPILOGUE_BGRADA, sums.get(), nullptr, 0));
      std::vector<double> sums_of_a(e.m, 0);
      for (std::size_t i = 0; i < a.size(); ++i) sums_of_a[i % e.m] += static_cast<double>(a[i]);
      CHECK(distance(down(sums, e.m), sums_of_a) < near);
    }
  }
  check_right();
}
TEST_CASE("the bias pointer of a described product may be another at each run") {
  reset({.bias_of_one = true});
  const OneCard card;
  const auto workspace = card.unset<std::byte>(workspace_bytes);
  Described described({4, 2, 1});
  const auto ones = card.up(4, 1.0F);
  const auto to = card.unset(8);
  const auto one = card.up(4, 1.0F);
  const auto two = card.up(4, 2.0F);
  described.set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  described.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, one.get());
  const auto algorithm = described.offered()[0];
  CHECK(described.run(card, ones.get(), ones.get(), to.get(), algorithm, workspace.get()) == CUBLAS_STATUS_SUCCESS);
  described.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, two.get());
  CHECK(all_are(card.down(to, 8), 2.0F));
  CHECK(described.run(card, ones.get(), ones.get(), to.get(), algorithm, workspace.get()) == CUBLAS_STATUS_SUCCESS);
  CHECK(all_are(card.down(to, 8), 3.0F));
}
}  // namespace
