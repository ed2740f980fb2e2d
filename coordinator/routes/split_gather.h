#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compression/wire/sparse_payload.h"
#include "coordinator/gradients/bucket_frame.h"
#include "ops/exchanges/frame_exchange.h"

namespace weir {

/// One bucket's entries in two exchanges. Each rank owns a range of the bucket's elements: it
/// receives its part of every rank's entries, adds them in rank order, and sends the sums to all.
/// So a rank sends (N - 1) / N * (K + U) entries, U being those that any rank has sent, where a
/// gather sends (N - 1) * K; the sums are the same bits. Throws Corrupt that names the rank of the
/// job for a wrong frame. Not thread-safe.
class SplitGather {
 public:
  using Identity = BucketFrame::Identity;
  struct Tensor {
    std::size_t elements;
    ValueType values;  ///< Type that stores its entries without loss.
  };

  /// `bucket` is for errors.
  SplitGather(std::string bucket, Transport& transport, std::vector<Tensor> tensors);

  /// Size of the largest frame of all; it must fit FrameExchange::kMostBytes.
  static std::size_t MaxFrameBytes(int ranks, std::span<const Tensor> tensors);

  // One run, in this order. Functions that write return the bytes that this rank contributes: its
  // parts for all others together, and its sums.

  /// entries[i] of tensor i; empty for a rank that contributes nothing.
  std::size_t Divide(const Identity& identity, std::span<const SparseEntries> entries);
  Collective* BindParts();
  std::size_t Add(const Identity& identity);
  Collective* BindSums();
  void Read(const Identity& identity);
  /// result = the sums of one tensor over the number of ranks, 0 where no rank has sent any.
  void Mean(std::size_t tensor, std::span<float> result) const;

 private:
  /// One rank's part of one tensor.
  struct Piece {
    std::size_t tensor;
    std::size_t begin;
    std::size_t elements;
  };
  /// One rank's range.
  struct Range {
    std::vector<Piece> pieces;
    std::vector<std::size_t> part_most;  ///< Bytes of each piece.
    std::vector<std::size_t> sum_most;
  };
  struct Place {
    std::size_t owner;
    std::size_t piece;
  };
  struct Frame {
    std::unique_ptr<std::byte[]> buffer;
    std::size_t capacity = 0;
    std::size_t bytes = 0;
    std::span<const std::byte> written() const { return {buffer.get(), bytes}; }
  };

  static std::vector<Range> Ranges(int ranks, std::span<const Tensor> tensors);
  static std::size_t MaxFrameBytes(std::span<const std::size_t> most);
  /// Content of a frame for each piece: entries as they were sent, or sums of them.
  enum class Content { kEntries, kSums };
  /// Returns the entries of each piece of `range` in a frame of rank `from`.
  std::vector<SparseEntries> ReadFrame(std::span<const std::byte> frame, const Identity& identity,
                                       const Range& range, Content content, int from) const;

  const std::string bucket_;
  Transport& transport_;
  const std::vector<Tensor> tensors_;
  const std::vector<Range> ranges_;  ///< By owner.
  const Range& own_;
  std::vector<std::vector<Place>> places_;  ///< By tensor, then piece.
  std::vector<Frame> parts_;                ///< By owner.
  Frame sums_;
  FrameExchange parts_exchange_;
  FrameExchange sums_exchange_;
  std::vector<std::vector<SparseEntries>> received_;  ///< Sums by owner, then piece.
};

}  // namespace weir
