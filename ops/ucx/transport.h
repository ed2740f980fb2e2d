#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ops/transport/transport.h"
#include "ops/ucx/channel.h"

namespace weir::ucx {

/// Messages over UCX: shared memory in a host, sockets or RDMA between hosts.
///
/// With two channels, urgent messages have the second one to themselves: on a slow link they do not
/// wait behind the data of seconds.
///
/// UCX reports the death of a peer to whom this rank has sent, some time after; Test throws
/// PeerLost for a message that can then not come any more. Who died first is the membership's to
/// say: a rank that leaves resets its connections.
///
/// A receive that nothing has matched can be taken back. After an error, or a Cancel of a message
/// that moves already, the transport is dead: its workers are destroyed, which alone takes back
/// every buffer. A new transport may follow in the same process.
class Transport final : public weir::Transport {
 public:
  /// Takes one or two channels to the same ranks. `library`: what carries them, for people.
  Transport(std::vector<std::unique_ptr<Channel>> channels, int rank, std::string library = "UCX");
  ~Transport() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::uint32_t operation_numbers() const override { return std::uint32_t{1} << 31; }
  Request Send(int peer, Tag tag, std::span<const std::byte> data) override;
  Request Receive(int peer, Tag tag, std::span<std::byte> buffer) override;
  std::optional<std::size_t> Test(Request request) override;
  void Cancel(Request request) override;
  void Close() override;
  NetworkTotals totals() const override { return totals_; }
  std::uint64_t movements() const override { return movements_; }
  std::string Describe() const override { return description_; }

 private:
  struct Slot {
    void* request = nullptr;  ///< Of UCX; null once the message has completed.
    Channel* channel = nullptr;
    int peer = -1;
    bool sending = false;
    std::size_t bytes = 0;             ///< Allowed, then completed.
    weir::Transport::Request own = 0;  ///< To this rank itself: the request of own_.
  };

  Request TakeSlot(int peer, Tag tag, bool sending, std::size_t bytes);
  unsigned Progress();
  std::optional<std::size_t> TestOwn(Request request);
  std::size_t Complete(Request request);
  [[noreturn]] static void ThrowDead(int peer);
  [[noreturn]] void Fail(ucs_status_t status, Request request);

  std::vector<std::unique_ptr<Channel>> channels_;  ///< None once the transport is dead or closed.
  const int rank_;
  const int size_;
  const std::unique_ptr<weir::Transport> own_;  ///< Messages of this rank to itself.
  std::vector<Slot> slots_;
  std::vector<Request> free_;
  NetworkTotals totals_;
  std::uint64_t movements_ = 0;
  const std::string description_;
};

}  // namespace weir::ucx
