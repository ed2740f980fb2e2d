#include "coordinator/servers/server_links.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ops/push_pull/server_messages.h"

namespace weir {
namespace {

std::vector<int> Ranks(int first, int end) {
  std::vector<int> ranks(static_cast<std::size_t>(end - first));
  std::iota(ranks.begin(), ranks.end(), first);
  return ranks;
}

}  // namespace

ServerLinks::ServerLinks(Transport& network, int servers, std::function<void()> wake)
    : lane_(Lane(network)),
      dedicated_(servers > 0),
      wake_(std::move(wake)),
      servers_(dedicated_ ? Ranks(network.size() - servers, network.size())
                          : Ranks(0, network.size())) {}

std::uint32_t ServerLinks::Lanes(const Transport& network) {
  constexpr std::uint32_t kEnough = 64;  // 65,536 buckets in the life of an engine.
  return std::clamp<std::uint32_t>(SubsetTransport::Lanes(network) / 2, 1, kEnough);
}

std::unique_ptr<SubsetTransport> ServerLinks::Lane(Transport& network) {
  const std::uint32_t lanes = Lanes(network);
  return std::make_unique<SubsetTransport>(network, Ranks(0, network.size()),
                                           SubsetTransport::Lanes(network) - lanes + 1, lanes);
}

std::optional<std::uint32_t> ServerLinks::TakeNumbers(std::size_t count) {
  if (count > lane_->operation_numbers() - next_number_) return {};
  return std::exchange(next_number_, next_number_ + static_cast<std::uint32_t>(count));
}

void ServerLinks::Tell(std::vector<std::byte> message) {
  if (has_left_) return;  // Nobody listens any more, nor needs to.
  Told& told = told_.emplace_back(Told{std::move(message), std::vector<Pending>(servers_.size())});
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    told.sends[s].Send(*lane_, servers_[s], server_messages::kControl, told.message);
  }
}

void ServerLinks::Serve() {
  if (server_ || dedicated_) return;
  const int ranks = lane_->size();
  server_ = std::make_unique<SummationServer>(
      *lane_,
      ServerPlace{
          .server = lane_->rank(), .servers = ranks, .workers = ranks, .rank = lane_->rank()},
      wake_);
}

void ServerLinks::TakeLeave() {
  if (!dedicated_ || has_left_) return;
  Tell(Serialize({.kind = ControlMessage::Kind::kLeave, .group = {}}));
  has_left_ = true;
}

bool ServerLinks::Poll() {
  const bool served = server_ && server_->Poll();
  const auto told = std::erase_if(told_, [this](Told& message) {
    bool sent = true;
    for (Pending& send : message.sends) sent &= send.Done(*lane_);
    return sent;
  });
  return served || told > 0;
}

void ServerLinks::Cancel() {
  for (Told& told : told_) {
    for (Pending& send : told.sends) send.Cancel(*lane_);
  }
  told_.clear();
  server_.reset();
}

}  // namespace weir
