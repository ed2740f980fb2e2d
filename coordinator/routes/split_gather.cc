#include "coordinator/routes/split_gather.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/check.h"
#include "compression/sparse_mean.h"
#include "compression/wire/entry_part.h"
#include "coordinator/gradients/corrupt_frame.h"
#include "weir/error.h"

namespace weir {
namespace {

std::size_t Total(std::span<const std::size_t> bytes) {
  std::size_t total = 0;
  for (const std::size_t each : bytes) total += each;
  return total;
}

/// Entries of a list that lie in [begin, begin + elements).
struct Slice {
  std::vector<std::uint32_t> indices;  ///< Counted from `begin`.
  std::span<const float> values;
};

Slice SliceOf(const SparseEntries& entries, std::size_t begin, std::size_t elements) {
  const auto first = std::ranges::lower_bound(entries.indices, begin);
  const auto last = std::ranges::lower_bound(first, entries.indices.end(), begin + elements);
  Slice slice{{first, last},
              std::span(entries.values)
                  .subspan(static_cast<std::size_t>(first - entries.indices.begin()),
                           static_cast<std::size_t>(last - first))};
  for (std::uint32_t& index : slice.indices) index -= static_cast<std::uint32_t>(begin);
  return slice;
}

}  // namespace

std::vector<SplitGather::Range> SplitGather::Ranges(int ranks, std::span<const Tensor> tensors) {
  std::size_t elements = 0;
  for (const Tensor& tensor : tensors) elements += tensor.elements;
  const auto n = static_cast<std::size_t>(ranks);
  std::vector<Range> ranges(n);
  for (std::size_t r = 0; r < n; ++r) {
    const std::size_t begin = elements / n * r + std::min(r, elements % n);
    const std::size_t end = elements / n * (r + 1) + std::min(r + 1, elements % n);
    std::size_t at = 0;
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      const std::size_t from = std::clamp(begin, at, at + tensors[t].elements);
      const std::size_t to = std::clamp(end, at, at + tensors[t].elements);
      if (from < to) {
        ranges[r].pieces.push_back({t, from - at, to - from});
        ranges[r].part_most.push_back(MaxEntryPartBytes(to - from, tensors[t].values));
        ranges[r].sum_most.push_back(MaxEntryPartBytes(to - from, ValueType::kFloat32));
      }
      at += tensors[t].elements;
    }
  }
  return ranges;
}

std::size_t SplitGather::MaxFrameBytes(std::span<const std::size_t> most) {
  return BucketFrame::MaxBytes(most.size(), Total(most));
}

std::size_t SplitGather::MaxFrameBytes(int ranks, std::span<const Tensor> tensors) {
  std::size_t most = 0;
  for (const Range& range : Ranges(ranks, tensors)) {
    most = std::max(most, MaxFrameBytes(range.sum_most));  // Sums are fp32: parts are no longer.
  }
  return most;
}

SplitGather::SplitGather(std::string bucket, Transport& transport, std::vector<Tensor> tensors)
    : bucket_(std::move(bucket)),
      transport_(transport),
      tensors_(std::move(tensors)),
      ranges_(Ranges(transport.size(), tensors_)),
      own_(ranges_[static_cast<std::size_t>(transport.rank())]),
      places_(tensors_.size()),
      parts_(ranges_.size()),
      parts_exchange_(transport, MaxFrameBytes(transport.size(), tensors_)),
      sums_exchange_(transport, MaxFrameBytes(transport.size(), tensors_)),
      received_(ranges_.size()) {
  for (std::size_t r = 0; r < ranges_.size(); ++r) {
    for (std::size_t i = 0; i < ranges_[r].pieces.size(); ++i) {
      places_[ranges_[r].pieces[i].tensor].push_back({r, i});
    }
  }
  // Most of these bytes are never touched.
  const auto make = [](Frame& frame, std::span<const std::size_t> most) {
    frame.capacity = MaxFrameBytes(most);
    frame.buffer = std::make_unique_for_overwrite<std::byte[]>(frame.capacity);
  };
  for (std::size_t r = 0; r < parts_.size(); ++r) make(parts_[r], ranges_[r].part_most);
  make(sums_, own_.sum_most);
}

std::size_t SplitGather::Divide(const Identity& identity, std::span<const SparseEntries> entries) {
  WEIR_CHECK(entries.empty() || entries.size() == tensors_.size());
  std::size_t sent = 0;
  for (std::size_t r = 0; r < parts_.size(); ++r) {
    Frame& frame = parts_[r];
    const std::span<std::byte> buffer(frame.buffer.get(), frame.capacity);
    if (entries.empty()) {
      frame.bytes = BucketFrame::WriteEmpty(identity, buffer);
    } else {
      BucketFrame::Writer writer(buffer, ranges_[r].part_most);
      for (const Piece& piece : ranges_[r].pieces) {
        const Slice slice = SliceOf(entries[piece.tensor], piece.begin, piece.elements);
        writer.Put(EncodeEntryPart(piece.elements, slice.indices, slice.values,
                                   tensors_[piece.tensor].values, writer.Next()));
      }
      frame.bytes = writer.Seal(identity);
    }
    if (static_cast<int>(r) != transport_.rank()) sent += frame.bytes;
  }
  return sent;
}

Collective* SplitGather::BindParts() {
  std::vector<std::span<const std::byte>> frames;
  for (const Frame& frame : parts_) frames.push_back(frame.written());
  parts_exchange_.BindEach(frames);
  return &parts_exchange_;
}

std::size_t SplitGather::Add(const Identity& identity) {
  std::vector<std::vector<SparseEntries>> lists(own_.pieces.size());  // By piece, then rank.
  for (int rank = 0; rank < transport_.size(); ++rank) {
    std::vector<SparseEntries> entries =
        ReadFrame(parts_exchange_.frames()[static_cast<std::size_t>(rank)], identity, own_,
                  Content::kEntries, rank);
    for (std::size_t i = 0; i < entries.size(); ++i) lists[i].push_back(std::move(entries[i]));
  }
  BucketFrame::Writer writer({sums_.buffer.get(), sums_.capacity}, own_.sum_most);
  for (std::size_t i = 0; i < lists.size(); ++i) {
    const std::size_t elements = own_.pieces[i].elements;
    const SparseEntries sums = SumEntries(std::move(lists[i]), elements);
    writer.Put(
        EncodeEntryPart(elements, sums.indices, sums.values, ValueType::kFloat32, writer.Next()));
  }
  sums_.bytes = writer.Seal(identity);
  return sums_.bytes;
}

Collective* SplitGather::BindSums() {
  sums_exchange_.Bind(sums_.written());
  return &sums_exchange_;
}

void SplitGather::Read(const Identity& identity) {
  for (std::size_t r = 0; r < ranges_.size(); ++r) {
    received_[r] = ReadFrame(sums_exchange_.frames()[r], identity, ranges_[r], Content::kSums,
                             static_cast<int>(r));
  }
}

void SplitGather::Mean(std::size_t tensor, std::span<float> result) const {
  WEIR_CHECK(result.size() == tensors_[tensor].elements);
  std::ranges::fill(result, 0.0f);
  const auto ranks = static_cast<float>(transport_.size());
  for (const Place& place : places_[tensor]) {
    const Piece& piece = ranges_[place.owner].pieces[place.piece];
    const SparseEntries& sums = received_[place.owner][place.piece];
    const std::span<float> target = result.subspan(piece.begin, piece.elements);
    for (std::size_t e = 0; e < sums.indices.size(); ++e) {
      target[sums.indices[e]] = sums.values[e] / ranks;
    }
  }
}

std::vector<SparseEntries> SplitGather::ReadFrame(std::span<const std::byte> frame,
                                                  const Identity& identity, const Range& range,
                                                  Content content, int from) const {
  const bool sums = content == Content::kSums;
  std::vector<std::span<const std::byte>> payloads(range.pieces.size());
  std::vector<SparseEntries> entries;
  try {
    BucketFrame::Read(frame, identity, sums ? range.sum_most : range.part_most, payloads);
    for (std::size_t i = 0; i < payloads.size(); ++i) {
      const Piece& piece = range.pieces[i];
      const ValueType type = sums ? ValueType::kFloat32 : tensors_[piece.tensor].values;
      entries.push_back(DecodeEntryPart(payloads[i], piece.elements, type));
    }
  } catch (const Corrupt& error) {
    const int rank = transport_.JobRank(from);
    throw CorruptFrame(FrameOf(rank), bucket_, rank, error.what());
  }
  return entries;
}

}  // namespace weir
