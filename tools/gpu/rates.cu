// SPDX-License-Identifier: MIT
// What this card moves and computes: copies, transfers, plain products, an optimizer over flat memory. Every rate is of random data, the median
// of 20.
#include <cmath>

#include "card.hpp"

namespace {
using namespace gpu_check;
using bf16 = __nv_bfloat16;

template <class T> __global__ void draw(T* to, std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  unsigned h = static_cast<unsigned>(i) * 2654435761U;
  h ^= h >> 15U, h *= 2246822519U, h ^= h >> 13U;
  if (i < count) to[i] = static_cast<T>(static_cast<float>(h >> 8U) * 0x1p-23F - 1.0F);
}
struct alignas(16) Four {
  float values[4];
};
struct alignas(8) FourHalves {
  bf16 values[4];
};
/// AdamW over flat slices, 16 bytes at a time: reads p, g, m, v and writes p, m, v and the bf16 copy that products read, 30 bytes a parameter.
__global__ void adamw(std::int64_t quads, Four* p, const Four* g, Four* m, Four* v, FourHalves* copy) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= quads) return;
  Four a = p[i];
  const Four b = g[i];
  Four c = m[i];
  Four d = v[i];
  FourHalves e;
  for (int k = 0; k < 4; ++k) {
    c.values[k] += (b.values[k] - c.values[k]) * 0.1F;
    d.values[k] = 0.999F * d.values[k] + 0.001F * b.values[k] * b.values[k];
    a.values[k] = a.values[k] * 0.99999F - 1e-3F * (c.values[k] / (sqrtf(d.values[k]) * 1.3F + 1e-8F));
    e.values[k] = __float2bfloat16(a.values[k]);
  }
  p[i] = a, m[i] = c, v[i] = d, copy[i] = e;
}
template <class T> void fill(Memory<T>& memory) {
  const auto count = static_cast<std::int64_t>(memory.count());
  draw<<<static_cast<unsigned>((count + 255) / 256), 256>>>(memory.get(), count);
  check(cudaDeviceSynchronize(), "fill");
}
void say(const char* what, double amount, float us, const char* unit) {
  std::printf("| %-64s | %9.1f | %8.1f %s |\n", what, static_cast<double>(us), amount / static_cast<double>(us), unit);
}

void copies(cudaStream_t stream) {
  constexpr std::size_t bytes = std::size_t{2} << 30;
  Memory<float> from(bytes / 4);
  Memory<float> to(bytes / 4);
  fill(from);
  say("copy on the card, 2 GiB, read and written", 2.0 * bytes * 1e-3,
      microseconds(stream, 20,
                   [&](cudaStream_t on) { check(cudaMemcpyAsync(to.get(), from.get(), bytes, cudaMemcpyDeviceToDevice, on), "cudaMemcpyAsync"); }),
      "GB/s");
  constexpr std::size_t some = std::size_t{256} << 20;
  void* pinned = nullptr;
  check(cudaMallocHost(&pinned, some), "cudaMallocHost");
  std::vector<unsigned char> pageable(some, 1);
  const auto move = [&](const char* what, void* a, const void* b, cudaMemcpyKind kind) {
    say(what, static_cast<double>(some) * 1e-3,
        microseconds(stream, 10, [&](cudaStream_t on) { check(cudaMemcpyAsync(a, b, some, kind, on), "cudaMemcpyAsync"); }), "GB/s");
  };
  move("host to card, 256 MiB, pinned", to.get(), pinned, cudaMemcpyHostToDevice);
  move("card to host, 256 MiB, pinned", pinned, to.get(), cudaMemcpyDeviceToHost);
  move("host to card, 256 MiB, pageable", to.get(), pageable.data(), cudaMemcpyHostToDevice);
  check(cudaFreeHost(pinned), "cudaFreeHost");
}

template <class T> void product(cublasLtHandle_t lt, cudaStream_t stream, const char* name, cudaDataType_t type, cublasComputeType_t compute) {
  constexpr int n = 8192;
  Memory<T> a(static_cast<std::size_t>(n) * n);
  Memory<T> b(a.count());
  Memory<T> c(a.count());
  Memory<unsigned char> workspace(64U << 20);
  fill(a);
  fill(b);
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatrixLayout_t layout = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  const std::size_t bytes = workspace.count();
  const cublasOperation_t transposed = CUBLAS_OP_T;
  check(cublasLtMatmulDescCreate(&description, compute, CUDA_R_32F), "cublasLtMatmulDescCreate");
  check(cublasLtMatmulDescSetAttribute(description, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof transposed), "transposed");
  check(cublasLtMatrixLayoutCreate(&layout, type, n, n, n), "cublasLtMatrixLayoutCreate");
  check(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes), "workspace");
  cublasLtMatmulHeuristicResult_t choice{};
  int found = 0;
  check(cublasLtMatmulAlgoGetHeuristic(lt, description, layout, layout, layout, layout, preference, 1, &choice, &found), "heuristic");
  const float one = 1;
  const float zero = 0;
  say(name, 2.0 * n * static_cast<double>(n) * n * 1e-6,
      microseconds(stream, 20,
                   [&](cudaStream_t on) {
                     check(cublasLtMatmul(lt, description, &one, a.get(), layout, b.get(), layout, &zero, c.get(), layout, c.get(), layout,
                                          &choice.algo, workspace.get(), bytes, on),
                           "cublasLtMatmul");
                   }),
      "TFLOP/s");
}

void optimizer(cudaStream_t stream) {
  constexpr std::int64_t parameters = 124439808;  // GPT-2, its smallest
  Memory<float> p(parameters), g(parameters), m(parameters), v(parameters);
  Memory<bf16> copy(parameters);
  for (Memory<float>* const each : {&p, &g, &m, &v}) fill(*each);
  constexpr std::int64_t quads = parameters / 4;
  say("AdamW of 124,439,808 parameters with a bf16 copy, 30 bytes each", 30.0 * parameters * 1e-3,
      microseconds(stream, 20,
                   [&](cudaStream_t on) {
                     adamw<<<static_cast<unsigned>((quads + 255) / 256), 256, 0, on>>>(
                         quads, reinterpret_cast<Four*>(p.get()), reinterpret_cast<const Four*>(g.get()), reinterpret_cast<Four*>(m.get()),
                         reinterpret_cast<Four*>(v.get()), reinterpret_cast<FourHalves*>(copy.get()));
                   }),
      "GB/s");
  check(cudaGetLastError(), "adamw");
}
}  // namespace

int main() {
  cudaStream_t const stream = new_stream();
  cudaDeviceProp card{};
  int driver = 0;
  int runtime = 0;
  check(cudaGetDeviceProperties(&card, 0), "cudaGetDeviceProperties");
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  std::printf(
      "## Rates of %s: %d multiprocessors, L2 %d MiB, %.1f GiB, shared memory of a block %zu KiB, CUDA %d, driver's CUDA %d, cuBLASLt %zu\n\n",
      card.name, card.multiProcessorCount, card.l2CacheSize >> 20, static_cast<double>(card.totalGlobalMem) / (1 << 30),
      card.sharedMemPerBlockOptin >> 10, runtime, driver, cublasLtGetVersion());
  std::printf("| what | us | rate |\n|---|---|---|\n");
  copies(stream);
  cublasLtHandle_t lt = nullptr;
  check(cublasLtCreate(&lt), "cublasLtCreate");
  product<bf16>(lt, stream, "product of 8192 x 8192 x 8192, bf16", CUDA_R_16BF, CUBLAS_COMPUTE_32F);
  product<float>(lt, stream, "product of 8192 x 8192 x 8192, tf32", CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32);
  product<float>(lt, stream, "product of 8192 x 8192 x 8192, f32", CUDA_R_32F, CUBLAS_COMPUTE_32F);
  product<float>(lt, stream, "product of 8192 x 8192 x 8192, f32 as 3 bf16", CUDA_R_32F, CUBLAS_COMPUTE_32F_EMULATED_16BFX9);
  optimizer(stream);
  return 0;
}
