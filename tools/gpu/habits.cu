// SPDX-License-Identifier: MIT
// What the emulator of tests/cuda_emulator takes for granted of a card, asked of this one: what a capture refuses, what errors stay, which products
// cuBLASLt takes, how NCCL makes and ends communicators. A row that says NO is a place where the emulator, or the backend, has to be changed.
#include <cmath>
#include <cstring>
#include <thread>

#include "card.hpp"
#include "rows.hpp"

namespace {
using namespace gpu_check;

__global__ void add(float* x, float by, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) x[i] += by;
}
__global__ void add_late(float* x, float by) { x[threadIdx.x] += by; }  // nobody launches it before it is captured
__global__ void spin(float* x, long long cycles) {
  const long long begin = clock64();
  while (clock64() - begin < cycles) {
  }
  x[0] += 1;
}

/// `thought` is what the emulator says.
void say(const char* what, const char* seen, const char* thought) {
  std::printf("| %s | %s | %s | %s |\n", what, seen, thought, verdict(std::strcmp(seen, thought) == 0));
}
void say(const char* what, cudaError_t seen, cudaError_t thought) { say(what, cudaGetErrorName(seen), cudaGetErrorName(thought)); }
/// Where nothing relies on what is seen.
void tell(const char* what, const std::string& seen) { std::printf("| %s | %s | | |\n", what, seen.c_str()); }

/// What a call says within a capture of this thread alone, and what the end of the capture says then.
template <class Call> void in_capture(const char* what, Call call, cudaError_t thought, cudaError_t end_thought) {
  cudaStream_t const stream = new_stream();
  Memory<float> x(256);
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  add<<<1, 256, 0, stream>>>(x.get(), 1, 256);
  const cudaError_t seen = call(stream, x.get());
  cudaGraph_t graph = nullptr;
  const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
  static_cast<void>(cudaGetLastError());
  const std::string both = std::string{cudaGetErrorName(seen)} + ", then " + cudaGetErrorName(ended);
  const std::string wanted = std::string{cudaGetErrorName(thought)} + ", then " + cudaGetErrorName(end_thought);
  say(what, both.c_str(), wanted.c_str());
  if (graph != nullptr) check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  check(cudaStreamSynchronize(stream), "a stream behind a capture");
  check(cudaStreamDestroy(stream), "cudaStreamDestroy");
}
constexpr cudaError_t refused = cudaErrorStreamCaptureUnsupported, spoilt = cudaErrorStreamCaptureInvalidated, well = cudaSuccess;

void captures(Rows& rows) {
  const auto row = [&](const char* what, auto call, cudaError_t thought, cudaError_t end) {
    rows.each([&] { in_capture(what, call, thought, end); });
  };
  row(
      "a launch", [](cudaStream_t s, float* x) { return add<<<1, 256, 0, s>>>(x, 1, 256), cudaGetLastError(); }, well, well);
  row(
      "the first launch of a kernel", [](cudaStream_t s, float* x) { return add_late<<<1, 256, 0, s>>>(x, 1), cudaGetLastError(); }, well, well);
  row(
      "cudaMemsetAsync", [](cudaStream_t s, float* x) { return cudaMemsetAsync(x, 0, 64, s); }, well, well);
  row(
      "cudaMalloc",
      [](cudaStream_t, float*) {
        void* p = nullptr;
        return cudaMalloc(&p, 64);
      },
      refused, spoilt);
  row(
      "cudaMallocHost",
      [](cudaStream_t, float*) {
        void* p = nullptr;
        return cudaMallocHost(&p, 64);
      },
      refused, spoilt);
  row(
      "cudaStreamSynchronize of the stream", [](cudaStream_t s, float*) { return cudaStreamSynchronize(s); }, refused, spoilt);
  row(
      "cudaStreamQuery of the stream", [](cudaStream_t s, float*) { return cudaStreamQuery(s); }, refused, spoilt);
  row(
      "cudaDeviceSynchronize", [](cudaStream_t, float*) { return cudaDeviceSynchronize(); }, refused, spoilt);
  row(
      "cudaMemcpyAsync from pageable memory",
      [](cudaStream_t s, float* x) {
        float here = 1;
        return cudaMemcpyAsync(x, &here, 4, cudaMemcpyHostToDevice, s);
      },
      refused, spoilt);
  row(
      "cudaMemset, of the default stream", [](cudaStream_t, float* x) { return cudaMemset(x, 0, 4); }, cudaErrorStreamCaptureImplicit, spoilt);
  row(
      "cudaFuncSetAttribute",
      [](cudaStream_t, float*) {
        return cudaFuncSetAttribute(reinterpret_cast<const void*>(&spin), cudaFuncAttributeMaxDynamicSharedMemorySize, 64 << 10);
      },
      well, well);
  row(
      "cudaMalloc of another thread",
      [](cudaStream_t, float*) {
        cudaError_t there = cudaSuccess;
        std::thread([&] {
          void* p = nullptr;
          there = cudaMalloc(&p, 64);
          if (p != nullptr) static_cast<void>(cudaFree(p));
        }).join();
        return there;
      },
      well, well);
  row(
      "an event of another stream, recorded before",
      [](cudaStream_t s, float*) {
        cudaEvent_t event = nullptr;
        check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
        check(cudaEventRecord(event, new_stream()), "cudaEventRecord");
        return cudaStreamWaitEvent(s, event, 0);
      },
      cudaErrorStreamCaptureIsolation, spoilt);
  row(
      "a stream that comes in and does not lead back",
      [](cudaStream_t s, float* x) {
        cudaEvent_t event = nullptr;
        cudaStream_t const side = new_stream();
        check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
        check(cudaEventRecord(event, s), "cudaEventRecord");
        check(cudaStreamWaitEvent(side, event, 0), "cudaStreamWaitEvent");
        return add<<<1, 256, 0, side>>>(x, 1, 256), cudaGetLastError();
      },
      well, cudaErrorStreamCaptureUnjoined);
}

void errors(Rows& rows) {
  rows.each([] {
    cudaStream_t const stream = new_stream();
    Memory<float> x(256);
    spin<<<1, 1, 0, stream>>>(x.get(), 100'000'000);
    const cudaError_t asked = cudaStreamQuery(stream), left = cudaPeekAtLastError();
    say("cudaStreamQuery while a kernel runs", asked, cudaErrorNotReady);
    say("the last error of the thread behind that", left, cudaErrorNotReady);
    static_cast<void>(cudaGetLastError());
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  });
  rows.each([] {
    cudaStream_t const stream = new_stream();
    cudaEvent_t event = nullptr;
    cudaGraph_t graph = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    check(cudaEventRecord(event, stream), "cudaEventRecord");
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    say("cudaEventQuery of an event of a capture that has ended", cudaEventQuery(event), cudaErrorCapturedEvent);
    say("cudaStreamWaitEvent for it", cudaStreamWaitEvent(stream, event, 0), cudaErrorCapturedEvent);
    say("cudaEventRecord of it", cudaEventRecord(event, stream), cudaSuccess);
    static_cast<void>(cudaGetLastError());
  });
  rows.each([] {
    Memory<float> x(256);
    add<<<0, 256>>>(x.get(), 1, 0);
    say("a launch of 0 blocks", cudaGetLastError(), cudaErrorInvalidConfiguration);
    say("what the card says behind it", cudaDeviceSynchronize(), cudaSuccess);
    say("cudaMemcpyAsync of 0 bytes to null", cudaMemcpyAsync(nullptr, x.get(), 0, cudaMemcpyDeviceToDevice, new_stream()), cudaSuccess);
    say("cudaMemcpy2DAsync of 1 row with a stride of 2 GiB",
        cudaMemcpy2DAsync(x.get(), std::size_t{1} << 31U, x.get() + 8, 8, 8, 1, cudaMemcpyDeviceToDevice, new_stream()), cudaErrorInvalidPitchValue);
    static_cast<void>(cudaGetLastError());
  });
  rows.each([] {
    cudaStream_t const stream = new_stream();
    Memory<float> x(1);
    x.write({0});
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t runnable = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    for (int i = 0; i < 4; ++i) spin<<<1, 1, 0, stream>>>(x.get(), 50'000'000);
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&runnable, graph, 0), "cudaGraphInstantiate");
    check(cudaGraphLaunch(runnable, stream), "cudaGraphLaunch");
    check(cudaGraphExecDestroy(runnable), "cudaGraphExecDestroy");
    say("whether a graph that was destroyed still runs", cudaStreamQuery(stream), cudaErrorNotReady);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    say("a graph that is destroyed while it runs is done all the same", x.read()[0] == 4 ? "yes" : "no", "yes");
    static_cast<void>(cudaGetLastError());
  });
}

/// y (rows, out) = x (rows, in) w^T + bias of ones: `told` is where the heuristic believes the bias to be, in elements behind a multiple of 256
/// bytes, `lies` where it is. Says what is wrong, or "right".
template <class T> std::string product(int rows, int in, int out, cublasComputeType_t compute, int told, int lies) {
  constexpr cudaDataType_t type = sizeof(T) == 4 ? CUDA_R_32F : CUDA_R_16BF;
  const auto n = [](int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); };
  Memory<T> x(n(rows, in)), w(n(out, in)), bias(static_cast<std::size_t>(out) + 64), y(n(rows, out));
  Memory<unsigned char> workspace(std::size_t{32} << 20U);
  for (Memory<T>* const each : {&x, &w, &bias}) each->write(std::vector<T>(each->count(), T(1.0F)));
  cublasLtHandle_t lt = nullptr;
  cublasLtMatmulDesc_t how = nullptr;
  cublasLtMatrixLayout_t of_w = nullptr, of_x = nullptr, of_y = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  check(cublasLtCreate(&lt), "cublasLtCreate");
  check(cublasLtMatmulDescCreate(&how, compute, CUDA_R_32F), "cublasLtMatmulDescCreate");
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, auto value) {
    check(cublasLtMatmulDescSetAttribute(how, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type);
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(bias.get() + told));
  check(cublasLtMatrixLayoutCreate(&of_w, type, static_cast<std::uint64_t>(in), static_cast<std::uint64_t>(out), in), "of w");
  check(cublasLtMatrixLayoutCreate(&of_x, type, static_cast<std::uint64_t>(in), static_cast<std::uint64_t>(rows), in), "of x");
  check(cublasLtMatrixLayoutCreate(&of_y, type, static_cast<std::uint64_t>(out), static_cast<std::uint64_t>(rows), out), "of y");
  check(cublasLtMatmulPreferenceCreate(&preference), "cublasLtMatmulPreferenceCreate");
  const std::uint64_t bytes = workspace.count();
  check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes), "workspace");
  cublasLtMatmulHeuristicResult_t offered[8] = {};
  int found = 0;
  const cublasStatus_t asked = cublasLtMatmulAlgoGetHeuristic(lt, how, of_w, of_x, of_y, of_y, preference, 8, offered, &found);
  if (asked != CUBLAS_STATUS_SUCCESS || found == 0) return std::string{"no algorithm: "} + cublasLtGetStatusName(asked);
  set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(bias.get() + lies));
  const float one = 1, none = 0;
  for (int i = 0; i < found; ++i) {
    y.poison();
    const cublasStatus_t said = cublasLtMatmul(lt, how, &one, w.get(), of_w, x.get(), of_x, &none, y.get(), of_y, y.get(), of_y, &offered[i].algo,
                                               workspace.get(), workspace.count(), nullptr);
    const std::string number = "algorithm " + std::to_string(i) + " of " + std::to_string(found);
    if (said != CUBLAS_STATUS_SUCCESS) return number + ": " + cublasLtGetStatusName(said);
    if (const cudaError_t e = cudaDeviceSynchronize(); e != cudaSuccess) return number + ": " + cudaGetErrorName(e);
    for (const T made : y.read())
      if (!(std::abs(static_cast<float>(made) - static_cast<float>(in + 1)) <= 0.01F * static_cast<float>(in + 1))) return number + " is wrong";
  }
  return "right";
}
void products(Rows& rows) {
  const auto row = [&](const std::string& what, int of_rows, int in, int out, int told = 0, int lies = 0, bool relied_on = true) {
    const auto one = [&](const char* types, auto made) {
      rows.each([&] {
        const std::string all = what + ", " + types, seen = made();
        relied_on ? say(all.c_str(), seen.c_str(), "right") : tell(all.c_str(), seen);
      });
    };
    one("float32", [&] { return product<float>(of_rows, in, out, CUBLAS_COMPUTE_32F, told, lies); });
    one("tf32", [&] { return product<float>(of_rows, in, out, CUBLAS_COMPUTE_32F_FAST_TF32, told, lies); });
    one("bf16", [&] { return product<__nv_bfloat16>(of_rows, in, out, CUBLAS_COMPUTE_32F, told, lies); });
  };
  row("a product with bias of 1 row, 64 -> 32", 1, 64, 32);
  row("of 64 rows, 64 -> 1 (else a kernel adds the bias)", 64, 64, 1, 0, 0, false);
  row("of 64 rows, 1 -> 32 (as well)", 64, 1, 32, 0, 0, false);
  row("of 1 row, 1 -> 1 (as well)", 1, 1, 1, 0, 0, false);
  row("of 2 rows, 3 -> 5", 2, 3, 5);
  row("of 2,200,000 rows, 8 -> 8", 2'200'000, 8, 8);
  row("of 96 rows, 64 -> 128, a bias of any address, as the heuristic was told", 96, 64, 128, 1, 1);
  row("the same, told of a multiple of 256 bytes (the backend does not)", 96, 64, 128, 0, 1, false);  // last: it may be a fault of the card
}

void communicators(Rows& rows) {
  rows.each([] {
    ncclUniqueId id;
    check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    config.splitShare = 1;
    ncclComm_t all = nullptr, part = nullptr;
    const auto settled = [](const ncclComm_t& of, ncclResult_t result) {
      while (result == ncclInProgress)
        if (of != nullptr) check(ncclCommGetAsyncError(of, &result), "ncclCommGetAsyncError");
      return result;
    };
    check(settled(all, ncclCommInitRankConfig(&all, 1, id, 0, &config)), "ncclCommInitRankConfig");
    config.splitShare = NCCL_CONFIG_UNDEF_INT;
    const ncclResult_t split = ncclCommSplit(all, 0, 0, &part, &config);
    tell("ncclCommSplit says, and gives at once", std::string{ncclGetErrorString(split)} + (part == nullptr ? ", nothing" : ", a communicator"));
    say("a split of a communicator that shares", ncclGetErrorString(settled(all, split)), ncclGetErrorString(ncclSuccess));
    say("what it gives when the first one is ready", part != nullptr ? "a communicator" : "nothing", "a communicator");
    check(settled(part, ncclInProgress), "the part");
    cudaStream_t const stream = new_stream();
    Memory<float> x(256);
    x.write(std::vector<float>(256, 3.0F));
    for (const ncclComm_t each : {part, all})
      check(settled(each, ncclAllReduce(x.get(), x.get(), 256, ncclFloat32, ncclSum, each, stream)), "ncclAllReduce");
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    say("ncclCommDestroy of the first, then of its part", ncclGetErrorString(std::max(ncclCommDestroy(all), ncclCommDestroy(part))),
        ncclGetErrorString(ncclSuccess));
  });
}

/// What the runtime says when the program ends, of an object that is destroyed then.
struct AtTheEnd {
  bool asks = false;
  ~AtTheEnd() {
    if (asks) std::printf("| cudaFree in a destructor behind main | %s | | |\n", cudaGetErrorName(cudaFree(nullptr)));
  }
} at_the_end;
}  // namespace

int main(int count, char** given) {
  Rows rows(count, given, wrong);
  stop_throws = true;
  rows.each([] { std::printf("## Habits of a card\n\n| in a capture | this card | the emulator | alike |\n|---|---|---|---|\n"); });
  captures(rows);
  rows.each([] { std::printf("\n| what | this card | the emulator | alike |\n|---|---|---|---|\n"); });
  errors(rows);
  communicators(rows);
  products(rows);
  std::printf("\nhabits: %d rows wrong\n\n", wrong);
  at_the_end.asks = true;
  return wrong == 0 ? 0 : 1;
}
