#include "metrics/run_log/log_blocks.h"

#include <algorithm>
#include <utility>

#include "metrics/files/json_text.h"

namespace weir {
namespace {

nlohmann::ordered_json Describe(const BucketNames& names, std::uint32_t bucket) {
  const BucketInfo& info = names.Find(bucket);
  nlohmann::ordered_json routes = nlohmann::ordered_json::array();
  for (const RouteInfo& route : info.routes) {
    routes.push_back({{"op", route.op}, {"route", route.route}});
  }
  nlohmann::ordered_json description = {{"bucket", bucket},
                                        {"name", info.name},
                                        {"group", info.group},
                                        {"compressor", info.compressor},
                                        {"routes", std::move(routes)}};
  if (info.elements > 0) {
    description["elements"] = info.elements;
    description["shape"] = info.shape;
  }
  return description;
}

}  // namespace

LogBlocks::LogBlocks(const RunInfo& info, const BucketNames& names, const std::string& run_page,
                     const Options& options)
    : rank_(info.rank), names_(names), options_(options), run_page_(run_page) {}

void LogBlocks::Add(const StageRecord& record) {
  const bool of_rank = record.stage == Stage::kStep || record.stage == Stage::kRound;
  if (of_rank || !IsDetailed(record.step)) return;
  seen_ = std::max(seen_, record.bucket + 1);
  if (record.stage == Stage::kResidual) {
    residuals_[record.bucket] = record.density;
  } else if (record.stage == Stage::kGradient) {
    const auto measured = residuals_.extract(record.bucket);
    gradients_.push_back({record, measured.empty() ? -1.0f : measured.mapped()});
  } else {
    stages_.push_back(record);
  }
}

void LogBlocks::AddEnd(std::int64_t time_ns, const std::string& failure) {
  end_ = JsonText({{"time_ns", time_ns}, {"failure", failure}});
}

std::vector<LogBlock> LogBlocks::Take(std::int64_t now_ns, bool everything) {
  if (!run_page_.empty()) {
    Emit(LogBlock::Level::kLasting, Begin("run").Text(std::exchange(run_page_, {})));
  }
  if (everything || now_ns - taken_ns_ >= options_.pause_ns) {
    taken_ns_ = now_ns;
    EmitNames();
    EmitStages();
    EmitGradients();
    EmitSteps();
    EmitSamples();
    EmitStalls();
    EmitPlans();
    EmitEnd();
    ThinOut();
  }
  return std::exchange(made_, {});
}

RunLogBlock LogBlocks::Begin(const char* kind) {
  RunLogBlock block(kind, rank_);
  block.Note("number", last_number_ + 1);
  return block;
}

void LogBlocks::Emit(LogBlock::Level level, const RunLogBlock& block) {
  made_.push_back({.level = level, .number = ++last_number_, .bytes = block.Bytes()});
  if (level == LogBlock::Level::kDetail) detail_bytes_ += made_.back().bytes.size();
}

void LogBlocks::EmitNames() {
  if (named_ == seen_) return;
  nlohmann::ordered_json buckets = nlohmann::ordered_json::array();
  for (; named_ < seen_; ++named_) buckets.push_back(Describe(names_, named_));
  Emit(LogBlock::Level::kLasting, Begin("names").Text(JsonText(buckets)));
}

void LogBlocks::EmitStages() {
  if (stages_.empty() && lost_ == 0) return;
  using R = StageRecord;
  Emit(LogBlock::Level::kDetail,
       Begin("stages")
           .Note("every", detail_every_)
           .Note("lost", std::exchange(lost_, 0))
           .Column("step", stages_, [](const R& r) { return r.step; })
           .Column("start_ns", stages_, [](const R& r) { return r.start_ns; })
           .Column("end_ns", stages_, [](const R& r) { return r.end_ns; })
           .Column("bytes_in", stages_, [](const R& r) { return r.bytes_in; })
           .Column("bytes_out", stages_, [](const R& r) { return r.bytes_out; })
           .Column("bucket", stages_, [](const R& r) { return r.bucket; })
           .Column("density", stages_, [](const R& r) { return r.density; })
           .Column("threshold", stages_, [](const R& r) { return r.threshold; })
           .Column("stage", stages_, [](const R& r) { return static_cast<std::uint8_t>(r.stage); })
           .Column("route", stages_, [](const R& r) { return r.route; })
           .Column("ok", stages_, [](const R& r) { return std::uint8_t{r.ok}; }));
  stages_.clear();
}

void LogBlocks::EmitGradients() {
  if (gradients_.empty()) return;
  using G = Gradient;
  Emit(LogBlock::Level::kDetail,
       Begin("gradients")
           .Note("every", detail_every_)
           .Column("step", gradients_, [](const G& g) { return g.record.step; })
           .Column("start_ns", gradients_, [](const G& g) { return g.record.start_ns; })
           .Column("end_ns", gradients_, [](const G& g) { return g.record.end_ns; })
           .Column("payload_bytes", gradients_, [](const G& g) { return g.record.bytes_out; })
           .Column("gradient", gradients_, [](const G& g) { return g.record.bucket; })
           .Column("density", gradients_, [](const G& g) { return g.record.density; })
           .Column("threshold", gradients_, [](const G& g) { return g.record.threshold; })
           .Column("residual_ratio", gradients_, [](const G& g) { return g.residual_ratio; }));
  gradients_.clear();
}

void LogBlocks::EmitSteps() {
  if (steps_.empty()) return;
  using S = StepSummary;
  Emit(LogBlock::Level::kOverview,
       Begin("steps")
           .Column("step", steps_, [](const S& s) { return s.step; })
           .Column("start_ns", steps_, [](const S& s) { return s.start_ns; })
           .Column("begin_ns", steps_, [](const S& s) { return s.begin_ns; })
           .Column("end_ns", steps_, [](const S& s) { return s.end_ns; })
           .Column("exposed_communication_ns", steps_,
                   [](const S& s) { return s.exposed.communication_ns; })
           .Column("exposed_compression_ns", steps_,
                   [](const S& s) { return s.exposed.compression_ns; })
           .Column("payload_bytes", steps_, [](const S& s) { return s.payload_bytes; })
           .Column("dense_bytes", steps_, [](const S& s) { return s.dense_bytes; })
           .Column("target_density", steps_, [](const S& s) { return s.target_density; }));
  steps_.clear();
}

void LogBlocks::EmitSamples() {
  if (samples_.empty()) return;
  using S = EngineSample;
  RunLogBlock block = Begin("state");
  block.Column("time_ns", samples_, [](const S& s) { return s.time_ns; })
      .Column("sent_bytes", samples_, [](const S& s) { return s.sent_bytes; })
      .Column("received_bytes", samples_, [](const S& s) { return s.received_bytes; })
      .Column("negotiation_bytes", samples_, [](const S& s) { return s.negotiation_bytes; })
      .Column("fast_rounds", samples_, [](const S& s) { return s.fast_rounds; })
      .Column("slow_rounds", samples_, [](const S& s) { return s.slow_rounds; })
      .Column("stalled_tensors", samples_, [](const S& s) { return s.stalled_tensors; });
  for (int stage = 0; stage < kBucketStageCount; ++stage) {
    block.Column((std::string("waiting_for_") + Name(static_cast<Stage>(stage))).c_str(), samples_,
                 [stage](const S& s) { return s.queue_depth[static_cast<std::size_t>(stage)]; });
  }
  Emit(LogBlock::Level::kOverview, block);
  samples_.clear();
}

void LogBlocks::EmitStalls() {
  for (const std::string& page : stalls_)
    Emit(LogBlock::Level::kChange, Begin("stalls").Text(page));
  stalls_.clear();
}

void LogBlocks::EmitPlans() {
  for (const std::string& plan : plans_) Emit(LogBlock::Level::kChange, Begin("plans").Text(plan));
  plans_.clear();
}

void LogBlocks::EmitEnd() {
  if (end_.empty()) return;
  Emit(LogBlock::Level::kLasting, Begin("end").Text(std::exchange(end_, {})));
}

void LogBlocks::ThinOut() {
  if (options_.detail_bytes == 0 || detail_bytes_ <= options_.detail_bytes) return;
  detail_every_ *= 2;
  detail_bytes_ = 0;
}

}  // namespace weir
