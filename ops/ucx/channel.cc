#include "ops/ucx/channel.h"

#include <chrono>
#include <thread>
#include <utility>

namespace weir::ucx {
namespace {

constexpr auto kLongestFlush = std::chrono::seconds(1);

}  // namespace

Channel::Channel(std::unique_ptr<Worker> worker, std::vector<std::string> addresses)
    : worker_(std::move(worker)) {
  for (std::string& address : addresses) peers_.push_back({.address = std::move(address)});
}

void Channel::OnLost(void* peer, ucp_ep_h, ucs_status_t status) {
  static_cast<Peer*>(peer)->status = status;
}

ucs_status_t Channel::MakeEndpoint(Peer& to) {
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(to.address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler = {.cb = OnLost, .arg = &to};
  return api().ep_create(worker_->get(), &params, &to.endpoint);
}

ucs_status_ptr_t Channel::Send(int peer, ucp_tag_t tag, std::span<const std::byte> data) {
  Peer& to = peers_[static_cast<std::size_t>(peer)];
  if (to.endpoint == nullptr) {
    if (const ucs_status_t status = MakeEndpoint(to); status != UCS_OK) {
      return reinterpret_cast<ucs_status_ptr_t>(static_cast<std::intptr_t>(status));
    }
  }
  ucp_request_param_t params{};
  return api().tag_send_nbx(to.endpoint, data.data(), data.size(), tag, &params);
}

ucs_status_ptr_t Channel::Receive(ucp_tag_t tag, std::span<std::byte> buffer,
                                  ucp_tag_recv_info_t& info) {
  ucp_request_param_t params{};
  params.op_attr_mask = UCP_OP_ATTR_FIELD_RECV_INFO;
  params.recv_info.tag_info = &info;
  return api().tag_recv_nbx(worker_->get(), buffer.data(), buffer.size(), tag, ~ucp_tag_t{0},
                            &params);
}

void Channel::Flush() {
  ucp_request_param_t params{};
  const ucs_status_ptr_t request = api().worker_flush_nbx(worker_->get(), &params);
  if (!UCS_PTR_IS_PTR(request)) return;
  const auto deadline = std::chrono::steady_clock::now() + kLongestFlush;
  while (api().request_check_status(request) == UCS_INPROGRESS &&
         std::chrono::steady_clock::now() < deadline) {
    if (Progress() == 0) std::this_thread::yield();
  }
  api().request_free(request);
}

}  // namespace weir::ucx
