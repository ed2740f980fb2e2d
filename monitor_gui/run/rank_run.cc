#include "monitor_gui/run/rank_run.h"

#include <QJsonArray>
#include <algorithm>
#include <cmath>

namespace weir::monitor {
namespace {

/// Returns a column's value, or `otherwise` where the block has no such column.
template <typename T>
T At(std::span<const T> column, std::size_t row, T otherwise = {}) {
  return row < column.size() ? column[row] : otherwise;
}

}  // namespace

QString Name(Stage stage) {
  constexpr std::array<const char*, kStages> kNames = {"queue",    "negotiate", "pack",  "compress",
                                                       "exchange", "merge",     "unpack"};
  return QString::fromLatin1(kNames[static_cast<std::size_t>(stage)]);
}

void StepRow::Join(const StepRow& later) {
  const double part = static_cast<double>(later.count) / (count + later.count);
  const auto mean = [part](double mine, double other) { return mine + part * (other - mine); };
  const auto bytes = [&](std::uint64_t mine, std::uint64_t other) {
    return static_cast<std::uint64_t>(
        std::llround(mean(static_cast<double>(mine), static_cast<double>(other))));
  };
  end_ns = later.end_ns;
  exposed_communication_ns += later.exposed_communication_ns;
  exposed_compression_ns += later.exposed_compression_ns;
  payload_bytes = bytes(payload_bytes, later.payload_bytes);
  dense_bytes = bytes(dense_bytes, later.dense_bytes);
  target_density = static_cast<float>(
      mean(static_cast<double>(target_density), static_cast<double>(later.target_density)));
  count += later.count;
}

MeanTimes MeanTimesOf(std::span<const StepRow> rows) {
  MeanTimes sums;
  double count = 0;
  for (const StepRow& row : rows) {
    sums.step += static_cast<double>(row.duration_ns());
    sums.communication += static_cast<double>(row.exposed_communication_ns);
    sums.compression += static_cast<double>(row.exposed_compression_ns);
    count += row.count;
  }
  const double scale = count > 0 ? 1e-9 / count : 0;
  return {.step = scale * sums.step,
          .communication = scale * sums.communication,
          .compression = scale * sums.compression};
}

void StateRow::Join(const StateRow& later) {
  StateRow both = later;
  for (std::size_t s = 0; s < kStages; ++s)
    both.waiting[s] = std::max(waiting[s], later.waiting[s]);
  both.count += count;
  *this = both;
}

void RankRun::Add(const Block& block) {
  const QString& kind = block.kind();
  if (kind == "run") SetRun(block);
  if (kind == "names") AddNames(block);
  if (kind == "steps") AddSteps(block);
  if (kind == "stages") AddStages(block);
  if (kind == "state") AddStates(block);
  if (kind == "stalls") AddStalls(block);
  if (kind == "plans") AddPlan(block);
  if (kind == "end") SetEnd(block);
  if (kind == "gap") lost_blocks_ += static_cast<std::uint64_t>(block.head().blocks);
}

QString RankRun::setting(const char* variable) const {
  return run_["settings"][QLatin1String(variable)]["value"].toString();
}

const NameInfo& RankRun::NameOf(std::uint32_t number) const {
  static const NameInfo kUnknown{.name = "?", .group = {}, .compressor = {}, .routes = {}};
  const auto found = names_.find(number);
  return found == names_.end() ? kUnknown : found->second;
}

std::span<const StepRow> RankRun::StepsUntil(std::int64_t step, std::size_t most) const {
  const auto behind = std::ranges::upper_bound(steps(), step, {}, &StepRow::step);
  const auto until = std::span(steps()).first(static_cast<std::size_t>(behind - steps().begin()));
  return until.last(std::min(until.size(), most));
}

std::ptrdiff_t RankRun::StagesUntil(std::int64_t time_ns) const {
  return std::ranges::upper_bound(stages_, time_ns, {}, &StageRow::end_ns) - stages_.begin();
}

std::span<const StateRow> RankRun::StatesUntil(std::int64_t time_ns) const {
  const auto behind = std::ranges::upper_bound(states(), time_ns, {}, &StateRow::time_ns);
  return std::span(states()).first(static_cast<std::size_t>(behind - states().begin()));
}

std::size_t RankRun::most_stages() const {
  constexpr std::size_t kOfRun = 2'000'000;
  constexpr std::size_t kLeast = 32'768;
  constexpr std::size_t kMost = 400'000;
  return std::clamp(kOfRun / static_cast<std::size_t>(std::max(size_, 1)), kLeast, kMost);
}

void RankRun::SetRun(const Block& block) {
  *this = RankRun();  // A run that began anew, or the first one.
  run_ = block.json().object();
  size_ = run_["size"].toInt();
  epoch_ns_ = run_["unix_time_at_0_ns"].toInteger();
}

void RankRun::AddNames(const Block& block) {
  const QJsonArray entries = block.json().array();
  for (const auto& value : entries) {
    const QJsonObject entry = value.toObject();
    NameInfo& info = names_[static_cast<std::uint32_t>(entry["bucket"].toInteger())];
    info = {.name = entry["name"].toString(),
            .group = entry["group"].toString(),
            .compressor = entry["compressor"].toString(),
            .routes = {},
            .elements = static_cast<std::uint64_t>(entry["elements"].toInteger())};
    const QJsonArray routes = entry["routes"].toArray();
    for (const auto& route : routes) {
      info.routes.emplace_back(route.toObject()["op"].toString(),
                               route.toObject()["route"].toString());
    }
  }
}

void RankRun::AddSteps(const Block& block) {
  const auto step = block.Column<std::int64_t>("step");
  const auto start = block.Column<std::int64_t>("start_ns");
  const auto begin = block.Column<std::int64_t>("begin_ns");
  const auto end = block.Column<std::int64_t>("end_ns");
  const auto communication = block.Column<std::int64_t>("exposed_communication_ns");
  const auto compression = block.Column<std::int64_t>("exposed_compression_ns");
  const auto payload = block.Column<std::uint64_t>("payload_bytes");
  const auto dense = block.Column<std::uint64_t>("dense_bytes");
  const auto density = block.Column<float>("target_density");
  for (std::size_t i = 0; i < step.size(); ++i) {
    steps_.Add({.step = step[i],
                .start_ns = At(start, i) + epoch_ns_,
                .begin_ns = At(begin, i, At(start, i)) + epoch_ns_,
                .end_ns = At(end, i) + epoch_ns_,
                .exposed_communication_ns = At(communication, i),
                .exposed_compression_ns = At(compression, i),
                .payload_bytes = At(payload, i),
                .dense_bytes = At(dense, i),
                .target_density = At(density, i, 1.0f)});
    See(steps().back().end_ns);
  }
}

void RankRun::AddStages(const Block& block) {
  lost_records_ += static_cast<std::uint64_t>(block.head().lost);
  const auto step = block.Column<std::int64_t>("step");
  const auto start = block.Column<std::int64_t>("start_ns");
  const auto end = block.Column<std::int64_t>("end_ns");
  const auto bytes_in = block.Column<std::uint64_t>("bytes_in");
  const auto bytes_out = block.Column<std::uint64_t>("bytes_out");
  const auto bucket = block.Column<std::uint32_t>("bucket");
  const auto stage = block.Column<std::uint8_t>("stage");
  const auto route = block.Column<std::uint8_t>("route");
  const auto ok = block.Column<std::uint8_t>("ok");
  for (std::size_t i = 0; i < stage.size(); ++i) {
    if (stage[i] >= kStages) continue;
    stages_.push_back({.step = At(step, i),
                       .start_ns = At(start, i) + epoch_ns_,
                       .end_ns = At(end, i) + epoch_ns_,
                       .bytes_in = At(bytes_in, i),
                       .bytes_out = At(bytes_out, i),
                       .bucket = At(bucket, i),
                       .stage = static_cast<Stage>(stage[i]),
                       .route = At(route, i),
                       .ok = At<std::uint8_t>(ok, i, 1) != 0});
    See(stages_.back().end_ns);
  }
  while (stages_.size() > most_stages()) stages_.pop_front();
}

void RankRun::AddStates(const Block& block) {
  const auto time = block.Column<std::int64_t>("time_ns");
  const auto sent = block.Column<std::uint64_t>("sent_bytes");
  const auto received = block.Column<std::uint64_t>("received_bytes");
  const auto stalled = block.Column<std::int64_t>("stalled_tensors");
  std::array<std::span<const std::int64_t>, kStages> waiting;
  for (int s = 0; s < kStages; ++s) {
    const QString column = "waiting_for_" + Name(static_cast<Stage>(s));
    waiting[static_cast<std::size_t>(s)] =
        block.Column<std::int64_t>(column.toLatin1().constData());
  }
  for (std::size_t i = 0; i < time.size(); ++i) {
    StateRow row{.time_ns = time[i] + epoch_ns_,
                 .sent_bytes = At(sent, i),
                 .received_bytes = At(received, i),
                 .stalled_tensors = At(stalled, i)};
    for (std::size_t s = 0; s < kStages; ++s) row.waiting[s] = At(waiting[s], i);
    states_.Add(row);
    See(row.time_ns);
  }
}

void RankRun::AddStalls(const Block& block) {
  stalls_.push_back(ParseStalls(block, epoch_ns_));
  if (stalls_.size() > kMostStalls) stalls_.pop_front();
  See(stalls_.back().time_ns);
}

void RankRun::AddPlan(const Block& block) {
  plans_.push_back(ParsePlan(block, epoch_ns_));
  if (plans_.size() > kMostPlans) plans_.pop_front();
}

void RankRun::SetEnd(const Block& block) {
  const QJsonObject said = block.json().object();
  end_ = {.time_ns = said["time_ns"].toInteger() + epoch_ns_,
          .failure = said["failure"].toString()};
  See(end_->time_ns);
}

}  // namespace weir::monitor
