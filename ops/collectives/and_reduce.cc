#include "ops/collectives/and_reduce.h"

#include <algorithm>
#include <bit>
#include <string>

#include "weir/error.h"

namespace weir {

AndReduce::AndReduce(Transport& transport)
    : transport_(transport),
      steps_(
          static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(transport.size()) - 1))) {}

void AndReduce::Bind(std::span<std::uint64_t> words) {
  words_ = words;
  for (Step& step : steps_) {
    step.sent.resize(words.size());
    step.received.resize(words.size());
  }
}

void AndReduce::Start(std::uint32_t operation) {
  operation_ = operation;
  step_ = 0;
  const int size = transport_.size();
  for (std::size_t k = 0; k < steps_.size(); ++k) {
    const int from = (transport_.rank() - (1 << k) + size) % size;
    steps_[k].receive.Receive(transport_, from, {operation, static_cast<std::uint32_t>(k)},
                              std::as_writable_bytes(std::span(steps_[k].received)));
  }
  if (!steps_.empty()) SendStep();
}

void AndReduce::SendStep() {
  Step& step = steps_[step_];
  std::copy(words_.begin(), words_.end(), step.sent.begin());
  const int to = (transport_.rank() + (1 << step_)) % transport_.size();
  step.send.Send(transport_, to, {operation_, static_cast<std::uint32_t>(step_)},
                 std::as_bytes(std::span(step.sent)));
}

void AndReduce::TakeStep() {
  Step& step = steps_[step_];
  if (step.receive.bytes() != words_.size_bytes()) {
    const int from = (transport_.rank() - (1 << step_) + transport_.size()) % transport_.size();
    throw Corrupt("rank " + std::to_string(transport_.JobRank(from)) + " sent " +
                      std::to_string(step.receive.bytes()) + " bytes to a round of " +
                      std::to_string(words_.size_bytes()),
                  {.tensor = {}, .ranks = {transport_.JobRank(from)}, .phase = "negotiate"});
  }
  for (std::size_t i = 0; i < words_.size(); ++i) words_[i] &= step.received[i];
  ++step_;
}

bool AndReduce::Poll() {
  while (step_ < steps_.size()) {
    if (!steps_[step_].receive.Done(transport_)) return false;
    TakeStep();
    if (step_ < steps_.size()) SendStep();
  }
  bool done = true;
  for (Step& step : steps_) done &= step.send.Done(transport_);
  return done;
}

void AndReduce::Cancel() {
  for (Step& step : steps_) {
    step.send.Cancel(transport_);
    step.receive.Cancel(transport_);
  }
  step_ = steps_.size();
}

}  // namespace weir
