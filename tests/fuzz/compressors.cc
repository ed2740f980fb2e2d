// Every registered compressor on another rank's payload: Check, Merge and MergeMean.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <random>

#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "tests/compression/test_compressor.h"
#include "tests/compression/wire/sparse_sample.h"
#include "tests/fuzz/fuzz_target.h"
#include "weir/error.h"

namespace weir::fuzz {
namespace {

constexpr double kDensity = 0.1;
constexpr std::array<std::size_t, 4> kSizes = {1, 33, 257, 1000};

struct Receiver {
  std::size_t n = 0;
  std::unique_ptr<Compressor> compressor;
  Bytes own;  ///< A payload of its own.
};

/// Each compressor as it comes, and with options that change what it sends.
std::vector<CompressionOptions> Variants() {
  std::vector<CompressionOptions> variants = {
      {{"compressor", "onebit"}, {"scaling", "true"}},
      {{"compressor", "dithering"}, {"partition", "natural"}, {"k", "20"}},
      {{"compressor", "dithering"}, {"normalize", "l2"}, {"k", "127"}, {"seed", "5"}},
      {{"compressor", "randomk"}, {"values", "fp32"}, {"k", "20"}},
      {{"compressor", "randomk"}, {"unbiased", "true"}},
      {{"compressor", "topk"}, {"ef", "vanilla"}, {"values", "fp32"}},
      {{"compressor", "dgc"}, {"values", "fp32"}},
      {{"compressor", "dgc"}, {"values", "int8"}},
      {{"compressor", "dgc"}, {"values", "int4"}},
      {{"compressor", "dgc"}, {"values", "int2"}},
      {{"compressor", "dgc"}, {"min_elements", "2000"}},
      {{"compressor", "dgc"}, {"min_elements", "2000"}, {"values", "int2"}},
  };
  for (const CompressorInfo& info : ListCompressors()) {
    variants.push_back({{"compressor", info.name}});
    if (info.name == "threshold") variants.back()["threshold"] = "1.5";
  }
  // Otherwise most would send these small tensors dense.
  for (CompressionOptions& options : variants) {
    const auto& keys = FindCompressor(options.at("compressor")).options;
    if (std::ranges::find(keys, "min_elements", &OptionSpec::key) != keys.end()) {
      options.try_emplace("min_elements", "0");
    }
  }
  return variants;
}

const std::vector<Receiver>& Receivers() {
  static const std::vector<Receiver> receivers = [] {
    std::mt19937 random(1);
    std::vector<Receiver> list;
    for (const CompressionOptions& options : Variants()) {
      for (const std::size_t n : kSizes) {
        const TensorSpec tensor{"w", Shape{1, static_cast<std::int64_t>(n)}};
        Receiver receiver{n, MakeCompressor(options, tensor), {}};
        const auto gradient = test::RandomSample(n, n, random).values;
        receiver.own = test::Send(*receiver.compressor, {.density = kDensity}, gradient);
        list.push_back(std::move(receiver));
      }
    }
    return list;
  }();
  return receivers;
}

/// "The same bits as Merge of each into zeros and a division by their number."
void CheckMean(const Receiver& receiver, std::span<const std::byte> payload) {
  const std::vector<std::span<const std::byte>> payloads = {payload, receiver.own, {}};
  std::vector<float> expected(receiver.n);
  for (const auto& one : payloads) receiver.compressor->Merge(one, expected);
  for (float& value : expected) value /= static_cast<float>(payloads.size());
  std::vector<float> mean(receiver.n, 99.0f);
  receiver.compressor->MergeMean(payloads, mean);
  WEIR_CHECK(SameBits(mean, expected));
}

}  // namespace

void Run(std::span<const std::byte> bytes) {
  Input input(bytes);
  const Receiver& receiver = Receivers()[input.Number(Receivers().size() - 1)];
  const auto payload = input.Rest();
  const bool accepted = Accepts<Corrupt>([&] { receiver.compressor->Check(payload); });
  const std::vector<float> zeros(receiver.n);
  std::vector<float> sum = zeros;
  WEIR_CHECK(Accepts<Corrupt>([&] { receiver.compressor->Merge(payload, sum); }) == accepted);
  if (accepted) {
    WEIR_CHECK(payload.size() <= receiver.compressor->MaxEncodedBytes(1.0));
    for (const float value : sum) WEIR_CHECK(std::isfinite(value));
    CheckMean(receiver, payload);
    return;
  }
  WEIR_CHECK(SameBits(sum, zeros));
  const std::vector<std::span<const std::byte>> payloads = {receiver.own, payload};
  WEIR_CHECK(!Accepts<Corrupt>([&] { receiver.compressor->MergeMean(payloads, sum); }));
}

std::vector<Bytes> Seeds() {
  std::vector<Bytes> seeds;
  for (std::size_t i = 0; i < Receivers().size(); ++i) {
    seeds.push_back(Seed({i}, Receivers()[i].own));
  }
  return seeds;
}

}  // namespace weir::fuzz
