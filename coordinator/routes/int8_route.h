#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "compression/codecs/int8.h"
#include "coordinator/routes/route.h"
#include "ops/exchanges/frame_exchange.h"

namespace weir {

/// All that compressors hold, averaged as int8 (Compressor::Drain, Int8Codec): a rank adds up its
/// part of all gradients in rank order, rounds that again and sends it to all. Each rank keeps what
/// rounding its values loses, and what rounding a part's mean loses is lost, as with DrainRoute's
/// fp16.
class Int8Route final : public Route {
 public:
  /// Bytes that travel, of those that an all-reduce of fp32 would send.
  static constexpr double kShareOfDense =
      (Int8Codec::kBlock + sizeof(float)) / static_cast<double>(Int8Codec::kBlock * sizeof(float));

  Int8Route(GradientSlices& gradients, Transport& transport);

  /// True if the frames of these gradients are not too long.
  static bool Suits(const GradientSlices& gradients, int ranks);

  void Prepare(bool empty) override;
  std::span<const BucketStage> stages() const override;
  void Run(BucketStage stage) override;
  Collective* Bind(std::size_t exchange) override;
  std::uint64_t wire_bytes() const override { return bytes_; }

 private:
  /// Neighbouring entries of one gradient, from the beginning of a block on.
  struct Piece {
    std::size_t slice = 0;
    std::size_t first = 0;
    std::size_t count = 0;
  };
  /// What one rank adds up.
  struct Part {
    std::vector<Piece> pieces;
    std::vector<std::size_t> bytes;  ///< Of the payloads, by piece.
    std::vector<std::byte> frame;    ///< What this rank contributes to it.
    std::size_t frame_bytes = 0;
  };
  using Payloads = std::vector<std::span<const std::byte>>;

  void MakeParts(std::size_t parts);
  BucketFrame::Identity Identity() const;
  void Drain();
  void Add();
  void Deliver();
  /// Returns the payloads of a frame about a part, checked to the last byte; none if its sender
  /// contributes nothing. Throws Corrupt, which names the sender.
  Payloads Read(std::size_t part, std::span<const std::byte> frame, std::size_t sender) const;

  Transport& transport_;
  const std::size_t self_;
  const Int8Codec codec_;
  std::vector<Part> parts_;  ///< By rank.
  std::vector<std::byte> answer_;
  std::size_t answer_bytes_ = 0;
  std::vector<float> sum_;  ///< Of one piece.
  std::vector<std::span<const float>> drained_;
  FrameExchange push_;
  FrameExchange pull_;
  std::size_t bytes_ = 0;
};

}  // namespace weir
