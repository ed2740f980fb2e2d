#include "ops/ucx/transport.h"

#include <cstring>
#include <utility>

#include "common/check.h"
#include "ops/local/transport.h"
#include "weir/error.h"

namespace weir::ucx {
namespace {

// What one Test moves on, some 8 KiB each; others, and the network thread's own work, have their
// turn then.
constexpr int kMostMoves = 64;

/// Ranks are told apart by the tag, since UCX matches by nothing else: 16 bits for the source, 32
/// for the operation, 16 for the chunk. Equal tags of two ranks match in the order of posting.
ucp_tag_t UcxTag(int source, Tag tag) {
  return static_cast<ucp_tag_t>(source) << 48 | static_cast<ucp_tag_t>(tag.operation) << 16 |
         (tag.chunk & 0xffff);
}

}  // namespace

Transport::Transport(std::vector<std::unique_ptr<Channel>> channels, int rank, std::string library)
    : channels_(std::move(channels)),
      rank_(rank),
      size_(channels_.front()->size()),
      own_(local::Network(1).Endpoint(0)),
      description_(std::move(library)) {
  WEIR_CHECK(size_ > 0 && size_ <= 0x10000);
}

Transport::~Transport() { Close(); }

void Transport::Close() {
  if (free_.size() == slots_.size()) {
    for (const auto& channel : channels_) channel->Flush();
  }
  channels_.clear();
}

void Transport::ThrowDead(int peer) {
  throw PeerLost("the network of this job has failed; no message can be sent any more",
                 {.tensor = {}, .ranks = {peer}, .phase = "exchange"});
}

Transport::Request Transport::TakeSlot(int peer, Tag tag, bool sending, std::size_t bytes) {
  WEIR_CHECK(peer >= 0 && peer < size());
  if (channels_.empty()) ThrowDead(peer);
  if (free_.empty()) {
    free_.push_back(static_cast<Request>(slots_.size()));
    slots_.emplace_back();
    free_.reserve(slots_.capacity());
  }
  const Request request = free_.back();
  Channel* const channel = (tag.urgent ? channels_.back() : channels_.front()).get();
  slots_[request] = {.channel = channel, .peer = peer, .sending = sending, .bytes = bytes};
  free_.pop_back();
  return request;
}

Transport::Request Transport::Send(int peer, Tag tag, std::span<const std::byte> data) {
  const Request request = TakeSlot(peer, tag, true, data.size());
  Slot& slot = slots_[request];
  if (peer == rank_) {
    slot.own = own_->Send(0, tag, data);
    return request;
  }
  const ucs_status_ptr_t sent = slot.channel->Send(peer, UcxTag(rank_, tag), data);
  if (UCS_PTR_IS_ERR(sent)) Fail(UCS_PTR_STATUS(sent), request);
  slot.request = sent;
  return request;
}

Transport::Request Transport::Receive(int peer, Tag tag, std::span<std::byte> buffer) {
  const Request request = TakeSlot(peer, tag, false, buffer.size());
  Slot& slot = slots_[request];
  if (peer == rank_) {
    slot.own = own_->Receive(0, tag, buffer);
    return request;
  }
  ucp_tag_recv_info_t info{};
  const ucs_status_ptr_t received = slot.channel->Receive(UcxTag(peer, tag), buffer, info);
  if (UCS_PTR_IS_ERR(received)) Fail(UCS_PTR_STATUS(received), request);
  slot.request = received;
  if (received == nullptr) slot.bytes = info.length;
  return request;
}

unsigned Transport::Progress() {
  // Of all channels: what counts as sent may still have to leave one that nobody else asks about.
  unsigned moved = 0;
  for (const auto& channel : channels_) moved += channel->Progress();
  return moved;
}

std::optional<std::size_t> Transport::Test(Request request) {
  Slot& slot = slots_[request];
  if (slot.peer == rank_) return TestOwn(request);
  if (slot.request == nullptr) return Complete(request);
  if (channels_.empty()) ThrowDead(slot.peer);
  const Api& api = slot.channel->api();
  ucp_tag_recv_info_t info{};
  const auto status_of = [&] {
    return slot.sending ? api.request_check_status(slot.request)
                        : api.tag_recv_request_test(slot.request, &info);
  };
  ucs_status_t status = status_of();
  for (int i = 0; i < kMostMoves && status == UCS_INPROGRESS; ++i) {
    const unsigned moved = Progress();
    movements_ += moved;
    status = status_of();
    if (moved == 0) break;
  }
  if (status == UCS_INPROGRESS) {
    const ucs_status_t peer = slot.channel->StatusOf(slot.peer);
    if (peer != UCS_OK) Fail(peer, request);
    return {};
  }
  api.request_free(slot.request);
  slot.request = nullptr;
  if (status != UCS_OK) Fail(status, request);
  if (!slot.sending) slot.bytes = info.length;
  return Complete(request);
}

std::optional<std::size_t> Transport::TestOwn(Request request) {
  Slot& slot = slots_[request];
  std::optional<std::size_t> bytes;
  try {
    bytes = own_->Test(slot.own);
  } catch (...) {
    free_.push_back(request);
    channels_.clear();
    throw;
  }
  if (!bytes) return {};
  slot.bytes = *bytes;
  return Complete(request);
}

std::size_t Transport::Complete(Request request) {
  const Slot& slot = slots_[request];
  (slot.sending ? totals_.sent_bytes : totals_.received_bytes) += slot.bytes;
  ++(slot.sending ? totals_.sent_messages : totals_.received_messages);
  free_.push_back(request);
  return slot.bytes;
}

void Transport::Cancel(Request request) {
  const Slot& slot = slots_[request];
  free_.push_back(request);
  if (slot.peer == rank_) return own_->Cancel(slot.own);
  if (channels_.empty() || slot.request == nullptr) return;
  // What moves already cannot be taken back.
  if (!slot.sending) slot.channel->Cancel(slot.request);
  Progress();
  const Api& api = slot.channel->api();
  if (api.request_check_status(slot.request) == UCS_INPROGRESS) {
    channels_.clear();
  } else {
    api.request_free(slot.request);
  }
}

void Transport::Fail(ucs_status_t status, Request request) {
  const Slot& slot = slots_[request];
  free_.push_back(request);
  const std::string reason = slot.channel->context().TextOf(status);
  channels_.clear();
  const ErrorContext context{.tensor = {}, .ranks = {slot.peer}, .phase = "exchange"};
  const std::string peer = std::to_string(slot.peer);
  if (status == UCS_ERR_MESSAGE_TRUNCATED) {
    throw Corrupt("rank " + peer + " sent a message longer than the " + std::to_string(slot.bytes) +
                      " bytes allowed: " + reason,
                  context);
  }
  throw PeerLost(
      (slot.sending ? "sending to rank " : "receiving from rank ") + peer + " failed: " + reason,
      context);
}

}  // namespace weir::ucx
