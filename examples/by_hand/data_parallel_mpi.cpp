// SPDX-License-Identifier: MIT
// Build: mpicxx -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/by_hand/data_parallel_mpi.cpp -pthread -o by_hand && mpirun -np 4 ./by_hand
// Data parallelism written by hand on MPI and Eigen, beside the plan that does the same.
// Of the loop below nothing is checked: leave out one all-reduce, or divide by the rows of one rank, and it trains on, wrongly.
#include <mpi.h>

#include <Eigen/Core>
#include <cstdio>
#include <heddle/backend/cpu_mpi.hpp>
#include <heddle/heddle.hpp>
#include <heddle/io/synthetic.hpp>
#include <numeric>
#include <vector>

using namespace heddle;

struct Network : Sequential<Named<"hidden", Linear<20, 500>>, ReLU, Named<"head", Linear<500, 10>>> {};
using Mine = Plan<Network, CrossEntropy, SGD, Batch<128>, DataParallel<4>>;

constexpr int features = 20, width = 500, classes = 10, batch_rows = 128;
constexpr float rate = 0.1F;
using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

/// The network as four matrices; biases are rows.
struct ByHand {
  Matrix w1{width, features}, b1{1, width}, w2{classes, width}, b2{1, classes};

  /// One step on this rank's rows; the mean loss of the whole batch.
  float step(const Matrix& x, const std::vector<int>& labels) {
    const Matrix hidden = ((x * w1.transpose()).rowwise() + b1.row(0)).cwiseMax(0.0F);
    Matrix logits = (hidden * w2.transpose()).rowwise() + b2.row(0);
    float loss = 0;
    for (Eigen::Index r = 0; r < logits.rows(); ++r) {  // logits become their gradient: (softmax - one hot) / rows of the whole batch
      const int label = labels[static_cast<std::size_t>(r)];
      const float top = logits.row(r).maxCoeff();
      const float sum = (logits.row(r).array() - top).exp().sum();
      loss += top + std::log(sum) - logits(r, label);
      logits.row(r) = (logits.row(r).array() - top).exp() / sum;
      logits(r, label) -= 1;
    }
    logits /= batch_rows;
    Matrix dw2 = logits.transpose() * hidden;
    Matrix db2 = logits.colwise().sum();
    const Matrix dhidden = (logits * w2).array() * (hidden.array() > 0).cast<float>();
    Matrix dw1 = dhidden.transpose() * x;
    Matrix db1 = dhidden.colwise().sum();
    for (Matrix* gradient : {&dw1, &db1, &dw2, &db2})
      MPI_Allreduce(MPI_IN_PLACE, gradient->data(), static_cast<int>(gradient->size()), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &loss, 1, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    w1 -= rate * dw1;
    b1 -= rate * db1;
    w2 -= rate * dw2;
    b2 -= rate * db2;
    return loss / batch_rows;
  }
};

Matrix matrix(const std::vector<float>& values, Eigen::Index rows) {
  return Eigen::Map<const Matrix>(values.data(), rows, static_cast<Eigen::Index>(values.size()) / rows);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int same = 1;
  {
    const auto data = datasets::synthetic(Seed{1}, 1280, features, classes);
    Trainer<Mine, CpuMpi> trainer{{.learning_rate = rate}, Seed{1}};  // refuses another number of processes with one sentence
    float planned = 0;
    trainer.on_step([&](const StepResult& result) { planned = *result.loss; });
    ByHand network;
    network.w1 = matrix(trainer.parameter("hidden.weight"), width);
    network.b1 = matrix(trainer.parameter("hidden.bias"), 1);
    network.w2 = matrix(trainer.parameter("head.weight"), classes);
    network.b2 = matrix(trainer.parameter("head.bias"), 1);
    int step = 0;
    for (int epoch = 0; epoch < 3; ++epoch)
      for (const auto& batch : data.shuffled(Seed{1}, epoch).batches<batch_rows>()) {
        const int own = batch_rows / ranks;
        Matrix x{own, features};
        std::vector<int> labels;
        for (int r = 0; r < own; ++r) {
          const auto row = static_cast<Eigen::Index>(batch.order[rank * own + r]);
          x.row(r) = Eigen::Map<const Matrix>(batch.inputs + row * features, 1, features);
          labels.push_back(batch.targets[row]);
        }
        const float by_hand = network.step(x, labels);
        trainer.step(batch);
        if (++step % 10 == 0 && rank == 0) std::printf("step %d: loss by hand %.3f, by the plan %.3f\n", step, by_hand, planned);
      }
    const float apart = (network.w1 - matrix(trainer.parameter("hidden.weight"), width)).cwiseAbs().maxCoeff();
    same = apart < 1e-4F ? 1 : 0;
    if (rank == 0) std::printf("weights agree within 1e-4: %s\n", same == 1 ? "yes" : "no");
  }
  MPI_Finalize();
  return same == 1 ? 0 : 1;
}
