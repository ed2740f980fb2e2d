#include "benchmarks/dashboard/made_job.h"

#include <fcntl.h>
#include <fmt/core.h>

#include "metrics/files/output_file.h"
#include "metrics/files/rank_path.h"
#include "metrics/pages/run_page.h"
#include "metrics/run_log/run_log.h"
#include "weir/settings.h"

namespace weir::bench {
namespace {

constexpr int kBuckets = 8;
constexpr int kSlowRank = 7;
constexpr float kDensity = 0.001f;
constexpr std::uint64_t kElements = 100'000;  // In a layer.
constexpr std::uint64_t kLayerBytes = kElements * 4;

constexpr Stage kStages[] = {Stage::kQueue,    Stage::kNegotiate, Stage::kPack,  Stage::kCompress,
                             Stage::kExchange, Stage::kMerge,     Stage::kUnpack};

RunInfo InfoOf(const JobShape& shape, int rank) {
  return {.rank = rank,
          .size = shape.ranks,
          .local_rank = rank % 8,
          .host = fmt::format("host-{}", rank / 8)};
}

}  // namespace

MadeRank::MadeRank(const JobShape& shape, int rank, std::int64_t start_ns,
                   const LogBlocks::Options& options)
    : shape_(shape),
      info_(InfoOf(shape, rank)),
      start_ns_(start_ns),
      blocks_(info_, names_, RunPage(Settings(), info_), options),
      summaries_(names_) {
  const std::vector<RouteInfo> routes = {{.op = "allgather", .route = "gather"}};
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    names_.Add({.name = fmt::format("bucket {}", bucket), .routes = routes, .compressor = "dgc"});
  }
  for (int layer = 0; layer < shape.layers; ++layer) {
    names_.Add({.name = fmt::format("encoder.{:04}.attention.weight", layer),
                .routes = routes,
                .compressor = "dgc",
                .elements = kElements});
  }
}

float MadeRank::Noise(std::int64_t step, std::int64_t what) const {
  auto bits = static_cast<std::uint64_t>(step * 1'000'003 + what * 7919 + info_.rank);
  bits = (bits ^ (bits >> 31)) * 0x9e3779b97f4a7c15ULL;
  return static_cast<float>(bits >> 40) / static_cast<float>(1 << 24);
}

void MadeRank::AddBucket(std::int64_t step, int bucket, bool detail) {
  const std::int64_t unit = shape_.step_ns() / (kBuckets * 10);
  std::int64_t at = StartOf(step) + bucket * 8 * unit;
  const std::uint64_t dense = kLayerBytes * static_cast<std::uint64_t>(shape_.layers / kBuckets);
  for (const Stage stage : kStages) {
    const auto length =
        static_cast<std::int64_t>(static_cast<float>(unit) * (1.0f + Noise(step, bucket + 100)));
    const StageRecord record{.start_ns = at,
                             .end_ns = at + length,
                             .step = step,
                             .bytes_in = stage == Stage::kExchange ? dense / 500 : dense,
                             .bytes_out = stage == Stage::kExchange ? dense : dense / 500,
                             .bucket = static_cast<std::uint32_t>(bucket),
                             .density = kDensity,
                             .threshold = 0.01f,
                             .stage = stage};
    at += length;
    summaries_.Add(record);
    if (detail) blocks_.Add(record);
  }
}

void MadeRank::AddGradients(std::int64_t step, int bucket) {
  const std::int64_t start = StartOf(step);
  const std::int64_t slow = info_.rank == kSlowRank ? 2 : 1;
  const int count = shape_.layers / kBuckets + 1;
  for (int i = 0; i < count; ++i) {
    const int layer = bucket * count + i;
    if (layer >= shape_.layers) return;
    const float noise = Noise(step, layer);
    const auto number = static_cast<std::uint32_t>(kBuckets + layer);
    if (i == step % count) {  // One of each bucket is measured.
      blocks_.Add(StageRecord{.step = step,
                              .bucket = number,
                              .density = 5.0f + 3.0f * noise,
                              .stage = Stage::kResidual});
    }
    const auto latency = static_cast<std::int64_t>((1.0f + noise) * 1e5f) * (1 + layer % 97) * slow;
    blocks_.Add(StageRecord{.start_ns = start,
                            .end_ns = start + latency,
                            .step = step,
                            .bytes_in = kLayerBytes,
                            .bytes_out = static_cast<std::uint64_t>(static_cast<float>(kElements) *
                                                                    kDensity * 6 * (1.0f + noise)),
                            .bucket = number,
                            .density = kDensity * (1.0f + 0.2f * noise),
                            .threshold = 0.01f,
                            .stage = Stage::kGradient});
  }
}

void MadeRank::AddStep(std::int64_t step, bool detail) {
  for (int bucket = 0; bucket < kBuckets; ++bucket) {
    AddBucket(step, bucket, detail);
    if (detail) AddGradients(step, bucket);
  }
  const auto end = StartOf(step) + shape_.step_ns() * 9 / 10;
  const StageRecord whole{.start_ns = StartOf(step),
                          .end_ns = end,
                          .step = step,
                          .density = kDensity,
                          .stage = Stage::kStep};
  if (const auto summary = summaries_.Add(whole)) {
    blocks_.Add(*summary);
    sample_.sent_bytes += summary->payload_bytes;
    sample_.received_bytes += summary->payload_bytes * static_cast<std::uint64_t>(shape_.ranks - 1);
  }
  const bool new_second =
      end / 1'000'000'000 != (StartOf(step - 1) + shape_.step_ns() * 9 / 10) / 1'000'000'000;
  if (!new_second) return;
  sample_.time_ns = end;
  sample_.queue_depth[static_cast<std::size_t>(Stage::kCompress)] = step % 5;
  blocks_.Add(sample_);
}

std::vector<LogBlock> MadeRank::Take(std::int64_t step, bool everything) {
  return blocks_.Take(StartOf(step + 1), everything);
}

std::string WriteRecording(const JobShape& shape, const std::string& folder) {
  const std::string path = folder + "/run.weirlog";
  for (int rank = 0; rank < shape.ranks; ++rank) {
    MadeRank made(shape, rank, 0, {.detail_bytes = RunLog::DetailBytes(shape.ranks)});
    const OutputFile file(RankPath(path, rank), O_TRUNC);
    for (std::int64_t step = 0; step < shape.steps; ++step) {
      made.AddStep(step, true);
      for (const LogBlock& block : made.Take(step, step + 1 == shape.steps))
        file.Write(block.bytes);
    }
  }
  return path;
}

}  // namespace weir::bench
