// SPDX-License-Identifier: MIT
// Room: transport. MPI's calls as Heddle makes them: non-blocking, with errors as sentences, on communicators of its own.
// Sees: seams/error, transport/mpi_process, MPI.  Does not see: transfers, groups, programs.
// In: a communicator, buffers.  Out: MpiCommunicator, MpiRequests.
#pragma once

#include "heddle/core/written.hpp"
#include "heddle/transport/mpi_header.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "heddle/seams/error.hpp"
#include "heddle/transport/mpi_process.hpp"
#include "heddle/transport/pause_between_looks.hpp"
#include "heddle/transport/spin_wait.hpp"

namespace heddle::transport_room {

/// Errors  T06 if MPI says that a call failed
inline void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char words[MPI_MAX_ERROR_STRING + 1]{};
  int length = 0;
  MPI_Error_string(code, words, &length);
  throw Error{Code{'T', 6}, written({call, " failed: ", words, ". Fix: look at what mpirun printed before."})};
}

/// Requests that are looked at together. Every MPI call of this class returns at once.
///
/// Tested  transport/mpi_calls_test
class MpiRequests {
 public:
  [[nodiscard]] static constexpr std::int64_t bytes_of(int most) { return most * static_cast<std::int64_t>(sizeof(MPI_Request) + sizeof(int)); }
  explicit MpiRequests(int most) : requests_(static_cast<std::size_t>(most), MPI_REQUEST_NULL), completed_(requests_.size()) {}

  void send(int i, MPI_Comm comm, int to, int tag, const void* from, std::size_t bytes) {
    check_mpi(MPI_Isend(from, count_of(bytes), MPI_BYTE, to, tag, comm, &at(i)), "MPI_Isend");
  }
  void receive(int i, MPI_Comm comm, int from, int tag, void* to, std::size_t bytes) {
    check_mpi(MPI_Irecv(to, count_of(bytes), MPI_BYTE, from, tag, comm, &at(i)), "MPI_Irecv");
  }
  /// True if all are complete. Each that is complete is empty afterwards; MPI_Testall would leave it as it is until the last one is complete.
  bool done() {
    int count = 0;
    check_mpi(MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, completed_.data(), MPI_STATUSES_IGNORE), "MPI_Testsome");
    return count == MPI_UNDEFINED || std::all_of(requests_.begin(), requests_.end(), [](MPI_Request r) { return r == MPI_REQUEST_NULL; });
  }
  /// True if number i is complete; it is empty afterwards.
  bool done(int i) {
    int flag = 0;
    check_mpi(MPI_Test(&at(i), &flag, MPI_STATUS_IGNORE), "MPI_Test");
    return flag != 0;
  }
  [[nodiscard]] bool empty(int i) const { return requests_[static_cast<std::size_t>(i)] == MPI_REQUEST_NULL; }
  /// One that has completed since the last look, -1 if there is none.
  int any() {
    int index = MPI_UNDEFINED;
    int flag = 0;
    check_mpi(MPI_Testany(static_cast<int>(requests_.size()), requests_.data(), &index, &flag, MPI_STATUS_IGNORE), "MPI_Testany");
    return flag != 0 && index != MPI_UNDEFINED ? index : -1;
  }
  /// Takes back a receive that nobody has matched; done() then says when it is gone.
  void cancel(int i) {
    if (!empty(i)) MPI_Cancel(&at(i));
  }
  /// Forgets what is still pending: MPI frees it when it completes, if it does. True if there is any: its memory must stay where it is.
  [[nodiscard]] bool abandon() {
    bool pending = false;
    for (MPI_Request& request : requests_) {
      int flag = 0;
      if (request == MPI_REQUEST_NULL || (MPI_Test(&request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag != 0)) continue;
      pending = true;
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
    return pending;
  }

 private:
  [[nodiscard]] MPI_Request& at(int i) { return requests_[static_cast<std::size_t>(i)]; }
  static int count_of(std::size_t bytes) {
    if (bytes > static_cast<std::size_t>(std::numeric_limits<int>::max()))
      throw Error{Code{'T', 5}, written({"a message of ", bytes, " bytes is longer than MPI counts, ", std::numeric_limits<int>::max(),
                                         ". Fix: use smaller buckets or micro-batches."})};
    return static_cast<int>(bytes);
  }
  std::vector<MPI_Request> requests_;
  std::vector<int> completed_;  // what MPI_Testsome writes
};

/// A communicator of Heddle's own: messages of the program around it never meet those of the transport. Every process makes them in one order.
/// mpirun -np 4 gives size() 4 and the ranks 0 to 3.
///
/// Errors  R03 if not all processes come within the deadline
/// Tested  transport/mpi_calls_test
class MpiCommunicator {
 public:
  MpiCommunicator(MPI_Comm parent, std::chrono::nanoseconds deadline) {
    MPI_Request request = MPI_REQUEST_NULL;
    const auto made = std::make_shared<MPI_Comm>(MPI_COMM_NULL);
    check_mpi(MPI_Comm_idup(parent, made.get(), &request), "MPI_Comm_idup");
    MPI_Comm_size(parent, &size_);
    MPI_Comm_rank(parent, &rank_);
    Deadline end{deadline};
    const auto begin = std::chrono::steady_clock::now();
    for (int flag = 0; flag == 0; pause_between_looks(std::chrono::steady_clock::now() - begin)) {
      check_mpi(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
      if (flag != 0 || std::chrono::steady_clock::now() < end.point()) continue;
      MpiProcess::instance().finalize_at_the_end(false);
      MpiProcess::instance().keep(made);  // the others may come after all
      throw Error{Code{'R', 3}, written({"not all of the ", size_, " processes came to the start of the plan within ", milliseconds_of(deadline),
                                         ": one has ended, or makes something else. Fix: let every process make the same trainers and proofs in the ",
                                         "same order, or raise the deadline."})};
    }
    comm_ = *made;
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;
  ~MpiCommunicator() {
    if (comm_ != MPI_COMM_NULL && !kept_) MPI_Comm_free(&comm_);
  }

  [[nodiscard]] MPI_Comm get() const { return comm_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] int rank() const { return rank_; }
  /// Tags that a message may have: 0 to this.
  [[nodiscard]] std::int64_t most_tag() const {
    const int* value = nullptr;
    int found = 0;
    MPI_Comm_get_attr(comm_, MPI_TAG_UB, static_cast<void*>(&value), &found);
    return found != 0 ? *value : 32767;
  }
  /// Something is pending on it that never completes: it stays until the process ends.
  void keep() { kept_ = true; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int size_ = 0;
  int rank_ = 0;
  bool kept_ = false;
};

}  // namespace heddle::transport_room
