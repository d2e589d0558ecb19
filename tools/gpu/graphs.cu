// SPDX-License-Identifier: MIT
// What a step that is one CUDA graph relies on: captured products, NCCL, copies from pinned memory, forks and a condition, replayed; the host's time
// for it.
#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <thread>

#include "card.hpp"

namespace {
using namespace gpu_check;

constexpr int elements = 1 << 16;

__global__ void add_one(float* x, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) x[i] += 1;
}
__global__ void copy_all(const float* from, float* to, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) to[i] = from[i];
}
/// Whether a number is finite becomes the condition of a node of the graph, as a guarded optimizer needs it.
__global__ void set_condition(cudaGraphConditionalHandle handle, const float* x) { cudaGraphSetConditional(handle, isfinite(*x) ? 1U : 0U); }

class Graph {
 public:
  Graph(cudaStream_t stream, const std::function<void(cudaStream_t)>& work) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    work(stream);
    check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    check(cudaGraphGetNodes(graph, nullptr, &nodes), "cudaGraphGetNodes");
    check(cudaGraphInstantiate(&executable_, graph, 0), "cudaGraphInstantiate");
    check(cudaGraphDestroy(graph), "cudaGraphDestroy");
  }
  explicit Graph(cudaGraph_t graph) { check(cudaGraphInstantiate(&executable_, graph, 0), "cudaGraphInstantiate"); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() { cudaGraphExecDestroy(executable_); }
  void launch(cudaStream_t stream) const { check(cudaGraphLaunch(executable_, stream), "cudaGraphLaunch"); }
  std::size_t nodes = 0;

 private:
  cudaGraphExec_t executable_ = nullptr;
};

/// The median of the host's own time of a call; the card's queue is empty before each.               [microseconds]
template <class Work> double host_microseconds(cudaStream_t stream, Work&& work) {
  std::vector<double> times;
  for (int round = 0; round < 200; ++round) {
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    const auto begin = std::chrono::steady_clock::now();
    work();
    times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  std::nth_element(times.begin(), times.begin() + 100, times.end());
  return times[100];
}
bool all_are(const std::vector<float>& numbers, float x) {
  return std::all_of(numbers.begin(), numbers.end(), [&](float number) { return number == x; });
}
void say(const char* what, bool holds, const char* detail = "") { std::printf("| %-74s | %-3s | %s |\n", what, verdict(holds), detail); }

void chains(cudaStream_t stream) {
  Memory<float> x(elements);
  for (const int length : {10, 100, 1000}) {
    check(cudaMemset(x.get(), 0, elements * sizeof(float)), "cudaMemset");
    const auto chain = [&](cudaStream_t on) {
      for (int i = 0; i < length; ++i) add_one<<<elements / 256, 256, 0, on>>>(x.get(), elements);
    };
    const Graph graph(stream, chain);
    graph.launch(stream);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    const bool right = all_are(x.read(), static_cast<float>(length));
    const double host_one = host_microseconds(stream, [&] { chain(stream); });
    const double host_graph = host_microseconds(stream, [&] { graph.launch(stream); });
    const double card_one = static_cast<double>(microseconds(stream, 20, chain));
    const double card_graph = static_cast<double>(microseconds(stream, 20, [&](cudaStream_t on) { graph.launch(on); }));
    char detail[200];
    std::snprintf(detail, sizeof detail, "host %.1f us by launches, %.1f us by graph; card %.1f and %.1f us", host_one, host_graph, card_one,
                  card_graph);
    char what[100];
    std::snprintf(what, sizeof what, "a chain of %d kernels of %d elements, replayed, counts right", length, elements);
    say(what, right, detail);
  }
}

void forks(cudaStream_t stream) {
  const auto order = [](cudaStream_t from, cudaEvent_t event, cudaStream_t to) {
    check(cudaEventRecord(event, from), "cudaEventRecord");
    check(cudaStreamWaitEvent(to, event, 0), "cudaStreamWaitEvent");
  };
  constexpr int devices = 4;
  constexpr int kernels = 25;
  std::vector<cudaStream_t> sides;
  std::vector<cudaEvent_t> events(2 * devices);
  for (int d = 0; d < devices; ++d) sides.push_back(new_stream());
  for (cudaEvent_t& event : events) check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  Memory<float> x(elements);
  Memory<float> sums(elements);
  check(cudaMemset(x.get(), 0, elements * sizeof(float)), "cudaMemset");
  const Graph graph(stream, [&](cudaStream_t main) {
    check(cudaMemsetAsync(x.get(), 0, elements * sizeof(float), main), "cudaMemsetAsync");
    for (std::size_t d = 0; d < devices; ++d) {
      order(main, events[d], sides[d]);
      for (int i = 0; i < kernels; ++i)
        add_one<<<elements / devices / 256, 256, 0, sides[d]>>>(x.get() + d * (elements / devices), elements / devices);
    }
    for (std::size_t d = 0; d < devices; ++d) order(sides[d], events[devices + d], main);
    copy_all<<<elements / 256, 256, 0, main>>>(x.get(), sums.get(), elements);
  });
  char detail[200];
  std::snprintf(detail, sizeof detail, "%zu nodes, card %.1f us", graph.nodes,
                static_cast<double>(microseconds(stream, 20, [&](cudaStream_t on) { graph.launch(on); })));
  say("4 logical devices are 4 forks of one graph and join", all_are(sums.read(), kernels), detail);
}

void pinned(cudaStream_t stream) {
  float* host = nullptr;
  float* back = nullptr;
  check(cudaMallocHost(&host, elements * sizeof(float)), "cudaMallocHost");
  check(cudaMallocHost(&back, elements * sizeof(float)), "cudaMallocHost");
  Memory<float> x(elements);
  const Graph graph(stream, [&](cudaStream_t on) {
    check(cudaMemcpyAsync(x.get(), host, elements * sizeof(float), cudaMemcpyHostToDevice, on), "cudaMemcpyAsync");
    add_one<<<elements / 256, 256, 0, on>>>(x.get(), elements);
    check(cudaMemcpyAsync(back, x.get(), elements * sizeof(float), cudaMemcpyDeviceToHost, on), "cudaMemcpyAsync");
  });
  bool right = true;
  for (int step = 0; step < 3; ++step) {
    std::fill(host, host + elements, static_cast<float>(10 * step));
    graph.launch(stream);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    right = right && std::all_of(back, back + elements, [&](float number) { return number == static_cast<float>(10 * step + 1); });
  }
  say("a replay reads what pinned memory holds now", right);
  check(cudaFreeHost(host), "cudaFreeHost");
  check(cudaFreeHost(back), "cudaFreeHost");
}

void condition(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  check(cudaGraphCreate(&graph, 0), "cudaGraphCreate");
  cudaGraphConditionalHandle handle{};
  check(cudaGraphConditionalHandleCreate(&handle, graph, 0, cudaGraphCondAssignDefault), "cudaGraphConditionalHandleCreate");
  Memory<float> loss(1);
  Memory<float> x(256);
  check(cudaMemset(x.get(), 0, 256 * sizeof(float)), "cudaMemset");
  check(cudaStreamBeginCaptureToGraph(stream, graph, nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCaptureToGraph");
  set_condition<<<1, 1, 0, stream>>>(handle, loss.get());
  cudaStreamCaptureStatus status{};
  const cudaGraphNode_t* behind = nullptr;
  std::size_t count = 0;
  cudaGraph_t same = nullptr;
  check(cudaStreamGetCaptureInfo(stream, &status, nullptr, &same, &behind, nullptr, &count), "cudaStreamGetCaptureInfo");
  cudaGraphNodeParams parameters{};
  parameters.type = cudaGraphNodeTypeConditional;
  parameters.conditional.handle = handle;
  parameters.conditional.type = cudaGraphCondTypeIf;
  parameters.conditional.size = 1;
  cudaGraphNode_t node = nullptr;
  check(cudaGraphAddNode(&node, graph, behind, nullptr, count, &parameters), "cudaGraphAddNode");
  check(cudaStreamUpdateCaptureDependencies(stream, &node, nullptr, 1, cudaStreamSetCaptureDependencies), "cudaStreamUpdateCaptureDependencies");
  cudaStream_t const inner = new_stream();
  check(cudaStreamBeginCaptureToGraph(inner, parameters.conditional.phGraph_out[0], nullptr, nullptr, 0, cudaStreamCaptureModeThreadLocal), "body");
  add_one<<<1, 256, 0, inner>>>(x.get(), 256);
  check(cudaStreamEndCapture(inner, nullptr), "cudaStreamEndCapture");
  add_one<<<1, 1, 0, stream>>>(x.get() + 255, 1);
  check(cudaStreamEndCapture(stream, &same), "cudaStreamEndCapture");
  const Graph executable(graph);
  const float losses[] = {1.0F, NAN, 2.0F, INFINITY};
  for (const float now : losses) {
    loss.write({now});
    executable.launch(stream);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }
  const std::vector<float> steps = x.read();
  char detail[100];
  std::snprintf(detail, sizeof detail, "card %.1f us for 4 nodes",
                static_cast<double>(microseconds(stream, 20, [&](cudaStream_t on) { executable.launch(on); })));
  say("a guarded step: a node that runs only where the loss is finite (2 of 4), captured", steps[0] == 2 && steps[255] == 6, detail);
  check(cudaGraphDestroy(graph), "cudaGraphDestroy");
}

void products(cudaStream_t stream) {
  cublasLtHandle_t lt = nullptr;
  check(cublasLtCreate(&lt), "cublasLtCreate");
  constexpr int n = 256;
  Memory<float> a(n * n);
  Memory<float> b(n * n);
  Memory<float> c(n * n);
  Memory<unsigned char> workspace(4 << 20);
  a.write(std::vector<float>(n * n, 2.0F));
  b.write(std::vector<float>(n * n, 0.5F));
  cublasLtMatmulDesc_t description = nullptr;
  cublasLtMatrixLayout_t layout = nullptr;
  check(cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
  check(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, n, n, n), "cublasLtMatrixLayoutCreate");
  const float one = 1;
  const float zero = 0;
  const Graph graph(stream, [&](cudaStream_t on) {
    check(cublasLtMatmul(lt, description, &one, a.get(), layout, b.get(), layout, &zero, c.get(), layout, c.get(), layout, nullptr, workspace.get(),
                         4 << 20, on),
          "cublasLtMatmul");
  });
  graph.launch(stream);
  check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  char detail[100];
  std::snprintf(detail, sizeof detail, "%zu nodes", graph.nodes);
  say("a product that cuBLASLt plans while it is captured is replayed", all_are(c.read(), n), detail);
}

void collectives(cudaStream_t stream) {
  ncclUniqueId id;
  check(ncclGetUniqueId(&id), "ncclGetUniqueId");
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comm = nullptr;
  const auto begin = std::chrono::steady_clock::now();
  ncclResult_t state = ncclCommInitRankConfig(&comm, 1, id, 0, &config);
  while (state == ncclInProgress) {
    std::this_thread::yield();
    check(ncclCommGetAsyncError(comm, &state), "ncclCommGetAsyncError");
  }
  check(state, "ncclCommInitRankConfig");
  char detail[200];
  int version = 0;
  check(ncclGetVersion(&version), "ncclGetVersion");
  std::snprintf(detail, sizeof detail, "NCCL %d, %.0f ms", version,
                std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count());
  say("a communicator that does not block comes up", true, detail);
  const auto started = [&](ncclResult_t result, const char* call) {
    while (result == ncclInProgress) {
      std::this_thread::yield();
      check(ncclCommGetAsyncError(comm, &result), "ncclCommGetAsyncError");
    }
    check(result, call);
  };
  Memory<float> in(elements);
  Memory<float> out(elements);
  cudaStream_t const side = new_stream();
  cudaEvent_t fork = nullptr;
  cudaEvent_t join = nullptr;
  check(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  check(cudaEventCreateWithFlags(&join, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  const auto captured = [&](const char* what, const std::function<void(cudaStream_t)>& work) {
    check(cudaMemset(in.get(), 0, elements * sizeof(float)), "cudaMemset");
    out.poison();
    const Graph graph(stream, [&](cudaStream_t main) {
      add_one<<<elements / 256, 256, 0, main>>>(in.get(), elements);
      check(cudaEventRecord(fork, main), "cudaEventRecord");
      check(cudaStreamWaitEvent(side, fork, 0), "cudaStreamWaitEvent");
      work(side);
      check(cudaEventRecord(join, side), "cudaEventRecord");
      check(cudaStreamWaitEvent(main, join, 0), "cudaStreamWaitEvent");
      add_one<<<elements / 256, 256, 0, main>>>(out.get(), elements);
    });
    for (int replay = 0; replay < 5; ++replay) graph.launch(stream);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    std::snprintf(detail, sizeof detail, "%zu nodes, card %.1f us", graph.nodes,
                  static_cast<double>(microseconds(stream, 20, [&](cudaStream_t on) { graph.launch(on); })));
    check(cudaMemset(in.get(), 0, elements * sizeof(float)), "cudaMemset");
    for (int replay = 0; replay < 5; ++replay) graph.launch(stream);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    say(what, all_are(out.read(), 6.0F), detail);
  };
  captured("all-reduce of one rank on a stream of its own, captured",
           [&](cudaStream_t on) { started(ncclAllReduce(in.get(), out.get(), elements, ncclFloat32, ncclSum, comm, on), "ncclAllReduce"); });
  captured("reduce-scatter of one rank, captured",
           [&](cudaStream_t on) { started(ncclReduceScatter(in.get(), out.get(), elements, ncclFloat32, ncclSum, comm, on), "ncclReduceScatter"); });
  captured("all-gather of one rank, captured",
           [&](cudaStream_t on) { started(ncclAllGather(in.get(), out.get(), elements, ncclFloat32, comm, on), "ncclAllGather"); });
  captured("send to and receive from itself in one group, captured", [&](cudaStream_t on) {
    started(ncclGroupStart(), "ncclGroupStart");
    const ncclResult_t sent = ncclSend(in.get(), elements, ncclFloat32, 0, comm, on);
    const ncclResult_t received = ncclRecv(out.get(), elements, ncclFloat32, 0, comm, on);
    started(ncclGroupEnd(), "ncclGroupEnd");
    if (sent != ncclSuccess && sent != ncclInProgress) check(sent, "ncclSend");
    if (received != ncclSuccess && received != ncclInProgress) check(received, "ncclRecv");
  });
  check(ncclCommFinalize(comm) == ncclInProgress ? ncclSuccess : ncclSuccess, "ncclCommFinalize");
  ncclResult_t ended = ncclInProgress;
  while (ended == ncclInProgress) check(ncclCommGetAsyncError(comm, &ended), "ncclCommGetAsyncError");
  check(ncclCommDestroy(comm), "ncclCommDestroy");

  ncclComm_t two[2] = {};
  const int same_card[2] = {0, 0};
  const ncclResult_t refused = ncclCommInitAll(two, 2, same_card);
  std::printf("| %-74s | %-3s | %s |\n", "two ranks of one communicator on one card", refused == ncclSuccess ? "yes" : "no",
              ncclGetErrorString(refused));
}
}  // namespace

int main() {
  cudaStream_t const stream = new_stream();
  std::printf("## A step as one graph\n\n| what | holds | seen |\n|---|---|---|\n");
  chains(stream);
  forks(stream);
  pinned(stream);
  condition(stream);
  products(stream);
  collectives(stream);
  std::printf("\ngraphs: %d rows wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
}
