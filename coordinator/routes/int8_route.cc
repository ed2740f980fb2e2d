#include "coordinator/routes/int8_route.h"

#include <algorithm>
#include <numeric>

#include "coordinator/gradients/corrupt_frame.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr std::size_t kBlock = Int8Codec::kBlock;

std::size_t BlocksOf(std::size_t elements) { return (elements + kBlock - 1) / kBlock; }

std::size_t BlocksOf(const GradientSlices& gradients) {
  std::size_t blocks = 0;
  for (const GradientSlice& slice : gradients.all()) blocks += BlocksOf(slice.elements);
  return blocks;
}

/// Returns an upper bound of a frame about one part.
std::size_t MaxFrameBytes(const GradientSlices& gradients, std::size_t parts) {
  const std::size_t blocks = (BlocksOf(gradients) + parts - 1) / parts;
  return BucketFrame::MaxBytes(gradients.all().size(), blocks * (kBlock + sizeof(float)));
}

double FactorOf(const Reduction& reduction, std::size_t ranks) {
  const double scale = reduction.prescale * reduction.postscale;
  return reduction.op == ReduceOp::kAverage ? scale / static_cast<double>(ranks) : scale;
}

}  // namespace

Int8Route::Int8Route(GradientSlices& gradients, Transport& transport)
    : Route(gradients),
      transport_(transport),
      self_(static_cast<std::size_t>(transport.rank())),
      drained_(gradients.all().size()),
      push_(transport, MaxFrameBytes(gradients, static_cast<std::size_t>(transport.size()))),
      pull_(transport, push_.max_frame_bytes()) {
  MakeParts(static_cast<std::size_t>(transport.size()));
}

bool Int8Route::Suits(const GradientSlices& gradients, int ranks) {
  return MaxFrameBytes(gradients, static_cast<std::size_t>(ranks)) <= FrameExchange::kMostBytes;
}

// Parts have the same number of blocks, or one more.
void Int8Route::MakeParts(std::size_t parts) {
  parts_.resize(parts);
  const std::size_t blocks = BlocksOf(gradients());
  const auto& slices = gradients().all();
  std::size_t before = 0;  // Blocks of the slices before this one.
  std::size_t largest = 0;
  for (std::size_t i = 0; i < slices.size(); before += BlocksOf(slices[i].elements), ++i) {
    for (std::size_t p = 0; p < parts; ++p) {
      const std::size_t begin = std::max(p * blocks / parts, before) - before;
      const std::size_t end = std::max((p + 1) * blocks / parts, before) - before;
      const std::size_t first = std::min(begin * kBlock, slices[i].elements);
      const std::size_t count = std::min(end * kBlock, slices[i].elements) - first;
      if (count == 0) continue;
      parts_[p].pieces.push_back({i, first, count});
      parts_[p].bytes.push_back(codec_.MaxEncodedBytes(count, 1.0));
      largest = std::max(largest, count);
    }
  }
  const auto bytes_of = [](const Part& part) {
    return BucketFrame::MaxBytes(part.bytes.size(),
                                 std::reduce(part.bytes.begin(), part.bytes.end()));
  };
  for (Part& part : parts_) part.frame.resize(bytes_of(part));
  answer_.resize(bytes_of(parts_[self_]));
  sum_.resize(largest);
}

BucketFrame::Identity Int8Route::Identity() const {
  BucketFrame::Identity identity = gradients().FrameIdentity();
  identity.codec = CodecId::kInt8;
  return identity;
}

void Int8Route::Prepare(bool empty) {
  bytes_ = 0;
  if (!empty) return;
  for (Part& part : parts_) part.frame_bytes = BucketFrame::WriteEmpty(Identity(), part.frame);
}

// A rank that contributes nothing still adds up its part.
std::span<const BucketStage> Int8Route::stages() const {
  using enum BucketStage;
  static constexpr BucketStage kStages[] = {kCompress, kExchange, kRelay, kExchange, kMerge};
  return kStages;
}

void Int8Route::Run(BucketStage stage) {
  if (stage == BucketStage::kCompress) return Drain();
  if (stage == BucketStage::kRelay) return Add();
  Deliver();
}

void Int8Route::Drain() {
  const auto& slices = gradients().all();
  for (std::size_t i = 0; i < slices.size(); ++i) {
    drained_[i] = gradients().Drain(slices[i], DType::kInt8);
  }
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    Part& part = parts_[p];
    BucketFrame::Writer writer(part.frame, part.bytes);
    for (const Piece& piece : part.pieces) {
      const auto values = drained_[piece.slice].subspan(piece.first, piece.count);
      writer.Put(codec_.Encode({}, values, writer.Next()));
    }
    part.frame_bytes = writer.Seal(Identity());
    if (p != self_) bytes_ += part.frame_bytes;
  }
}

Int8Route::Payloads Int8Route::Read(std::size_t part, std::span<const std::byte> frame,
                                    std::size_t sender) const {
  const std::vector<Piece>& pieces = parts_[part].pieces;
  Payloads payloads(pieces.size());
  const std::string* name = &gradients().bucket();
  try {
    BucketFrame::Read(frame, Identity(), parts_[part].bytes, payloads);
    const bool nothing =
        std::ranges::all_of(payloads, [](std::span<const std::byte> one) { return one.empty(); });
    if (nothing) return {};
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      name = &gradients().all()[pieces[i].slice].name;
      codec_.Check(payloads[i], pieces[i].count);
    }
  } catch (const Corrupt& error) {
    const int rank = transport_.JobRank(static_cast<int>(sender));
    throw CorruptFrame(FrameOf(rank), *name, rank, error.what());
  }
  return payloads;
}

void Int8Route::Add() {
  std::vector<Payloads> received;
  for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
    Payloads payloads = Read(self_, push_.frames()[rank], rank);
    if (!payloads.empty()) received.push_back(std::move(payloads));
  }
  const Part& own = parts_[self_];
  const auto factor = static_cast<float>(FactorOf(gradients().step().reduction, parts_.size()));
  BucketFrame::Writer writer(answer_, own.bytes);
  for (std::size_t i = 0; i < own.pieces.size(); ++i) {
    const auto sum = std::span(sum_).first(own.pieces[i].count);
    std::ranges::fill(sum, 0.0f);
    for (const Payloads& payloads : received) codec_.Merge(payloads[i], sum);
    for (float& x : sum) x *= factor;
    writer.Put(codec_.Encode({}, sum, writer.Next()));
  }
  answer_bytes_ = writer.Seal(Identity());
  bytes_ += answer_bytes_;
}

void Int8Route::Deliver() {
  std::vector<Payloads> means;
  for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
    means.push_back(Read(rank, pull_.frames()[rank], rank));
  }
  const auto& slices = gradients().all();
  for (const GradientSlice& slice : slices) std::ranges::fill(gradients().Target(slice), 0.0f);
  for (std::size_t rank = 0; rank < parts_.size(); ++rank) {
    for (std::size_t i = 0; i < means[rank].size(); ++i) {
      const Piece& piece = parts_[rank].pieces[i];
      const std::span<float> mean = gradients().Target(slices[piece.slice]);
      codec_.Merge(means[rank][i], mean.subspan(piece.first, piece.count));
    }
  }
  for (const GradientSlice& slice : slices) {
    gradients().Finish(slice, gradients().Target(slice));
  }
}

Collective* Int8Route::Bind(std::size_t exchange) {
  if (exchange == 1) {
    pull_.Bind(std::span(answer_).first(answer_bytes_));
    return &pull_;
  }
  Payloads frames;
  for (const Part& part : parts_) frames.push_back(std::span(part.frame).first(part.frame_bytes));
  push_.BindEach(frames);
  return &push_;
}

}  // namespace weir
