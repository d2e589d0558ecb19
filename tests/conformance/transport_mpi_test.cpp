// SPDX-License-Identifier: MIT
#include "conformance/transport.hpp"

#include <chrono>
#include <memory>

#include "heddle/transport/mpi.hpp"

namespace {

/// The first ranks of those that mpirun has started.
class MpiWorld {
 public:
  static constexpr int most_ranks = 4;
  MpiWorld(int ranks, std::vector<std::vector<int>> groups) {
    int mine = 0;
    MPI_Comm_rank(heddle::MpiProcess::instance().world(), &mine);
    MPI_Comm_split(heddle::MpiProcess::instance().world(), mine < ranks ? 0 : MPI_UNDEFINED, mine, &comm_);
    if (comm_ == MPI_COMM_NULL) return;
    transport_ = std::make_unique<heddle::Mpi>(comm_, ranks, std::move(groups), heddle::PendingLimits{.transfers = 4, .reductions = 4},
                                               std::chrono::minutes{2});
  }
  MpiWorld(const MpiWorld&) = delete;
  MpiWorld& operator=(const MpiWorld&) = delete;
  ~MpiWorld() {
    transport_.reset();
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }

  template <class Body> std::string run(Body body) { return transport_ == nullptr ? "" : body(*transport_, transport_->rank().value); }
  [[nodiscard]] heddle::Sent sent(int rank, heddle::Movement kind) const { return transport_->sent(heddle::Rank{rank}, kind); }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::unique_ptr<heddle::Mpi> transport_;
};

}  // namespace

TEST_CASE("processes keep the contract of every transport") { conformance::every_transport<MpiWorld>(); }
