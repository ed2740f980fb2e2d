#include "ops/collectives/alltoall.h"

#include <cstring>
#include <string>

#include "weir/error.h"

namespace weir {
namespace {

void FillOffsets(std::span<const std::size_t> bytes, std::size_t buffer, const char* what,
                 std::vector<std::size_t>& offsets) {
  const std::size_t ranks = offsets.size() - 1;
  if (bytes.size() != ranks) {
    throw InvalidArgument("an all-to-all over " + std::to_string(ranks) + " ranks was given " +
                          std::to_string(bytes.size()) + " lengths of what it " + what +
                          "; give one per rank");
  }
  for (std::size_t r = 0; r < ranks; ++r) offsets[r + 1] = offsets[r] + bytes[r];
  if (buffer != offsets[ranks]) {
    throw InvalidArgument("an all-to-all that " + std::string(what) + " " +
                          std::to_string(offsets[ranks]) + " bytes was given a buffer of " +
                          std::to_string(buffer));
  }
}

}  // namespace

Alltoall::Alltoall(Transport& transport)
    : transport_(transport),
      in_offsets_(static_cast<std::size_t>(transport.size()) + 1),
      out_offsets_(static_cast<std::size_t>(transport.size()) + 1),
      exchanges_(static_cast<std::size_t>(transport.size())) {}

void Alltoall::Bind(std::span<const std::byte> in, std::span<const std::size_t> send_bytes,
                    std::span<std::byte> out, std::span<const std::size_t> receive_bytes) {
  FillOffsets(send_bytes, in.size(), "sends", in_offsets_);
  FillOffsets(receive_bytes, out.size(), "receives", out_offsets_);
  const auto self = static_cast<std::size_t>(transport_.rank());
  if (send_bytes[self] != receive_bytes[self]) {
    throw InvalidArgument("an all-to-all of rank " + std::to_string(self) + " sends itself " +
                          std::to_string(send_bytes[self]) + " bytes but receives " +
                          std::to_string(receive_bytes[self]));
  }
  in_ = in;
  out_ = out;
}

void Alltoall::Start(std::uint32_t operation) {
  operation_ = operation;
  started_ = finished_ = 0;
  const auto self = static_cast<std::size_t>(transport_.rank());
  const std::size_t own = in_offsets_[self + 1] - in_offsets_[self];
  if (own == 0) return;
  std::memcpy(out_.data() + out_offsets_[self], in_.data() + in_offsets_[self], own);
}

void Alltoall::StartDistance(int distance) {
  const int size = transport_.size();
  const int to = (transport_.rank() + distance) % size;
  const int from = (transport_.rank() - distance + size) % size;
  const auto t = static_cast<std::size_t>(to);
  const auto f = static_cast<std::size_t>(from);
  Exchange& exchange = exchanges_[static_cast<std::size_t>(distance)];
  exchange.send.StartSend(to, operation_,
                          in_.subspan(in_offsets_[t], in_offsets_[t + 1] - in_offsets_[t]), {});
  exchange.receive.StartReceive(
      from, operation_, out_.subspan(out_offsets_[f], out_offsets_[f + 1] - out_offsets_[f]), {});
}

bool Alltoall::Poll() {
  const int last = transport_.size() - 1;
  while (true) {
    while (started_ < last && started_ < finished_ + kDistancesAtOnce) StartDistance(++started_);
    bool all_before = true;
    const int finished_before = finished_;
    for (int distance = finished_before + 1; distance <= started_; ++distance) {
      Exchange& exchange = exchanges_[static_cast<std::size_t>(distance)];
      bool done = exchange.receive.Poll(transport_);
      done &= exchange.send.Poll(transport_);
      all_before = all_before && done;
      if (all_before) finished_ = distance;
    }
    if (finished_ == last) return true;
    if (finished_ == finished_before) return false;
  }
}

void Alltoall::Cancel() {
  for (Exchange& exchange : exchanges_) {
    exchange.send.Cancel(transport_);
    exchange.receive.Cancel(transport_);
  }
  started_ = finished_ = transport_.size() - 1;
}

}  // namespace weir
