// A tensor in parts, with servers (route=push_pull), is compressed and answered part by part: the
// bits are those of the parts' own compressors, one after the other, for any size and any server.
// Without compression: push_pull_test.cc.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <ostream>
#include <random>
#include <string>
#include <vector>

#include "compression/make_compressor.h"
#include "compression/options/answer_options.h"
#include "compression/options/registry.h"
#include "coordinator/engine/local_job.h"
#include "tests/coordinator/jobs/job.h"

namespace weir::partitions_test {
namespace {

using Floats = std::vector<float>;

const Shape kShape{7, 43};
constexpr std::size_t kElements = 7 * 43;
constexpr int kRanks = 3;
constexpr int kSteps = 5;
constexpr double kDensity = 0.1;

struct Kind {
  const char* name;
  CompressionOptions compression;

  friend void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }
};

std::vector<Kind> Kinds() {
  std::vector<Kind> kinds = {
      {"TopK", {{"compressor", "topk"}, {"density", "0.1"}, {"ef", "vanilla"}}},
      {"OneBit", {{"compressor", "onebit"}, {"scaling", "true"}, {"ef", "vanilla"}}},
      {"Dgc", {{"compressor", "dgc"}, {"density", "0.1"}, {"momentum_mu", "0.9"}}}};
  for (Kind& kind : kinds) kind.compression.insert({{"min_elements", "1"}, {"policy", "always"}});
  return kinds;
}

/// One part, all ranks of it and its server, in one thread.
class PartAlone {
 public:
  PartAlone(const CompressionOptions& options, std::size_t begin, std::size_t elements)
      : begin_(begin), elements_(elements), answering_(Make(AnswerOptions(options))) {
    for (int rank = 0; rank < kRanks; ++rank) workers_.push_back(Make(options));
  }

  /// Writes the result of `gradients`, by rank, to its place.
  void Step(std::int64_t step, const std::vector<Floats>& gradients, Floats& update) {
    std::vector<std::vector<std::byte>> payloads;
    for (std::size_t rank = 0; rank < kRanks; ++rank) {
      payloads.push_back(
          Encode(*workers_[rank], step, std::span(gradients[rank]).subspan(begin_, elements_)));
    }
    Floats mean(elements_);
    answering_->MergeMean(std::vector<std::span<const std::byte>>(payloads.begin(), payloads.end()),
                          mean);
    const std::vector<std::byte> answer = Encode(*answering_, step, mean);
    const std::span<const std::byte> alone[] = {answer};
    answering_->MergeMean(alone, std::span(update).subspan(begin_, elements_));
  }

 private:
  std::unique_ptr<Compressor> Make(const CompressionOptions& options) const {
    return MakeCompressor(options, {"part", Shape{1, static_cast<std::int64_t>(elements_)}});
  }
  static std::vector<std::byte> Encode(Compressor& compressor, std::int64_t step,
                                       std::span<const float> values) {
    std::vector<std::byte> payload(compressor.MaxEncodedBytes(kDensity));
    payload.resize(compressor.Encode({.step = step, .density = kDensity}, values, payload));
    return payload;
  }

  const std::size_t begin_;
  const std::size_t elements_;
  std::unique_ptr<Compressor> answering_;
  std::vector<std::unique_ptr<Compressor>> workers_;
};

/// By step and rank.
using Gradients = std::vector<std::vector<Floats>>;

Gradients RandomGradients(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Gradients gradients(kSteps, std::vector<Floats>(kRanks, Floats(kElements)));
  for (auto& of_step : gradients) {
    for (Floats& of_rank : of_step) {
      for (float& value : of_rank) value = normal(random);
    }
  }
  return gradients;
}

/// The updates of all steps, of parts of at most `most` elements, as equal as they may be.
std::vector<Floats> PartByPart(const CompressionOptions& options, std::size_t most,
                               const Gradients& gradients) {
  const std::size_t count = (kElements + most - 1) / most;
  std::vector<PartAlone> parts;
  for (std::size_t p = 0, begin = 0; p < count; ++p) {
    const std::size_t elements = kElements / count + (p < kElements % count ? 1 : 0);
    parts.emplace_back(options, begin, elements);
    begin += elements;
  }
  std::vector<Floats> updates;
  for (std::size_t step = 0; step < kSteps; ++step) {
    Floats& update = updates.emplace_back(kElements);
    for (PartAlone& part : parts) {
      part.Step(static_cast<std::int64_t>(step), gradients[step], update);
    }
  }
  return updates;
}

/// The same on one rank of a job.
std::vector<Floats> Train(Engine& engine, const CompressionOptions& options,
                          const Gradients& gradients) {
  const auto group = engine.Register(
      {.name = "g", .tensors = {{.name = "w", .shape = kShape}}, .compression = options});
  std::vector<Floats> updates;
  for (const std::vector<Floats>& of_step : gradients) {
    Floats& update = updates.emplace_back(kElements);
    group->BeginStep({});
    group->Submit(
        0, {of_step[static_cast<std::size_t>(engine.rank())].data(), DType::kFloat32, kShape},
        {update.data(), DType::kFloat32, kShape});
    group->EndStep();
    group->WaitStep();
  }
  return updates;
}

class Partitions : public testing::TestWithParam<Kind> {
 protected:
  const std::uint32_t seed_ = std::random_device{}();
};

// From parts of one element to one that the whole tensor does not fill.
TEST_P(Partitions, OfAnySizeGiveTheBitsOfPartsAloneWhoeverServes) {
  SCOPED_TRACE(testing::Message() << "seed " << seed_);
  const Gradients gradients = RandomGradients(seed_);
  for (const std::size_t bytes : {4U, 7U, 100U, 1200U, 1204U, 4096000U}) {
    const auto expected = PartByPart(GetParam().compression, bytes / sizeof(float), gradients);
    CompressionOptions options = GetParam().compression;
    options.insert({{"route", "push_pull"}, {"partition_bytes", std::to_string(bytes)}});
    for (const int servers : {0, 1, 2, 5}) {
      SCOPED_TRACE(testing::Message() << bytes << " bytes, " << servers << " servers");
      Settings settings;
      settings.servers = servers;
      const auto updates = Results(
          RunLocal, kRanks, [&](Engine& engine) { return Train(engine, options, gradients); },
          settings);
      for (const auto& [rank, theirs] : updates) {
        EXPECT_TRUE(theirs == expected) << "on rank " << rank;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, Partitions, testing::ValuesIn(Kinds()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace weir::partitions_test
