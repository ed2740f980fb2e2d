#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "tests/ops/transport/forwarding_transport.h"

namespace weir {

/// Damage to one message.
enum class Fault { kNone, kFlipByte, kTruncate, kLengthen, kDuplicate, kLose };

/// Another transport whose outgoing messages are damaged by a rule, for tests of detection.
class FaultyTransport final : public ForwardingTransport {
 public:
  struct Damage {
    Fault fault = Fault::kNone;
    std::size_t position = 0;  ///< Position of the flipped byte; new length of a truncated message.
    std::byte flip{0xff};      ///< Bits that change in it.
  };
  using Rule = std::function<Damage(int peer, Tag tag, std::span<const std::byte> data)>;

  FaultyTransport(std::unique_ptr<Transport> inner, Rule rule)
      : ForwardingTransport(std::move(inner)), rule_(std::move(rule)) {}
  ~FaultyTransport() override { DropInner(); }  // Before the copies that it may be sending.

  Request Send(int peer, Tag tag, std::span<const std::byte> data) override {
    const Damage damage = rule_(peer, tag, data);
    if (damage.fault == Fault::kNone) return inner().Send(peer, tag, data);
    std::vector<std::byte>& copy = copies_.emplace_back(data.begin(), data.end());
    if (damage.fault == Fault::kFlipByte) copy.at(damage.position) ^= damage.flip;
    if (damage.fault == Fault::kTruncate) copy.resize(damage.position);
    if (damage.fault == Fault::kLengthen) copy.resize(copy.size() + 1);
    // Nobody asks for a lost message.
    if (damage.fault == Fault::kLose) tag.operation = ~tag.operation;
    if (damage.fault == Fault::kDuplicate) inner().Send(peer, tag, copy);
    return inner().Send(peer, tag, copy);
  }

 private:
  std::deque<std::vector<std::byte>> copies_;
  Rule rule_;
};

}  // namespace weir
