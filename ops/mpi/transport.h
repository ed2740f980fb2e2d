#pragma once

#include <mpi.h>

#include <chrono>
#include <memory>
#include <vector>

#include "ops/mpi/session.h"
#include "ops/transport/transport.h"

namespace weir::mpi {

/// Messages over MPI, on a communicator of its own, so that the program's messages
/// cannot be mistaken for Weir's.
///
/// A Tag has 64 bits, an MPI tag fewer: operation and chunk are each taken modulo a power of two
/// (kChunkBits bits for the chunk, the rest of MPI_TAG_UB for the operation). Messages with the
/// same number are matched in the order in which both sides post them. So collectives post chunks
/// of one kind to one peer in ascending order, and no two operations under way at once are
/// 2^(bits of the operation) apart.
///
/// After an error, or a Cancel that found a message in flight, the transport is dead: MPI cannot
/// take a message back, so nothing calls MPI any more and the session is abandoned.
class Transport final : public weir::Transport {
 public:
  static constexpr int kChunkBits = 10;
  /// Enough that operations under way at once never share a number: 1,024 of the job's own, and as
  /// many of summation servers (SubsetTransport).
  static constexpr int kLeastOperationBits = 11;

  /// Duplicates MPI_COMM_WORLD; every rank must do so. Waits at most `timeout` for the
  /// other ranks, then throws TimedOut.
  Transport(std::shared_ptr<Session> session, std::chrono::milliseconds timeout);
  ~Transport() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::uint32_t operation_numbers() const override { return operation_mask_ + 1; }
  Request Send(int peer, Tag tag, std::span<const std::byte> data) override;
  Request Receive(int peer, Tag tag, std::span<std::byte> buffer) override;
  std::optional<std::size_t> Test(Request request) override;
  void Cancel(Request request) override;
  void Close() override;
  NetworkTotals totals() const override { return totals_; }
  std::string Describe() const override { return description_; }

 private:
  struct Slot {
    MPI_Request request = MPI_REQUEST_NULL;
    int peer = -1;
    bool sending = false;
    int bytes = 0;
  };
  Request TakeSlot(int peer, bool sending, std::size_t bytes);
  int MpiTag(Tag tag) const;
  [[noreturn]] void Fail(int code, const Slot& slot);

  std::shared_ptr<Session> session_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::uint32_t operation_mask_ = 0;
  std::vector<Slot> slots_;
  std::vector<Request> free_;
  NetworkTotals totals_;
  std::string description_;
};

}  // namespace weir::mpi
