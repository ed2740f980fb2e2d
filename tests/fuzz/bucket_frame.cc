// The frame of a bucket: a header, then a payload for each tensor.
#include "coordinator/gradients/bucket_frame.h"

#include <algorithm>

#include "tests/fuzz/checksum.h"
#include "tests/fuzz/fuzz_target.h"
#include "weir/error.h"

namespace weir::fuzz {
namespace {

constexpr BucketFrame::Identity kIdentity = {
    .epoch = 3, .step = 70'000, .bucket = 5, .elements = 1234, .codec = CodecId::kDgc};
constexpr std::size_t kMostTensors = 6;
constexpr std::size_t kMostBytes = 40;

using Payloads = std::vector<std::span<const std::byte>>;

Bytes Written(const std::vector<std::size_t>& most, const Payloads& payloads) {
  std::size_t bytes = 0;
  for (const std::size_t size : most) bytes += size;
  Bytes frame(BucketFrame::MaxBytes(most.size(), bytes));
  BucketFrame::Writer writer(frame, most);
  for (const auto& payload : payloads) {
    std::ranges::copy(payload, writer.Next().begin());
    writer.Put(payload.size());
  }
  frame.resize(writer.Seal(kIdentity));
  return frame;
}

}  // namespace

void Run(std::span<const std::byte> bytes) {
  Input input(bytes);
  std::vector<std::size_t> most(1 + input.Number(kMostTensors - 1));
  for (std::size_t& size : most) size = input.Number(kMostBytes);
  const Bytes frame = FrameFrom(input);
  Payloads payloads(most.size());
  if (!Accepts<Corrupt>([&] { BucketFrame::Read(frame, kIdentity, most, payloads); })) return;
  const std::byte* const end = frame.data() + frame.size();
  std::size_t together = 0;
  for (std::size_t i = 0; i < most.size(); ++i) {
    WEIR_CHECK(payloads[i].size() <= most[i]);
    if (payloads[i].empty()) continue;
    WEIR_CHECK(payloads[i].data() > frame.data() && payloads[i].data() + payloads[i].size() <= end);
    together += payloads[i].size();
  }
  if (together == 0) return;  // Perhaps of a rank that has joined.
  const Bytes again = Written(most, payloads);
  WEIR_CHECK_MSG(again.size() <= frame.size(), "a list of lengths may be needless, never missing");
  WEIR_CHECK(again.size() < frame.size() || again == frame);
}

std::vector<Bytes> Seeds() {
  const std::vector<std::byte> content(kMostBytes, std::byte{0x5a});
  const std::span<const std::byte> all = content;
  const std::vector<std::size_t> most = {7, 0, 40};
  std::vector<Bytes> seeds;
  for (const Payloads& payloads :
       {Payloads{all.first(7), {}, all}, Payloads{all.first(3), {}, all.first(11)}}) {
    seeds.push_back(Seed({most.size() - 1, most[0], most[1], most[2], 1}, Written(most, payloads)));
  }
  Bytes empty(BucketFrame::MaxBytes(0, 0));
  empty.resize(BucketFrame::WriteEmpty(kIdentity, empty));
  seeds.push_back(Seed({most.size() - 1, most[0], most[1], most[2], 1}, empty));
  return seeds;
}

}  // namespace weir::fuzz
