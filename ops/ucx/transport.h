#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "ops/transport/transport.h"
#include "ops/ucx/worker.h"

namespace weir::ucx {

/// Messages over UCX: shared memory in a host, sockets or RDMA between hosts.
///
/// An endpoint is made with the first message to its peer. UCX reports the death of a peer to whom
/// this rank has sent, some time after; Test throws PeerLost for a message that can then not come
/// any more. Who died first is the membership's to say: a rank that leaves resets its connections.
///
/// A receive that nothing has matched can be taken back. After an error, or a Cancel of a message
/// that moves already, the transport is dead: its worker is destroyed, which alone takes back every
/// buffer. A new transport may follow in the same process.
class Transport final : public weir::Transport {
 public:
  /// Takes the worker and the addresses of all ranks' workers, by rank, this one's included.
  Transport(std::unique_ptr<Worker> worker, int rank, std::vector<std::string> addresses);
  ~Transport() override;

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(peers_.size()); }
  std::uint32_t operation_numbers() const override { return std::uint32_t{1} << 31; }
  Request Send(int peer, Tag tag, std::span<const std::byte> data) override;
  Request Receive(int peer, Tag tag, std::span<std::byte> buffer) override;
  std::optional<std::size_t> Test(Request request) override;
  void Cancel(Request request) override;
  void Close() override;
  NetworkTotals totals() const override { return totals_; }
  std::uint64_t movements() const override { return movements_; }

 private:
  struct Peer {
    std::string address;
    ucp_ep_h endpoint = nullptr;
    ucs_status_t status = UCS_OK;  ///< Why it is lost.
  };
  struct Slot {
    void* request = nullptr;  ///< Of UCX; null once the message has completed.
    int peer = -1;
    bool sending = false;
    std::size_t bytes = 0;         ///< Allowed, then completed.
    weir::Transport::Request own;  ///< To this rank itself: the request of own_.
  };
  static void OnLost(void* peer, ucp_ep_h endpoint, ucs_status_t status);

  Request TakeSlot(int peer, bool sending, std::size_t bytes);
  ucs_status_t MakeEndpoint(Peer& to);
  std::optional<std::size_t> TestOwn(Request request);
  std::size_t Complete(Request request);
  /// Waits, for a second at most, until what was sent has left this process.
  void Flush();
  [[noreturn]] static void ThrowDead(int peer);
  [[noreturn]] void Fail(ucs_status_t status, Request request);

  std::unique_ptr<Worker> worker_;  ///< Null once the transport is dead or closed.
  const int rank_;
  std::deque<Peer> peers_;                      ///< By rank; UCX keeps pointers to them.
  const std::unique_ptr<weir::Transport> own_;  ///< Messages of this rank to itself.
  std::vector<Slot> slots_;
  std::vector<Request> free_;
  NetworkTotals totals_;
  std::uint64_t movements_ = 0;
};

}  // namespace weir::ucx
