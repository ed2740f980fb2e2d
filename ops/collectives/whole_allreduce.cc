#include "ops/collectives/whole_allreduce.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "weir/error.h"

namespace weir {

WholeAllreduce::WholeAllreduce(Transport& transport)
    : transport_(transport), sources_(static_cast<std::size_t>(transport.size())) {
  const int size = transport.size();
  const int self = transport.rank();
  const bool direct = size <= kDirectRanks;
  for (int distance = 1; distance < size; distance = direct ? distance + 1 : distance * 2) {
    Transfer transfer;
    transfer.to = (self - distance + size) % size;
    transfer.from = (self + distance) % size;
    transfer.first_received = static_cast<std::size_t>(distance);
    transfer.count = direct ? 1 : static_cast<std::size_t>(std::min(distance, size - distance));
    transfer.depends = !direct;
    transfers_.push_back(transfer);
  }
}

void WholeAllreduce::Bind(const ReduceTask& task) {
  task_ = task;
  const std::size_t ranks = sources_.size();
  scratch_.resize(std::max(scratch_.size(), ranks * task.bytes()));
  const auto self = static_cast<std::size_t>(transport_.rank());
  for (std::size_t place = 0; place < ranks; ++place) {
    sources_[(self + place) % ranks] = scratch_.data() + place * task.bytes();
  }
}

void WholeAllreduce::Start(std::uint32_t operation) {
  operation_ = operation;
  sent_ = received_ = 0;
  reduced_ = false;
  if (task_.elements == 0) {
    sent_ = received_ = transfers_.size();
    return;
  }
  const std::size_t bytes = task_.bytes();
  for (std::size_t i = 0; i < transfers_.size(); ++i) {
    Transfer& transfer = transfers_[i];
    transfer.receive.Receive(
        transport_, transfer.from, {operation, static_cast<std::uint32_t>(i)},
        {scratch_.data() + transfer.first_received * bytes, transfer.count * bytes});
  }
  std::memcpy(scratch_.data(), task_.in, bytes);
  SendReady();
}

void WholeAllreduce::SendReady() {
  for (; sent_ < transfers_.size(); ++sent_) {
    Transfer& transfer = transfers_[sent_];
    if (transfer.depends && received_ < sent_) return;
    transfer.send.Send(transport_, transfer.to, {operation_, static_cast<std::uint32_t>(sent_)},
                       {scratch_.data(), transfer.count * task_.bytes()});
  }
}

void WholeAllreduce::CheckLength(const Transfer& transfer) const {
  const std::size_t expected = transfer.count * task_.bytes();
  if (transfer.receive.bytes() == expected) return;
  throw Corrupt("rank " + std::to_string(transport_.JobRank(transfer.from)) + " sent " +
                    std::to_string(transfer.receive.bytes()) + " bytes to an all-reduce where " +
                    std::to_string(expected) + " belong",
                {.tensor = {}, .ranks = {transport_.JobRank(transfer.from)}, .phase = "exchange"});
}

bool WholeAllreduce::Poll() {
  while (received_ < transfers_.size()) {
    Transfer& transfer = transfers_[received_];
    if (!transfer.receive.Done(transport_)) return false;
    CheckLength(transfer);
    ++received_;
    SendReady();
  }
  bool done = true;
  for (Transfer& transfer : transfers_) done &= transfer.send.Done(transport_);
  if (done && !reduced_) {
    Reduce(task_.dtype, task_.reduction, sources_, task_.elements, task_.out);
    reduced_ = true;
  }
  return done;
}

void WholeAllreduce::Cancel() {
  for (Transfer& transfer : transfers_) {
    transfer.send.Cancel(transport_);
    transfer.receive.Cancel(transport_);
  }
  sent_ = received_ = transfers_.size();
  reduced_ = true;
}

}  // namespace weir
