// SPDX-License-Identifier: MIT
// Products of a linear layer through cuBLASLt: which epilogues have algorithms for which types and shapes, how far they are from products in double,
// what the first choice of the heuristic and the best of eight take, which GELU the library has, and whether a row's bits depend on the rows beside
// it.
#include <cmath>
#include <cstring>
#include <heddle/graph/layers/gelu.hpp>
#include <string_view>

#include "card.hpp"
#include "drawn.hpp"

namespace {
using namespace gpu_check;
using bf16 = __nv_bfloat16;

constexpr std::size_t workspace_bytes = 32U << 20;
constexpr int asked = 8;

/// Row-major: x (rows, in), weight (out, in), y and its gradient (rows, out).
struct Shape {
  int rows, in, out;
};
struct Types {
  std::string_view name;
  cudaDataType_t value, weight_gradient;
  cublasComputeType_t compute;
  double tolerance;
};
enum class Product { forward, input_gradient, weight_gradient };
struct Epilogue {
  std::string_view name;
  Product product;
  cublasLtEpilogue_t kind;
};

template <class T> __device__ T rounded(double x) { return static_cast<T>(static_cast<float>(x)); }
__global__ void draw(float* to, std::int64_t count, unsigned seed, float width) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  to[i] = gpu_check::drawn(i, seed, width);
}
__global__ void to_bf16(const float* from, bf16* to, float* back, std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  to[i] = __float2bfloat16(from[i]);
  back[i] = __bfloat162float(to[i]);
}
__global__ void widen(const bf16* from, float* to, std::int64_t count) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) to[i] = __bfloat162float(from[i]);
}
/// c (m, n) = sum over k of a b, any strides, in double: the reference.
__global__ void reference(const float* a, const float* b, double* c, int m, int n, int k, std::int64_t a_m, std::int64_t a_k, std::int64_t b_k,
                          std::int64_t b_n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= static_cast<std::int64_t>(m) * n) return;
  const std::int64_t row = i / n;
  const std::int64_t column = i % n;
  double sum = 0;
  for (int at = 0; at < k; ++at) sum += static_cast<double>(a[row * a_m + at * a_k]) * static_cast<double>(b[at * b_k + column * b_n]);
  c[i] = sum;
}
template <class T> struct alignas(16) Pack {
  static constexpr int count = 16 / sizeof(T);
  T values[count];
};
/// What a kernel of its own does behind a plain product: bias and Heddle's GELU in place, 16 bytes a thread.
template <class T> __global__ void bias_and_gelu(T* y, const float* bias, std::int64_t packs, int out) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= packs) return;
  Pack<T> pack = reinterpret_cast<Pack<T>*>(y)[i];
  const int column = static_cast<int>(i * Pack<T>::count % out);
  for (int k = 0; k < Pack<T>::count; ++k) pack.values[k] = rounded<T>(heddle::GELU::forward(static_cast<float>(pack.values[k]) + bias[column + k]));
  reinterpret_cast<Pack<T>*>(y)[i] = pack;
}
/// What a kernel of its own does before the backward's products: the gradient through GELU, from what the layer saved.
template <class T> __global__ void gelu_gradient(T* dy, const T* pre, std::int64_t packs) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= packs) return;
  Pack<T> pack = reinterpret_cast<Pack<T>*>(dy)[i];
  const Pack<T> saved = reinterpret_cast<const Pack<T>*>(pre)[i];
  for (int k = 0; k < Pack<T>::count; ++k)
    pack.values[k] = rounded<T>(heddle::GELU::backward(static_cast<float>(saved.values[k]), static_cast<float>(pack.values[k])));
  reinterpret_cast<Pack<T>*>(dy)[i] = pack;
}
/// Sums of columns in an order that the grid alone decides: a block has 32 packs of columns and a share of the rows, a second launch adds the shares.
template <class T> __global__ void column_sums(const T* dy, int rows, int out, float* shares) {
  constexpr int width = Pack<T>::count;
  const int pack = static_cast<int>(blockIdx.x * 32 + threadIdx.x % 32);
  if (pack * width >= out) return;
  const int workers = static_cast<int>(blockDim.x / 32 * gridDim.y);
  const int worker = static_cast<int>(blockIdx.y * (blockDim.x / 32) + threadIdx.x / 32);
  float sums[width] = {};
  for (int r = worker; r < rows; r += workers) {
    const Pack<T> here = reinterpret_cast<const Pack<T>*>(dy)[(static_cast<std::int64_t>(r) * out) / width + pack];
    for (int k = 0; k < width; ++k) sums[k] += static_cast<float>(here.values[k]);
  }
  for (int k = 0; k < width; ++k) shares[static_cast<std::int64_t>(worker) * out + pack * width + k] = sums[k];
}
__global__ void add_shares(const float* shares, int workers, int out, float* sums) {
  const int column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (column >= out) return;
  float sum = 0;
  for (int w = 0; w < workers; ++w) sum += shares[static_cast<std::int64_t>(w) * out + column];
  sums[column] = sum;
}
unsigned blocks(std::int64_t count) { return static_cast<unsigned>((count + 255) / 256); }

double gelu_erf(double x) { return 0.5 * x * (1 + std::erf(x * 0.70710678118654752440)); }
double gelu_tanh(double x) { return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x))); }
double gelu_tanh_slope(double x) {
  const double inner = 0.79788456080286535588 * (x + 0.044715 * x * x * x);
  const double t = std::tanh(inner);
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.79788456080286535588 * (1 + 3 * 0.044715 * x * x);
}

/// Everything a product of one shape reads, in float32 and bf16; the float32 holds what bf16 rounded where `half`.
struct Operands {
  Shape shape;
  bool half;
  Memory<float> x, w, dy, bias, pre;
  Memory<bf16> x_half, w_half, dy_half, bias_half, pre_half;
  Operands(Shape s, bool half_)
      : shape(s), half(half_), x(size(s.rows, s.in)), w(size(s.out, s.in)), dy(size(s.rows, s.out)), bias(size(1, std::max(s.out, s.in))),
        pre(size(s.rows, s.in)), x_half(x.count()), w_half(w.count()), dy_half(dy.count()), bias_half(bias.count()), pre_half(pre.count()) {
    fill(x, x_half, 1, 1.0F);
    fill(w, w_half, 2, 2.0F / std::sqrt(static_cast<float>(s.in)));
    fill(dy, dy_half, 3, 1.0F);
    fill(bias, bias_half, 4, 0.5F);
    fill(pre, pre_half, 5, 2.0F);
  }
  static std::size_t size(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }

 private:
  void fill(Memory<float>& memory, Memory<bf16>& halves, unsigned seed, float width) {
    const auto count = static_cast<std::int64_t>(memory.count());
    Memory<float> rest(memory.count());
    draw<<<blocks(count), 256>>>(memory.get(), count, seed, width);
    to_bf16<<<blocks(count), 256>>>(memory.get(), halves.get(), half ? memory.get() : rest.get(), count);
    check(cudaDeviceSynchronize(), "fill");
  }
};

/// One product as cuBLASLt takes it, column-major: d (m, n) = op(a) op(b), the algorithms that the heuristic offers, best guess first.
class Lt {
 public:
  cublasLtMatmulHeuristicResult_t algorithms[asked] = {};  // nvcc 13.0 fails on a vector of this nameless struct
  int found = 0;
  cublasStatus_t heuristic = CUBLAS_STATUS_SUCCESS;

  Lt(cublasLtHandle_t lt, const Operands& at, const Types& types, Product product, cublasLtEpilogue_t kind, void* d, int rows, void* auxiliary,
     void* bias, cudaDataType_t bias_type, float beta)
      : lt_(lt), d_(d), beta_(beta) {
    const Shape s = at.shape;
    const bool half = types.value == CUDA_R_16BF;
    const void* x = half ? static_cast<const void*>(at.x_half.get()) : at.x.get();
    const void* w = half ? static_cast<const void*>(at.w_half.get()) : at.w.get();
    const void* dy = half ? static_cast<const void*>(at.dy_half.get()) : at.dy.get();
    check(cublasLtMatmulDescCreate(&description_, types.compute, CUDA_R_32F), "cublasLtMatmulDescCreate");
    int m = 0;
    int n = 0;
    cudaDataType_t to = types.value;
    if (product == Product::forward) {  // y^T (out, rows) = w x^T
      side(a_, w, types.value, s.in, s.out, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
      side(b_, x, types.value, s.in, rows, CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
      m = s.out, n = rows;
    } else if (product == Product::input_gradient) {  // dx^T (in, rows) = w^T dy^T
      side(a_, w, types.value, s.in, s.out, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N);
      side(b_, dy, types.value, s.out, rows, CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
      m = s.in, n = rows;
    } else {  // dw^T (in, out) = x^T dy
      side(a_, x, types.value, s.in, rows, CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_N);
      side(b_, dy, types.value, s.out, rows, CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_T);
      m = s.in, n = s.out;
      to = types.weight_gradient;
    }
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, kind);
    if (bias != nullptr) {
      set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
      set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, bias_type);
    }
    if (auxiliary != nullptr) {
      const bool mask = kind == CUBLASLT_EPILOGUE_RELU_AUX_BIAS || kind == CUBLASLT_EPILOGUE_RELU_AUX || kind == CUBLASLT_EPILOGUE_DRELU_BGRAD ||
                        kind == CUBLASLT_EPILOGUE_DRELU;
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, auxiliary);
      set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, static_cast<std::int64_t>(mask ? (m + 127) / 128 * 128 : m));
    }
    layout(result_, to, m, n);
    cublasLtMatmulPreference_t preference = nullptr;
    check(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
    check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace_bytes, sizeof workspace_bytes),
          "workspace");
    heuristic = cublasLtMatmulAlgoGetHeuristic(lt_, description_, a_, b_, result_, result_, preference, asked, algorithms, &found);
    if (heuristic != CUBLAS_STATUS_SUCCESS) found = 0;
    check(cublasLtMatmulPreferenceDestroy(preference), "cublasLtMatmulPreferenceDestroy");
  }
  Lt(const Lt&) = delete;
  Lt& operator=(const Lt&) = delete;
  ~Lt() {
    for (const cublasLtMatrixLayout_t l : {a_, b_, result_})
      if (l != nullptr) cublasLtMatrixLayoutDestroy(l);
    if (description_ != nullptr) cublasLtMatmulDescDestroy(description_);
  }
  [[nodiscard]] cublasStatus_t run(const cublasLtMatmulAlgo_t& algorithm, void* workspace, cudaStream_t stream) const {
    const float one = 1;
    return cublasLtMatmul(lt_, description_, &one, a_data_, a_, b_data_, b_, &beta_, d_, result_, d_, result_, &algorithm, workspace, workspace_bytes,
                          stream);
  }

 private:
  template <class V> void set(cublasLtMatmulDescAttributes_t attribute, V value) {
    check(cublasLtMatmulDescSetAttribute(description_, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
  }
  static void layout(cublasLtMatrixLayout_t& to, cudaDataType_t type, int rows, int columns) {
    check(cublasLtMatrixLayoutCreate(&to, type, static_cast<std::uint64_t>(rows), static_cast<std::uint64_t>(columns), rows),
          "cublasLtMatrixLayoutCreate");
  }
  void side(cublasLtMatrixLayout_t& to, const void* data, cudaDataType_t type, int rows, int columns, cublasLtMatmulDescAttributes_t attribute,
            cublasOperation_t operation) {
    layout(to, type, rows, columns);
    set(attribute, operation);
    (attribute == CUBLASLT_MATMUL_DESC_TRANSA ? a_data_ : b_data_) = data;
  }
  cublasLtHandle_t lt_;
  void* d_;
  float beta_;
  const void* a_data_ = nullptr;
  const void* b_data_ = nullptr;
  cublasLtMatmulDesc_t description_ = nullptr;
  cublasLtMatrixLayout_t a_ = nullptr;
  cublasLtMatrixLayout_t b_ = nullptr;
  cublasLtMatrixLayout_t result_ = nullptr;
};

double distance(const std::vector<float>& out, const std::vector<double>& right) {
  double far = 0;
  double long_ = 0;
  for (std::size_t i = 0; i < right.size(); ++i) {
    const double d = static_cast<double>(out[i]) - right[i];
    far += d * d;
    long_ += right[i] * right[i];
  }
  return std::sqrt(far / long_);  // NaN where one number is
}
std::vector<float> as_float(const Memory<float>& memory, bool half, std::size_t count) {
  Memory<float> wide(count);
  if (half)
    widen<<<blocks(static_cast<std::int64_t>(count)), 256>>>(reinterpret_cast<const bf16*>(memory.get()), wide.get(),
                                                             static_cast<std::int64_t>(count));
  std::vector<float> all = half ? wide.read() : memory.read();
  all.resize(count);
  return all;
}

/// The products of one shape in double.
struct Right {
  std::vector<double> y, dx, dw, dy_sums;
  explicit Right(const Operands& at) {
    const Shape s = at.shape;
    const auto product = [](const Memory<float>& a, const Memory<float>& b, int m, int n, int k, std::int64_t am, std::int64_t ak, std::int64_t bk,
                            std::int64_t bn) {
      Memory<double> c(Operands::size(m, n));
      reference<<<blocks(static_cast<std::int64_t>(m) * n), 256>>>(a.get(), b.get(), c.get(), m, n, k, am, ak, bk, bn);
      return c.read();
    };
    y = product(at.x, at.w, s.rows, s.out, s.in, s.in, 1, 1, s.in);
    dx = product(at.dy, at.w, s.rows, s.in, s.out, s.out, 1, s.in, 1);
    dw = product(at.dy, at.x, s.out, s.in, s.rows, 1, s.out, s.in, 1);
    dy_sums.assign(static_cast<std::size_t>(s.out), 0);
    const std::vector<float> dy = at.dy.read();
    for (std::size_t i = 0; i < dy.size(); ++i) dy_sums[i % dy_sums.size()] += static_cast<double>(dy[i]);
  }
};

/// Times, errors and counts of one epilogue.
void row(cublasLtHandle_t lt, cudaStream_t stream, const Operands& at, const Right& right, const Types& types, const Epilogue& epilogue,
         bool bias_is_float, float beta) {
  const Shape s = at.shape;
  const bool half = types.value == CUDA_R_16BF;
  const bool forward = epilogue.product == Product::forward;
  const bool of_weights = epilogue.product == Product::weight_gradient;
  const auto is = [&](std::initializer_list<cublasLtEpilogue_t> kinds) {
    return std::find(kinds.begin(), kinds.end(), epilogue.kind) != kinds.end();
  };
  const bool relu = is({CUBLASLT_EPILOGUE_RELU_BIAS, CUBLASLT_EPILOGUE_RELU_AUX_BIAS});
  const bool gelu = is({CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_AUX_BIAS});
  const bool sums_in = is({CUBLASLT_EPILOGUE_DRELU_BGRAD, CUBLASLT_EPILOGUE_DGELU_BGRAD});
  const bool sums_out = is({CUBLASLT_EPILOGUE_BGRADA, CUBLASLT_EPILOGUE_BGRADB});
  const bool slope_gelu = is({CUBLASLT_EPILOGUE_DGELU, CUBLASLT_EPILOGUE_DGELU_BGRAD});
  const bool slope_relu = is({CUBLASLT_EPILOGUE_DRELU, CUBLASLT_EPILOGUE_DRELU_BGRAD});
  const bool with_bias = is({CUBLASLT_EPILOGUE_BIAS}) || relu || gelu;
  const std::size_t count = Operands::size(of_weights ? s.out : s.rows, forward ? s.out : s.in);
  const bool half_result = of_weights ? types.weight_gradient == CUDA_R_16BF : half;
  Memory<float> d(count);
  Memory<float> sums(static_cast<std::size_t>(std::max(s.in, s.out)));
  Memory<unsigned char> mask(Operands::size(s.rows, (std::max(s.in, s.out) + 127) / 128 * 16));
  Memory<float> kept(Operands::size(s.rows, std::max(s.in, s.out)));
  Memory<unsigned char> workspace(workspace_bytes);
  const std::vector<float> pre = slope_relu || slope_gelu ? at.pre.read() : std::vector<float>{};
  if (slope_relu) {  // bit i of a row of the mask: the unit was above 0
    const std::size_t bytes = static_cast<std::size_t>((s.in + 127) / 128 * 16);
    std::vector<unsigned char> bits(mask.count(), 0);
    for (int r = 0; r < s.rows; ++r)
      for (int i = 0; i < s.in; ++i)
        if (pre[static_cast<std::size_t>(r) * static_cast<std::size_t>(s.in) + static_cast<std::size_t>(i)] > 0)
          bits[static_cast<std::size_t>(r) * bytes + static_cast<std::size_t>(i / 8)] |= static_cast<unsigned char>(1U << (i % 8));
    mask.write(bits);
  }
  void* auxiliary = nullptr;
  if (slope_relu || is({CUBLASLT_EPILOGUE_RELU_AUX_BIAS})) auxiliary = mask.get();
  if (is({CUBLASLT_EPILOGUE_GELU_AUX_BIAS})) auxiliary = kept.get();
  if (slope_gelu) auxiliary = half ? static_cast<void*>(at.pre_half.get()) : at.pre.get();
  void* bias = nullptr;
  if (with_bias) bias = half && !bias_is_float ? static_cast<void*>(at.bias_half.get()) : at.bias.get();
  if (sums_in || sums_out) bias = sums.get();
  const cudaDataType_t bias_type = half && !bias_is_float ? CUDA_R_16BF : CUDA_R_32F;
  if (beta != 0) check(cudaMemset(d.get(), 0, count * sizeof(float)), "cudaMemset");
  const Lt product(lt, at, types, epilogue.product, epilogue.kind, d.get(), s.rows, auxiliary, bias, bias_type, beta);
  std::printf("| %5d x %4d -> %4d | %-14s | %-24s | %-4s | %d |", s.rows, s.in, s.out, std::string(types.name).c_str(),
              (std::string(epilogue.name) + (beta != 0 ? " added" : "")).c_str(),
              bias == nullptr           ? ""
              : bias_type == CUDA_R_32F ? "f32"
                                        : "bf16",
              product.found);
  if (product.found == 0) {
    std::printf(" | | | %s |\n", cublasLtGetStatusString(product.heuristic));
    return;
  }
  std::vector<float> times;
  for (int at_choice = 0; at_choice < product.found; ++at_choice) {
    const cublasLtMatmulAlgo_t& algorithm = product.algorithms[at_choice].algo;
    if (product.run(algorithm, workspace.get(), stream) != CUBLAS_STATUS_SUCCESS) {
      times.push_back(INFINITY);
      continue;
    }
    check(cudaStreamSynchronize(stream), "product");
    times.push_back(microseconds(stream, 20, [&](cudaStream_t on) { check(product.run(algorithm, workspace.get(), on), "cublasLtMatmul"); }));
  }
  d.poison();
  sums.poison();
  if (beta != 0) check(cudaMemset(d.get(), 0, count * sizeof(float)), "cudaMemset");
  check(product.run(product.algorithms[0].algo, workspace.get(), stream), "cublasLtMatmul");
  check(cudaStreamSynchronize(stream), "product");
  const std::vector<float> bias_values = at.bias.read();
  std::vector<double> expected = forward ? right.y : of_weights ? right.dw : right.dx;
  std::vector<double> expected_sums(static_cast<std::size_t>(s.in), 0);
  for (std::size_t i = 0; i < expected.size() && !of_weights; ++i) {
    if (with_bias) expected[i] += static_cast<double>(bias_values[i % static_cast<std::size_t>(s.out)]);
    if (relu) expected[i] = std::max(expected[i], 0.0);
    if (gelu) expected[i] = gelu_tanh(expected[i]);
    if (slope_relu) expected[i] *= pre[i] > 0 ? 1 : 0;
    if (slope_gelu) expected[i] *= gelu_tanh_slope(static_cast<double>(pre[i]));
    if (sums_in) expected_sums[i % static_cast<std::size_t>(s.in)] += expected[i];
  }
  const double far = distance(as_float(d, half_result, count), expected);
  double far_sums = 0;
  if (sums_in || sums_out) {
    const std::vector<double>& right_sums = sums_in ? expected_sums : right.dy_sums;
    far_sums = distance(as_float(sums, bias_type == CUDA_R_16BF, right_sums.size()), right_sums);
  }
  const float best = *std::min_element(times.begin(), times.end());
  std::printf(" %7.1f | %7.1f | %.1e%s |\n", static_cast<double>(times[0]), static_cast<double>(best), std::max(far, far_sums),
              std::max(far, far_sums) <= types.tolerance ? "" : " WRONG");
  if (!(std::max(far, far_sums) <= types.tolerance)) ++wrong;
}

void gelu_of_the_library(cublasLtHandle_t lt, cudaStream_t stream) {
  const Operands at({256, 64, 256}, false);
  const Right right(at);
  const Types types{"f32", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1e-5};
  Memory<float> d(right.y.size());
  Memory<unsigned char> workspace(workspace_bytes);
  const Lt product(lt, at, types, Product::forward, CUBLASLT_EPILOGUE_GELU_BIAS, d.get(), 256, nullptr, at.bias.get(), CUDA_R_32F, 0);
  if (product.found == 0) return;
  check(product.run(product.algorithms[0].algo, workspace.get(), stream), "cublasLtMatmul");
  check(cudaStreamSynchronize(stream), "product");
  const std::vector<float> out = d.read();
  const std::vector<float> bias = at.bias.read();
  double from_tanh = 0;
  double from_erf = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double x = right.y[i] + static_cast<double>(bias[i % 256]);
    from_tanh = std::max(from_tanh, std::abs(static_cast<double>(out[i]) - gelu_tanh(x)));
    from_erf = std::max(from_erf, std::abs(static_cast<double>(out[i]) - gelu_erf(x)));
  }
  std::printf("\nGELU of the epilogue, float32: at most %.1e from the tanh form, %.1e from the erf form (Heddle's GELU).\n", from_tanh, from_erf);
}

/// What the epilogues save: the same work as passes of their own.
template <class T> void passes(cudaStream_t stream, Shape s, const Memory<T>& dy, const Right& right, const char* name) {
  Memory<T> y(dy.count());
  Memory<T> saved(dy.count());
  Memory<float> bias(static_cast<std::size_t>(s.out));
  constexpr int per_block = 8;
  constexpr int row_blocks = 16;
  Memory<float> shares(Operands::size(per_block * row_blocks, s.out));
  Memory<float> sums(static_cast<std::size_t>(s.out));
  for (Memory<T>* const each : {&y, &saved}) check(cudaMemcpy(each->get(), dy.get(), dy.count() * sizeof(T), cudaMemcpyDeviceToDevice), "cudaMemcpy");
  check(cudaMemset(bias.get(), 0, bias.count() * sizeof(float)), "cudaMemset");
  const auto packs = static_cast<std::int64_t>(dy.count()) / Pack<T>::count;
  const auto say = [&](const char* what, float us, const char* error) {
    std::printf("| %5d x %4d -> %4d | %-14s | %-24s |      |   | %7.1f | | %s |\n", s.rows, s.in, s.out, name, what, static_cast<double>(us), error);
  };
  say("pass: bias and GELU",
      microseconds(stream, 20, [&](cudaStream_t on) { bias_and_gelu<T><<<blocks(packs), 256, 0, on>>>(y.get(), bias.get(), packs, s.out); }), "");
  say("pass: GELU's gradient",
      microseconds(stream, 20, [&](cudaStream_t on) { gelu_gradient<T><<<blocks(packs), 256, 0, on>>>(y.get(), saved.get(), packs); }), "");
  const float us = microseconds(stream, 20, [&](cudaStream_t on) {
    const dim3 grid(static_cast<unsigned>((s.out / Pack<T>::count + 31) / 32), row_blocks);
    column_sums<T><<<grid, 32 * per_block, 0, on>>>(dy.get(), s.rows, s.out, shares.get());
    add_shares<<<static_cast<unsigned>((s.out + 127) / 128), 128, 0, on>>>(shares.get(), per_block * row_blocks, s.out, sums.get());
  });
  check(cudaDeviceSynchronize(), "passes");
  const double far = distance(sums.read(), right.dy_sums);
  if (!(far <= 1e-5)) ++wrong;
  char error[20];
  std::snprintf(error, sizeof error, "%.1e", far);
  say("pass: sums of dy", us, error);
}

/// Rows of a product beside fewer rows: do they keep their bits? Asked of the algorithm chosen for all rows and of the one chosen for a part.
void rows_alone(cublasLtHandle_t lt, cudaStream_t stream, Shape s, const Types& types, Product which) {
  const bool half = types.value == CUDA_R_16BF;
  const Operands at(s, half);
  Memory<unsigned char> workspace(workspace_bytes);
  const int columns = which == Product::forward ? s.out : s.in;
  const std::size_t width = static_cast<std::size_t>(columns) * (half ? 2 : 4);
  const auto bytes = [&](int rows, const cublasLtMatmulAlgo_t* algorithm, cublasLtMatmulAlgo_t* chosen) {
    Memory<float> d(Operands::size(s.rows, columns));
    const Lt product(lt, at, types, which, CUBLASLT_EPILOGUE_DEFAULT, d.get(), rows, nullptr, nullptr, CUDA_R_32F, 0);
    if (product.found == 0) stop("cublasLtMatmulAlgoGetHeuristic", "no algorithm for a plain product", __FILE__, __LINE__);
    if (chosen != nullptr) *chosen = product.algorithms[0].algo;
    const cublasStatus_t status = product.run(algorithm == nullptr ? product.algorithms[0].algo : *algorithm, workspace.get(), stream);
    check(cudaStreamSynchronize(stream), "product");
    std::vector<unsigned char> all(static_cast<std::size_t>(rows) * width);
    if (status != CUBLAS_STATUS_SUCCESS) return std::vector<unsigned char>{};
    check(cudaMemcpy(all.data(), d.get(), all.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return all;
  };
  cublasLtMatmulAlgo_t whole_choice{};
  const std::vector<unsigned char> whole = bytes(s.rows, nullptr, &whole_choice);
  std::printf("| %d x %d -> %d | %s, %s |", s.rows, s.in, s.out, std::string(types.name).c_str(), which == Product::forward ? "y" : "dx");
  int repeats = 0;
  for (int again = 0; again < 20; ++again) repeats += bytes(s.rows, nullptr, nullptr) == whole ? 1 : 0;
  std::printf(" %d of 20 |", repeats);
  for (const int part : {2, 4, 8, 64}) {
    const int rows = s.rows / part;
    const auto same = [&](const std::vector<unsigned char>& some) {
      return some.empty() ? "refused" : std::memcmp(some.data(), whole.data(), some.size()) == 0 ? "same" : "other";
    };
    std::printf(" %s, %s |", same(bytes(rows, nullptr, nullptr)), same(bytes(rows, &whole_choice, nullptr)));
  }
  std::printf("\n");
}
}  // namespace

int main() {
  cublasLtHandle_t lt = nullptr;
  check(cublasLtCreate(&lt), "cublasLtCreate");
  cudaStream_t const stream = new_stream();
  const Types all_types[] = {
      {"f32", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1e-5},
      {"tf32", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, 2e-3},
      {"f32 as 3 bf16", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_EMULATED_16BFX9, 1e-5},
      {"bf16, dw f32", CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, 1e-2},
      {"bf16", CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, 1e-2},
  };
  const Epilogue epilogues[] = {
      {"y", Product::forward, CUBLASLT_EPILOGUE_DEFAULT},
      {"y BIAS", Product::forward, CUBLASLT_EPILOGUE_BIAS},
      {"y RELU_BIAS", Product::forward, CUBLASLT_EPILOGUE_RELU_BIAS},
      {"y RELU_AUX_BIAS", Product::forward, CUBLASLT_EPILOGUE_RELU_AUX_BIAS},
      {"y GELU_BIAS", Product::forward, CUBLASLT_EPILOGUE_GELU_BIAS},
      {"y GELU_AUX_BIAS", Product::forward, CUBLASLT_EPILOGUE_GELU_AUX_BIAS},
      {"dx", Product::input_gradient, CUBLASLT_EPILOGUE_DEFAULT},
      {"dx DRELU", Product::input_gradient, CUBLASLT_EPILOGUE_DRELU},
      {"dx DRELU_BGRAD", Product::input_gradient, CUBLASLT_EPILOGUE_DRELU_BGRAD},
      {"dx DGELU", Product::input_gradient, CUBLASLT_EPILOGUE_DGELU},
      {"dx DGELU_BGRAD", Product::input_gradient, CUBLASLT_EPILOGUE_DGELU_BGRAD},
      {"dw", Product::weight_gradient, CUBLASLT_EPILOGUE_DEFAULT},
      {"dw BGRADB", Product::weight_gradient, CUBLASLT_EPILOGUE_BGRADB},
  };
  std::printf("## Products: algorithms (of %d asked), times of the first and of the best [us], distance from products in double\n\n", asked);
  std::printf(
      "| rows x in -> out | types | product and epilogue | bias | algorithms | first us | best us | error |\n|---|---|---|---|---|---|---|---|\n");
  for (const Shape s : {Shape{4096, 768, 3072}, Shape{4096, 3072, 768}, Shape{512, 784, 128}, Shape{96, 33, 10}, Shape{24, 64, 40}}) {
    for (const bool half : {false, true}) {
      const Operands at(s, half);
      const Right right(at);
      for (const Types& types : all_types) {
        if ((types.value == CUDA_R_16BF) != half) continue;
        for (const Epilogue& epilogue : epilogues) {
          if (types.name == "bf16" && epilogue.product != Product::weight_gradient) continue;
          const bool has_bias =
              epilogue.kind != CUBLASLT_EPILOGUE_DEFAULT && epilogue.kind != CUBLASLT_EPILOGUE_DRELU && epilogue.kind != CUBLASLT_EPILOGUE_DGELU;
          row(lt, stream, at, right, types, epilogue, true, 0);
          if (half && has_bias) row(lt, stream, at, right, types, epilogue, false, 0);
          if (epilogue.product == Product::weight_gradient) row(lt, stream, at, right, types, epilogue, true, 1);
        }
      }
      if (s.rows == 4096 && half) passes<bf16>(stream, s, at.dy_half, right, "bf16");
      if (s.rows == 4096 && !half) passes<float>(stream, s, at.dy, right, "f32");
    }
  }
  gelu_of_the_library(lt, stream);
  std::printf(
      "\n## Bits of a row beside fewer rows: the same product again, then 1/2, 1/4, 1/8, 1/64 of the rows (own choice of algorithm, choice of the "
      "whole)\n\n");
  std::printf("| rows x in -> out | types | again | 1/2 | 1/4 | 1/8 | 1/64 |\n|---|---|---|---|---|---|---|\n");
  for (const Shape s : {Shape{4096, 768, 3072}, Shape{4096, 3072, 768}, Shape{512, 784, 128}})
    for (const Types& types : all_types)
      if (types.name != "bf16")
        for (const Product which : {Product::forward, Product::input_gradient}) rows_alone(lt, stream, s, types, which);
  std::printf("\nproducts: %d rows wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
