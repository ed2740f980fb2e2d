#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "ops/collectives/collective.h"
#include "ops/transport/pending.h"
#include "ops/transport/transport.h"

namespace weir {

/// A worker's exchange with the summation servers: sends each server its frame of a bucket and
/// waits for the answer. Does not wait for other workers: the server decides when it answers.
class ServerExchange final : public Collective {
 public:
  /// `servers` are ranks of `lane` (this one may be among them). The numbers are the group's and
  /// the bucket's (ops/push_pull/server_messages.h). An answer has at most `max_frame_bytes`.
  ServerExchange(Transport& lane, std::span<const int> servers, std::uint32_t first_number,
                 std::uint32_t number, std::size_t max_frame_bytes);

  /// frames[s] is for server s; an empty one: that server has no part of this bucket. They must
  /// not change until the run is over.
  void Bind(std::span<const std::span<const std::byte>> frames);

  /// Ignores the number: messages have those of their bucket.
  void Start(std::uint32_t operation) override;
  /// Throws Corrupt when an answer is longer than max_frame_bytes.
  bool Poll() override;
  void Cancel() override;

  std::size_t max_frame_bytes() const { return max_frame_bytes_; }
  /// Answers by server, after completion; empty for an unused one. Valid until the next Start.
  std::span<const std::span<const std::byte>> answers() const { return answers_; }

 private:
  std::byte* Place(std::size_t server) { return scratch_.get() + server * max_frame_bytes_; }

  Transport& lane_;
  const std::vector<int> servers_;
  const std::uint32_t first_number_;
  const std::uint32_t number_;
  const std::size_t max_frame_bytes_;
  std::unique_ptr<std::byte[]> scratch_;  ///< Pages are used as answers arrive.
  std::vector<std::span<const std::byte>> outgoing_;
  std::vector<std::span<const std::byte>> answers_;
  std::vector<Pending> sends_;
  std::vector<Pending> receives_;
};

}  // namespace weir
