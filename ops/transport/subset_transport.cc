#include "ops/transport/subset_transport.h"

#include <algorithm>

#include "common/check.h"

namespace weir {

std::uint32_t SubsetTransport::Lanes(const Transport& network) {
  WEIR_CHECK(network.operation_numbers() >= kLaneNumbers);
  return network.operation_numbers() / kLaneNumbers - 1;
}

SubsetTransport::SubsetTransport(Transport& network, std::vector<int> ranks, std::uint32_t lane,
                                 std::uint32_t lanes)
    : SubsetTransport(network, std::move(ranks),
                      Numbers{lane * kLaneNumbers, lanes * kLaneNumbers}) {
  WEIR_CHECK(lane >= 1 && lane + lanes - 1 <= Lanes(network));
}

SubsetTransport::SubsetTransport(Transport& network, std::vector<int> ranks)
    : SubsetTransport(network, std::move(ranks), Numbers{0, network.operation_numbers()}) {}

SubsetTransport::SubsetTransport(Transport& network, std::vector<int> ranks, Numbers numbers)
    : network_(network),
      ranks_(std::move(ranks)),
      first_number_(numbers.first),
      numbers_(numbers.count) {
  WEIR_CHECK(std::ranges::is_sorted(ranks_) && ranks_.front() >= 0 &&
             ranks_.back() < network.size());
  const auto self = std::ranges::find(ranks_, network.rank());
  WEIR_CHECK(self != ranks_.end());
  rank_ = static_cast<int>(self - ranks_.begin());
}

Tag SubsetTransport::InLane(Tag tag) const {
  WEIR_CHECK(tag.operation < numbers_);
  return {first_number_ + tag.operation, tag.chunk, tag.urgent};
}

Transport::Request SubsetTransport::Send(int peer, Tag tag, std::span<const std::byte> data) {
  return network_.Send(RankOf(peer), InLane(tag), data);
}

Transport::Request SubsetTransport::Receive(int peer, Tag tag, std::span<std::byte> buffer) {
  return network_.Receive(RankOf(peer), InLane(tag), buffer);
}

}  // namespace weir
