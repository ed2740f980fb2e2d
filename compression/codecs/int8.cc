#include "compression/codecs/int8.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "common/byte_stream.h"
#include "common/check.h"
#include "compression/codec_compressor.h"
#include "compression/codecs/int8_math.h"
#include "compression/cpu/dither.h"
#include "compression/options/registry.h"
#include "compression/options/standard_options.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr std::size_t kStepBytes = sizeof(float);

/// Place of a block and of its part of the payload.
struct Block {
  std::size_t first;
  std::size_t count;
  std::size_t offset;
};

template <class Use>
void ForEachBlock(std::size_t n, Use use) {
  std::size_t offset = 0;
  for (std::size_t first = 0; first < n; first += Int8Codec::kBlock) {
    const std::size_t count = std::min(Int8Codec::kBlock, n - first);
    use(Block{first, count, offset});
    offset += kStepBytes + count;
  }
}

/// Calls use(i, value) for every entry of a payload that was checked.
template <class Use>
void ForEachValue(std::span<const std::byte> payload, std::size_t n, Use use) {
  ForEachBlock(n, [&](const Block& block) {
    const auto step = LoadLittleEndian<float>(payload.data() + block.offset);
    const std::byte* levels = payload.data() + block.offset + kStepBytes;
    for (std::size_t i = 0; i < block.count; ++i) {
      use(block.first + i, Int8Value(static_cast<std::int8_t>(levels[i]), step));
    }
  });
}

const CompressorRegistration kInt8(
    {.name = "int8",
     .summary = "Every entry in 8 bits, with a scale for each block of 256.",
     .options = JoinSpecs({FamilySpecs(), MemorySpecs(), StepSpecs()}),
     .make = MakeAround<Int8Codec>,
     .codec = CodecId::kInt8});

}  // namespace

std::size_t Int8Codec::MaxEncodedBytes(std::size_t n, double) const {
  return n + (n + kBlock - 1) / kBlock * kStepBytes;
}

std::size_t Int8Codec::Encode(const StepContext&, std::span<const float> values,
                              std::span<std::byte> payload) const {
  const std::size_t size = MaxEncodedBytes(values.size(), 1.0);
  WEIR_CHECK(payload.size() >= size);
  ForEachBlock(values.size(), [&](const Block& block) {
    const auto own = values.subspan(block.first, block.count);
    const float step = Int8Step(cpu::LargestMagnitude(own));
    std::byte* out = payload.data() + block.offset;
    StoreLittleEndian(out, step);
    for (std::size_t i = 0; i < own.size(); ++i) {
      out[kStepBytes + i] = static_cast<std::byte>(Int8Level(own[i], step));
    }
  });
  return size;
}

void Int8Codec::Check(std::span<const std::byte> payload, std::size_t n) const {
  if (payload.size() != MaxEncodedBytes(n, 1.0)) {
    throw Corrupt("int8 part: length is " + std::to_string(payload.size()) + ", expected " +
                  std::to_string(MaxEncodedBytes(n, 1.0)));
  }
  ForEachBlock(n, [&](const Block& block) {
    const auto step = LoadLittleEndian<float>(payload.data() + block.offset);
    if (!std::isfinite(step) || std::signbit(step)) {
      throw Corrupt("int8 part: the scale of a block is " + std::to_string(step) +
                    ", which no sender writes");
    }
    std::int8_t least = 0;
    std::int8_t bits = 0;
    for (const std::byte byte : payload.subspan(block.offset + kStepBytes, block.count)) {
      const auto level = static_cast<std::int8_t>(byte);
      least = std::min(least, level);
      bits |= level;
    }
    if (least < -kLargestInt8 || (step == 0.0f && bits != 0)) {
      throw Corrupt("int8 part: a level does not fit its block's scale, " + std::to_string(step));
    }
  });
}

void Int8Codec::Merge(std::span<const std::byte> payload, std::span<float> sum) const {
  Check(payload, sum.size());
  ForEachValue(payload, sum.size(), [sum](std::size_t i, float value) { sum[i] += value; });
}

void Int8Codec::Subtract(std::span<const std::byte> payload, std::span<float> rest) const {
  Check(payload, rest.size());
  ForEachValue(payload, rest.size(), [rest](std::size_t i, float value) { rest[i] -= value; });
}

}  // namespace weir
