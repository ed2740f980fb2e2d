#include "benchmarks/codec_candidates.h"

#include <memory>
#include <utility>

#include "compression/codecs/cast.h"
#include "compression/codecs/int8.h"
#include "compression/codecs/onebit.h"
#include "compression/codecs/quantizer.h"
#include "compression/codecs/randomk.h"
#include "compression/codecs/topk.h"
#include "compression/compressor.h"
#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "compression/powersgd/factor_compressor.h"

namespace weir::bench {
namespace {

const StepContext kContext{.density = 0.01};

/// Describes a matrix, because vectors are treated differently (dgc, powersgd).
TensorSpec Matrix(std::size_t n) {
  return {.name = "w", .shape = {1024, static_cast<std::int64_t>(n / 1024)}};
}

CodecCandidate FromCodec(std::string name, const std::shared_ptr<const Codec>& codec,
                         std::size_t n) {
  CodecCandidate made{.name = std::move(name), .max_bytes = codec->MaxEncodedBytes(n, 0.01)};
  made.encode = [codec](auto values, auto payload) {
    return codec->Encode(kContext, values, payload);
  };
  made.decode = [codec](auto payload, auto result) { codec->MergeMean({{payload}}, result); };
  made.merge = [codec](auto payload, auto sum) { codec->Merge(payload, sum); };
  return made;
}

/// A compressor made by name, as in a program, with scaling and the search for non-finite values.
CodecCandidate FromName(std::string name, const CompressionOptions& options, std::size_t n) {
  const std::shared_ptr<Compressor> compressor = MakeCompressor(options, Matrix(n));
  CodecCandidate made{.name = std::move(name), .max_bytes = compressor->MaxEncodedBytes(0.01)};
  made.encode = [compressor](auto values, auto payload) {
    return compressor->Encode(kContext, values, payload);
  };
  made.decode = [compressor](auto payload, auto result) {
    compressor->MergeMean({{payload}}, result);
  };
  made.merge = [compressor](auto payload, auto sum) { compressor->Merge(payload, sum); };
  return made;
}

CodecCandidate WithIndices(CodecCandidate made, const CompressionOptions& options, std::size_t n) {
  const std::shared_ptr<Compressor> reader = MakeCompressor(options, Matrix(n));
  made.indices = [reader](auto payload) { return reader->Entries(payload).indices; };
  return made;
}

/// Both factors in one payload: the rank's contribution to the two all-reduces.
CodecCandidate PowerSgd(std::size_t n) {
  const std::shared_ptr<Compressor> compressor =
      MakeCompressor({{"compressor", "powersgd"}}, Matrix(n));
  FactorCompressor* const factors = compressor->factors();
  const std::size_t first = factors->first_size();
  const std::size_t second = factors->second_size();
  CodecCandidate made{.name = "powersgd 4", .max_bytes = (first + second) * sizeof(float)};
  const auto floats = [](std::byte* at, std::size_t count) {
    return std::span(reinterpret_cast<float*>(at), count);
  };
  made.encode = [=](std::span<const float> values, std::span<std::byte> payload) {
    const auto one = floats(payload.data(), first);
    factors->EncodeFirst(kContext, values, one);
    factors->EncodeSecond(kContext, one, floats(payload.data() + first * sizeof(float), second));
    return (first + second) * sizeof(float);
  };
  made.decode = [=, keep = compressor](std::span<const std::byte> payload,
                                       std::span<float> result) {
    const auto* const at = reinterpret_cast<const float*>(payload.data());
    factors->Decode(kContext, {at + first, second}, result);
  };
  made.held = false;
  return made;
}

void AddQuantizers(std::size_t n, std::vector<CodecCandidate>& all) {
  using Q = QuantizerCodec;
  const CounterRandom random(0, "w");
  const auto add = [&](const char* name, const Q::Rule& rule) {
    all.push_back(FromCodec(name, std::make_shared<Q>(random, rule), n));
  };
  add("dithering 7", {.levels = 7});
  all.back().held = false;  // Elias-delta is the shorter form for these values.
  add("dithering 127", {.levels = 127});
  add("natural 7 l2", {.levels = 7, .spacing = Q::Spacing::kPowersOfTwo, .scale = Q::Scale::kNorm});
  all.back().held = false;
  add("terngrad", {.levels = 1, .scale = Q::Scale::kClipped, .form = LevelForm::kPacked});
  add("quant3", {.levels = 3, .rounding = Q::Rounding::kNearest, .form = LevelForm::kPacked});
}

void AddSparse(std::size_t n, std::vector<CodecCandidate>& all) {
  all.push_back(
      WithIndices(FromCodec("topk 1 %", std::make_shared<TopKCodec>(0, ValueType::kFloat16), n),
                  {{"compressor", "topk"}, {"k", "0.01"}, {"min_elements", "0"}}, n));
  all.push_back(FromCodec("topk 1 % int2", std::make_shared<TopKCodec>(0, ValueType::kInt2), n));
  // In normal values 1 % lie beyond 2.576.
  const CompressionOptions threshold = {
      {"compressor", "threshold"}, {"threshold", "2.576"}, {"min_elements", "0"}};
  all.push_back(WithIndices(FromName("threshold", threshold, n), threshold, n));
  const CompressionOptions dgc = {
      {"compressor", "dgc"}, {"density", "0.01"}, {"min_elements", "0"}};
  all.push_back(WithIndices(FromName("dgc 1 %", dgc, n), dgc, n));
}

}  // namespace

std::vector<CodecCandidate> CodecCandidates(std::size_t n) {
  std::vector<CodecCandidate> all;
  all.push_back(FromCodec("dense", std::make_shared<CastCodec>(DType::kFloat32), n));
  all.push_back(FromCodec("fp16", std::make_shared<CastCodec>(DType::kFloat16), n));
  all.push_back(FromCodec("bf16", std::make_shared<CastCodec>(DType::kBFloat16), n));
  all.push_back(FromCodec("onebit", std::make_shared<OneBitCodec>(/*scaled=*/true), n));
  all.push_back(FromCodec("onebit unscaled", std::make_shared<OneBitCodec>(/*scaled=*/false), n));
  all.push_back(FromName("signum", {{"compressor", "signum"}}, n));
  all.push_back(FromCodec("int8", std::make_shared<Int8Codec>(), n));
  AddQuantizers(n, all);
  all.push_back(FromCodec(
      "randomk 1 %",
      std::make_shared<RandomKCodec>(CounterRandom(0, "w"), 0, ValueType::kFloat16, false), n));
  AddSparse(n, all);
  all.push_back(PowerSgd(n));
  return all;
}

}  // namespace weir::bench
