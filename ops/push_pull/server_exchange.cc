#include "ops/push_pull/server_exchange.h"

#include "common/check.h"
#include "ops/push_pull/server_messages.h"

namespace weir {

ServerExchange::ServerExchange(Transport& lane, std::span<const int> servers,
                               std::uint32_t first_number, std::uint32_t number,
                               std::size_t max_frame_bytes)
    : lane_(lane),
      servers_(servers.begin(), servers.end()),
      first_number_(first_number),
      number_(number),
      max_frame_bytes_(max_frame_bytes),
      scratch_(std::make_unique_for_overwrite<std::byte[]>(servers.size() * max_frame_bytes)),
      outgoing_(servers.size()),
      answers_(servers.size()),
      sends_(servers.size()),
      receives_(servers.size()) {}

void ServerExchange::Bind(std::span<const std::span<const std::byte>> frames) {
  WEIR_CHECK(frames.size() == outgoing_.size());
  outgoing_.assign(frames.begin(), frames.end());
}

void ServerExchange::Start(std::uint32_t /*operation*/) {
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    answers_[s] = {};
    if (outgoing_[s].empty()) continue;
    receives_[s].Receive(lane_, servers_[s], server_messages::Answer(number_),
                         {Place(s), max_frame_bytes_});
    sends_[s].Send(lane_, servers_[s], server_messages::Push(first_number_), outgoing_[s]);
  }
}

bool ServerExchange::Poll() {
  bool done = true;
  for (std::size_t s = 0; s < servers_.size(); ++s) {
    if (outgoing_[s].empty()) continue;
    done &= sends_[s].Done(lane_);
    if (receives_[s].Done(lane_)) {
      answers_[s] = {Place(s), receives_[s].bytes()};
    } else {
      done = false;
    }
  }
  return done;
}

void ServerExchange::Cancel() {
  for (Pending& receive : receives_) receive.Cancel(lane_);
  for (Pending& send : sends_) send.Cancel(lane_);
}

}  // namespace weir
