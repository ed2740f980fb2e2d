#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ops/ucx/worker.h"

namespace weir::ucx {

/// A worker of this rank and its connections to those of its peers, one each, made with the first
/// message to them. What one connection carries arrives in order, so that messages wait for those
/// before them. Destroying it takes back every message under way. Not thread-safe.
class Channel {
 public:
  /// Takes the addresses of all ranks' workers, by rank.
  Channel(std::unique_ptr<Worker> worker, std::vector<std::string> addresses);

  int size() const { return static_cast<int>(peers_.size()); }
  const Api& api() const { return worker_->api(); }
  const Context& context() const { return worker_->context(); }

  /// Starts a message. Returns null when it has completed, a request of UCX, or an error
  /// (UCS_PTR_IS_ERR).
  ucs_status_ptr_t Send(int peer, ucp_tag_t tag, std::span<const std::byte> data);
  /// The same. `info` is filled in when it has completed already.
  ucs_status_ptr_t Receive(ucp_tag_t tag, std::span<std::byte> buffer, ucp_tag_recv_info_t& info);
  /// Takes back a receive that nothing has matched.
  void Cancel(void* request) { api().request_cancel(worker_->get(), request); }
  /// Moves what can move. Returns 0 when nothing could.
  unsigned Progress() { return api().worker_progress(worker_->get()); }
  /// Returns why a peer is lost; UCS_OK if it is not.
  ucs_status_t StatusOf(int peer) const { return peers_[static_cast<std::size_t>(peer)].status; }
  /// Waits, for a second at most, until what was sent has left this process.
  void Flush();

 private:
  struct Peer {
    std::string address;
    ucp_ep_h endpoint = nullptr;
    ucs_status_t status = UCS_OK;
  };
  static void OnLost(void* peer, ucp_ep_h endpoint, ucs_status_t status);
  ucs_status_t MakeEndpoint(Peer& to);

  const std::unique_ptr<Worker> worker_;
  std::deque<Peer> peers_;  ///< By rank; UCX keeps pointers to them.
};

}  // namespace weir::ucx
