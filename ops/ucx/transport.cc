#include "ops/ucx/transport.h"

#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "common/check.h"
#include "ops/local/transport.h"
#include "weir/error.h"

namespace weir::ucx {
namespace {

constexpr auto kLongestFlush = std::chrono::seconds(1);

/// Ranks are told apart by the tag, since UCX matches by nothing else: 16 bits for the source, 32
/// for the operation, 16 for the chunk. Equal tags of two ranks match in the order of posting.
ucp_tag_t UcxTag(int source, Tag tag) {
  return static_cast<ucp_tag_t>(source) << 48 | static_cast<ucp_tag_t>(tag.operation) << 16 |
         (tag.chunk & 0xffff);
}

}  // namespace

Transport::Transport(std::unique_ptr<Worker> worker, int rank, std::vector<std::string> addresses)
    : worker_(std::move(worker)), rank_(rank), own_(local::Network(1).Endpoint(0)) {
  WEIR_CHECK(!addresses.empty() && addresses.size() <= 0x10000);
  for (std::string& address : addresses) peers_.push_back({.address = std::move(address)});
}

Transport::~Transport() { Close(); }

void Transport::Close() {
  if (worker_ == nullptr) return;
  if (free_.size() == slots_.size()) Flush();
  worker_.reset();
}

void Transport::Flush() {
  ucp_request_param_t params{};
  ucs_status_ptr_t request = worker_->api().worker_flush_nbx(worker_->get(), &params);
  if (!UCS_PTR_IS_PTR(request)) return;
  const auto deadline = std::chrono::steady_clock::now() + kLongestFlush;
  while (worker_->api().request_check_status(request) == UCS_INPROGRESS &&
         std::chrono::steady_clock::now() < deadline) {
    if (worker_->api().worker_progress(worker_->get()) == 0) std::this_thread::yield();
  }
  worker_->api().request_free(request);
}

void Transport::OnLost(void* peer, ucp_ep_h, ucs_status_t status) {
  static_cast<Peer*>(peer)->status = status;
}

ucs_status_t Transport::MakeEndpoint(Peer& to) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(to.address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler = {.cb = OnLost, .arg = &to};
  return worker_->api().ep_create(worker_->get(), &params, &to.endpoint);
}

void Transport::ThrowDead(int peer) {
  throw PeerLost("the network of this job has failed; no message can be sent any more",
                 {.tensor = {}, .ranks = {peer}, .phase = "exchange"});
}

Transport::Request Transport::TakeSlot(int peer, bool sending, std::size_t bytes) {
  WEIR_CHECK(peer >= 0 && peer < size());
  if (worker_ == nullptr) ThrowDead(peer);
  if (free_.empty()) {
    free_.push_back(static_cast<Request>(slots_.size()));
    slots_.emplace_back();
    free_.reserve(slots_.capacity());
  }
  const Request request = free_.back();
  slots_[request] = {
      .request = nullptr, .peer = peer, .sending = sending, .bytes = bytes, .own = 0};
  free_.pop_back();
  return request;
}

Transport::Request Transport::Send(int peer, Tag tag, std::span<const std::byte> data) {
  const Request request = TakeSlot(peer, true, data.size());
  Slot& slot = slots_[request];
  if (peer == rank_) {
    slot.own = own_->Send(0, tag, data);
    return request;
  }
  Peer& to = peers_[static_cast<std::size_t>(peer)];
  if (to.endpoint == nullptr) {
    if (const ucs_status_t status = MakeEndpoint(to); status != UCS_OK) Fail(status, request);
  }
  ucp_request_param_t params{};
  const ucs_status_ptr_t sent = worker_->api().tag_send_nbx(to.endpoint, data.data(), data.size(),
                                                            UcxTag(rank_, tag), &params);
  if (UCS_PTR_IS_ERR(sent)) Fail(UCS_PTR_STATUS(sent), request);
  slot.request = sent;
  return request;
}

Transport::Request Transport::Receive(int peer, Tag tag, std::span<std::byte> buffer) {
  const Request request = TakeSlot(peer, false, buffer.size());
  Slot& slot = slots_[request];
  if (peer == rank_) {
    slot.own = own_->Receive(0, tag, buffer);
    return request;
  }
  ucp_tag_recv_info_t info{};
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_RECV_INFO;
  params.recv_info.tag_info = &info;
  const ucs_status_ptr_t received = worker_->api().tag_recv_nbx(
      worker_->get(), buffer.data(), buffer.size(), UcxTag(peer, tag), ~ucp_tag_t{0}, &params);
  if (UCS_PTR_IS_ERR(received)) Fail(UCS_PTR_STATUS(received), request);
  slot.request = received;
  if (received == nullptr) slot.bytes = info.length;
  return request;
}

std::optional<std::size_t> Transport::Test(Request request) {
  Slot& slot = slots_[request];
  if (slot.peer == rank_) return TestOwn(request);
  if (slot.request == nullptr) return Complete(request);
  if (worker_ == nullptr) ThrowDead(slot.peer);
  const Api& api = worker_->api();
  ucp_tag_recv_info_t info{};
  const auto status_of = [&] {
    return slot.sending ? api.request_check_status(slot.request)
                        : api.tag_recv_request_test(slot.request, &info);
  };
  ucs_status_t status = status_of();
  for (unsigned moved = 1; status == UCS_INPROGRESS && moved != 0; status = status_of()) {
    moved = api.worker_progress(worker_->get());
    movements_ += moved;
  }
  if (status == UCS_INPROGRESS) {
    const ucs_status_t peer = peers_[static_cast<std::size_t>(slot.peer)].status;
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
    worker_.reset();
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
  if (worker_ == nullptr || slot.request == nullptr) return;
  const Api& api = worker_->api();
  // A receive that nothing has matched is taken back. What moves already cannot be.
  if (!slot.sending) api.request_cancel(worker_->get(), slot.request);
  api.worker_progress(worker_->get());
  if (api.request_check_status(slot.request) == UCS_INPROGRESS) {
    worker_.reset();
  } else {
    api.request_free(slot.request);
  }
}

void Transport::Fail(ucs_status_t status, Request request) {
  const Slot& slot = slots_[request];
  free_.push_back(request);
  const std::string reason = worker_->context().TextOf(status);
  worker_.reset();
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
