// A summation server's handling of two workers' pushes for one bucket, and its answers.
#include "coordinator/servers/served_bucket.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <list>
#include <random>

#include "compression/make_compressor.h"
#include "compression/options/answer_options.h"
#include "compression/options/registry.h"
#include "compression/options/standard_options.h"
#include "coordinator/servers/asynchronous_bucket.h"
#include "coordinator/servers/synchronous_bucket.h"
#include "tests/compression/test_compressor.h"
#include "tests/compression/wire/sparse_sample.h"
#include "tests/fuzz/checksum.h"
#include "tests/fuzz/fuzz_target.h"
#include "weir/error.h"

namespace weir::fuzz {
namespace {

constexpr int kWorkers = 2;
constexpr std::size_t kMostPushes = 6;
constexpr std::size_t kMostFrame = 2000;
constexpr std::size_t kGroups = 2;
constexpr std::array<std::size_t, 2> kPartitions = {70, 9};
constexpr double kDensity = 0.1;

/// Every codec, with memory where it may have some.
std::vector<CompressionOptions> Variants() {
  std::vector<CompressionOptions> variants = {
      {{"compressor", "dense"}},
      {{"compressor", "fp16"}, {"ef", "vanilla"}},
      {{"compressor", "topk"}, {"values", "fp32"}, {"ef", "vanilla"}},
      {{"compressor", "topk"}, {"values", "int4"}},
      {{"compressor", "randomk"}, {"ef", "vanilla"}},
      {{"compressor", "onebit"}, {"scaling", "true"}, {"ef", "vanilla"}},
      {{"compressor", "dithering"}, {"k", "20"}},
      {{"compressor", "int8"}, {"ef", "vanilla"}},
      {{"compressor", "dgc"}, {"values", "fp32"}},
  };
  for (CompressionOptions& options : variants) {
    const auto& keys = FindCompressor(options.at("compressor")).options;
    const auto has = [&keys](const char* key) {
      return std::ranges::find(keys, key, &OptionSpec::key) != keys.end();
    };
    if (has("min_elements")) options["min_elements"] = "0";
    if (has("density")) options["density"] = std::to_string(kDensity);
  }
  return variants;
}

TensorSpec Tensor(std::size_t partition) {
  return {"t" + std::to_string(partition),
          Shape{1, static_cast<std::int64_t>(kPartitions[partition])}};
}

/// Knowledge that all ranks share about a bucket.
struct Known {
  CompressionOptions options;
  Schedule schedule;
  std::vector<std::unique_ptr<const Compressor>> readers;  ///< By partition.

  explicit Known(const CompressionOptions& given)
      : options(given), schedule(ScheduleOf(ParseOptions(given))) {
    for (std::size_t p = 0; p < kPartitions.size(); ++p) {
      readers.push_back(MakeCompressor(options, Tensor(p)));
    }
  }
  BucketFrame::Identity Identity(std::int64_t step) const {
    return {.epoch = 3,
            .step = step,
            .bucket = 1,
            .elements = kPartitions[0] + kPartitions[1],
            .codec = FindCompressor(options.at("compressor")).codec};
  }
  /// Most bytes of each payload.
  std::vector<std::size_t> Most(std::int64_t step) const {
    std::vector<std::size_t> most;
    for (const auto& reader : readers) {
      most.push_back(reader->MaxEncodedBytes(schedule.Density(step)));
    }
    return most;
  }
};

const std::vector<Known>& AllKnown() {
  static const std::vector<Known> all = [] {
    std::vector<Known> list;
    for (const CompressionOptions& options : Variants()) list.emplace_back(options);
    return list;
  }();
  return all;
}

std::unique_ptr<ServedBucket> MakeBucket(const Known& known, int staleness) {
  ServedBucket::Description bucket{.name = "g/t",
                                   .identity = known.Identity(0),
                                   .schedule = known.schedule,
                                   .parameter_groups = kGroups,
                                   .workers = kWorkers,
                                   .partitions = {}};
  for (std::size_t p = 0; p < kPartitions.size(); ++p) {
    ServedBucket::Partition partition{.name = Tensor(p).name,
                                      .elements = kPartitions[p],
                                      .parameter_group = static_cast<int>(p),
                                      .reader = MakeCompressor(known.options, Tensor(p)),
                                      .answering = {}};
    for (int a = 0; a < (staleness > 0 ? kWorkers : 1); ++a) {
      partition.answering.push_back(MakeCompressor(AnswerOptions(known.options), Tensor(p)));
    }
    bucket.partitions.push_back(std::move(partition));
  }
  if (staleness == 0) return std::make_unique<SynchronousBucket>(std::move(bucket));
  return std::make_unique<AsynchronousBucket>(std::move(bucket), staleness);
}

/// A worker can read an answer, to the last value.
void ReadAnswer(const Known& known, std::span<const std::byte> frame, std::int64_t step) {
  std::vector<std::span<const std::byte>> payloads(kPartitions.size());
  BucketFrame::Read(frame, known.Identity(step), known.Most(step), payloads);
  for (std::size_t p = 0; p < kPartitions.size(); ++p) {
    std::vector<float> mean(kPartitions[p]);
    known.readers[p]->MergeMean(std::span(payloads).subspan(p, 1), mean);
    for (const float value : mean) WEIR_CHECK(std::isfinite(value));
  }
}

std::int64_t StepOf(std::span<const std::byte> frame) {
  return static_cast<std::int64_t>(PeekFrameHeader(frame).step);
}

/// A bucket that gets all that is pushed, and one that gets what the first has taken: what is
/// refused must not be in any answer.
class Twins {
 public:
  Twins(const Known& known, int staleness)
      : known_(known), all_(MakeBucket(known, staleness)), taken_(MakeBucket(known, staleness)) {}

  /// Whether more may be pushed.
  bool Push(int worker, const Bytes& frame) {
    std::vector<ServedBucket::Answer> due;
    try {
      all_->Take(worker, frames_.emplace_back(frame), due);
    } catch (const Corrupt&) {
      WEIR_CHECK(due.empty());
      return true;
    } catch (const ShutDown&) {
      return false;
    }
    WEIR_CHECK(frame.size() <= all_->max_push_bytes());
    std::int64_t& step = steps_[static_cast<std::size_t>(worker)];
    step = StepOf(frame);
    std::vector<ServedBucket::Answer> expected;
    taken_->Take(worker, frames_.back(), expected);
    WEIR_CHECK(due.size() == expected.size() && due.size() <= kWorkers);
    for (std::size_t i = 0; i < due.size(); ++i) {
      WEIR_CHECK(due[i].worker == expected[i].worker);
      WEIR_CHECK(std::ranges::equal(due[i].frame, expected[i].frame));
      ReadAnswer(known_, due[i].frame, steps_[static_cast<std::size_t>(due[i].worker)]);
    }
    return true;
  }
  bool Finish(int worker) {
    return Accepts<ShutDown>([&] {
      all_->Finish(worker);
      taken_->Finish(worker);
    });
  }

 private:
  const Known& known_;
  std::list<Bytes> frames_;  ///< They stay as they are until they are answered.
  std::array<std::int64_t, kWorkers> steps_{};
  std::unique_ptr<ServedBucket> all_;
  std::unique_ptr<ServedBucket> taken_;
};

Bytes Frame(const Known& known, std::int64_t step, std::mt19937& random) {
  const std::vector<float> rates = {0.1f, 0.2f, 0.1f, 0.4f};
  std::vector<Bytes> payloads;
  std::vector<std::size_t> most = known.Most(step);
  most.insert(most.begin(), ServedBucket::HeadBytes(kGroups));
  const double density = known.schedule.Density(step);
  for (std::size_t p = 0; p < kPartitions.size(); ++p) {
    const auto compressor = MakeCompressor(known.options, Tensor(p));
    const auto gradient = test::RandomSample(kPartitions[p], kPartitions[p], random).values;
    payloads.push_back(test::Send(*compressor, {.step = step, .density = density}, gradient));
  }
  Bytes frame(BucketFrame::MaxBytes(most.size(), most[0] + most[1] + most[2]));
  BucketFrame::Writer writer(frame, most);
  std::ranges::copy(std::as_bytes(std::span(rates)), writer.Next().begin());
  writer.Put(most[0]);
  for (const Bytes& payload : payloads) {
    std::ranges::copy(payload, writer.Next().begin());
    writer.Put(payload.size());
  }
  frame.resize(writer.Seal(known.Identity(step)));
  return frame;
}

}  // namespace

// An action: who (a worker pushes, or has finished), then the bytes of a frame and these.
void Run(std::span<const std::byte> bytes) {
  Input input(bytes);
  const Known& known = AllKnown()[input.Number(AllKnown().size() - 1)];
  Twins twins(known, static_cast<int>(input.Number(2)));
  for (std::size_t i = 0; i < kMostPushes && !input.Rest().empty(); ++i) {
    const std::size_t action = input.Number(2 * kWorkers + 1);
    const int worker = static_cast<int>(action % kWorkers);
    if (action >= 2 * kWorkers) {
      if (!twins.Finish(worker)) return;
      continue;
    }
    const auto frame = input.Take(input.Number(kMostFrame));
    // Every second kind of push has the checksum that it came with.
    const bool mended = action < kWorkers;
    if (!twins.Push(worker, mended ? WithItsChecksum(frame) : Bytes(frame.begin(), frame.end()))) {
      return;
    }
  }
}

std::vector<Bytes> Seeds() {
  std::mt19937 random(1);
  std::vector<Bytes> seeds;
  for (std::size_t v = 0; v < AllKnown().size(); ++v) {
    for (const std::size_t staleness : {0u, 2u}) {
      Bytes seed = Seed({v, staleness}, Bytes{});
      for (const std::int64_t step : {5, 5, 6}) {  // The second ones are refused.
        for (const std::size_t worker : {0u, 1u}) {
          const Bytes frame = Frame(AllKnown()[v], step, random);
          const Bytes action = Seed({worker, frame.size()}, frame);
          seed.insert(seed.end(), action.begin(), action.end());
        }
      }
      seeds.push_back(seed);
    }
  }
  return seeds;
}

}  // namespace weir::fuzz
