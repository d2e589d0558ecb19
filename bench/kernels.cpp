// SPDX-License-Identifier: MIT
// The products of workloads a, b and c as Linear's kernels run them, against Eigen's own product of the same row-major matrices.
// Each line: best of interleaved rounds of both, and their ratio (above 1: heddle is ahead). Usage: kernels [ROUNDS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "heddle/compute/eigen/gemm.hpp"
#include "heddle/compute/eigen/optimizers.hpp"
#include "heddle/compute/eigen/public_products.hpp"
#include "heddle/graph/optimizers/adam.hpp"

namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using View = Eigen::Map<Matrix, Eigen::Aligned64>;

struct Aligned {
  float* data;
  explicit Aligned(std::int64_t n) : data(static_cast<float*>(std::aligned_alloc(64, static_cast<std::size_t>((n + 15) / 16 * 64)))) {
    std::mt19937 generator(1);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (std::int64_t i = 0; i < n; ++i) data[i] = uniform(generator);
  }
  Aligned(const Aligned&) = delete;
  Aligned& operator=(const Aligned&) = delete;
  ~Aligned() { std::free(data); }
};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

double seconds_per_call(const std::function<void()>& work, int calls) {
  const double start = seconds();
  for (int i = 0; i < calls; ++i) work();
  return (seconds() - start) / calls;
}

void compare(const char* name, double flops, int rounds, const std::function<void()>& ours, const std::function<void()>& eigen) {
  const int calls = std::max(1, static_cast<int>(2e-3 / seconds_per_call(eigen, 3)));
  double best_ours = 1e9;
  double best_eigen = 1e9;
  std::vector<double> ratios;
  for (int i = 0; i < rounds; ++i) {
    const double a = seconds_per_call(ours, calls);
    const double b = seconds_per_call(eigen, calls);
    best_ours = std::min(best_ours, a);
    best_eigen = std::min(best_eigen, b);
    ratios.push_back(b / a);
  }
  std::sort(ratios.begin(), ratios.end());
  std::printf("%-30s heddle %9.2f us (%6.1f GFLOP/s)  Eigen %9.2f us  best %.2f  median %.2f\n", name, best_ours * 1e6, flops / best_ours * 1e-9,
              best_eigen * 1e6, best_eigen / best_ours, ratios[ratios.size() / 2]);
}

/// `label` tells whose products stand against Eigen's own.
template <class Products> void layer(const char* label, std::int64_t in, std::int64_t out, std::int64_t rows, int rounds) {
  using namespace heddle;
  using namespace heddle::compute_room;
  const Aligned x(rows * in), w(out * in), y(rows * out), dx(rows * in), dw(out * in), dy(rows * out), workspace(EigenCompute::workspace.value / 4);
  View X(x.data, rows, in), W(w.data, out, in), Y(y.data, rows, out), DX(dx.data, rows, in), DW(dw.data, out, in), DY(dy.data, rows, out);
  const double flops = 2.0 * static_cast<double>(rows * in * out);
  char name[64];
  std::snprintf(name, sizeof name, "%s %ld-%ld B %ld Y", label, static_cast<long>(in), static_cast<long>(out), static_cast<long>(rows));
  compare(
      name, flops, rounds, [&] { Products::nt(rows, out, in, x.data, w.data, y.data, Into::overwrite, workspace.data); },
      [&] { Y.noalias() = X * W.transpose(); });
  std::snprintf(name, sizeof name, "%s %ld-%ld B %ld dX", label, static_cast<long>(in), static_cast<long>(out), static_cast<long>(rows));
  compare(
      name, flops, rounds, [&] { Products::nn(rows, in, out, dy.data, w.data, dx.data, Into::overwrite, workspace.data); },
      [&] { DX.noalias() = DY * W; });
  std::snprintf(name, sizeof name, "%s %ld-%ld B %ld dW", label, static_cast<long>(in), static_cast<long>(out), static_cast<long>(rows));
  compare(
      name, flops, rounds, [&] { Products::tn(out, in, rows, dy.data, x.data, dw.data, Into::overwrite, workspace.data); },
      [&] { DW.noalias() = DY.transpose() * X; });
}

void adam(std::int64_t elements, int rounds) {
  using namespace heddle;
  using namespace heddle::compute_room;
  Aligned p(elements), g(elements), m(elements), v(elements);
  EigenCompute::zero(v.data, elements);
  float* const states[] = {m.data, v.data};
  const auto constants = Adam::constants({}, 3);
  using Flat = Eigen::Map<Eigen::ArrayXf, Eigen::Aligned64>;
  Flat P(p.data, elements), G(g.data, elements), M(m.data, elements), V(v.data, elements);
  char name[64];
  std::snprintf(name, sizeof name, "Adam %ld", static_cast<long>(elements));
  compare(
      name, 14.0 * static_cast<double>(elements), rounds,
      [&] { OptimizerKernel<Adam, EigenCompute>::step(constants, elements, p.data, g.data, states); },
      [&] {
        M += (G - M) * constants.new_first;
        V = V * constants.beta2 + G * G * constants.new_second;
        P -= constants.step_size * M / (V.sqrt() * constants.root_scale + constants.epsilon);
      });
}

template <class Products> void products(const char* label, int rounds) {
  layer<Products>(label, 1000, 2000, 64, rounds);
  layer<Products>(label, 2000, 1000, 64, rounds);
  layer<Products>(label, 784, 50, 64, rounds);
  layer<Products>(label, 50, 10, 64, rounds);
  layer<Products>(label, 20, 500, 128, rounds);
  layer<Products>(label, 500, 500, 128, rounds);
  layer<Products>(label, 500, 10, 128, rounds);
  layer<Products>(label, 256, 1024, 1024, rounds);
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::max(1, std::atoi(arguments[1])) : 25;
  products<heddle::compute_room::EigenProducts>("", rounds);
  products<heddle::compute_room::PublicProducts>("public", rounds);  // what every Eigen but 3.4 gives
  adam(39'760, rounds);
  adam(4'003'008, rounds);
}
