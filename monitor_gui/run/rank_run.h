#pragma once

#include <QJsonObject>
#include <QString>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "monitor_gui/log/block.h"
#include "monitor_gui/run/bounded_rows.h"
#include "monitor_gui/run/plans.h"
#include "monitor_gui/run/stalls.h"

namespace weir::monitor {

/// The stages of a bucket, as numbered in a run log.
enum class Stage : std::uint8_t {
  kQueue,
  kNegotiate,
  kPack,
  kCompress,
  kExchange,
  kMerge,
  kUnpack
};
inline constexpr int kStages = 7;
QString Name(Stage stage);

/// Meaning of a number in the records: a bucket, an operation, or a gradient.
struct NameInfo {
  QString name;
  QString group;
  QString compressor;
  std::vector<std::pair<QString, QString>> routes;  ///< Operation and route.
  std::uint64_t elements = 0;                       ///< 0: not a gradient.
};

/// One step, or several. Times are nanoseconds of the wall clock where the rank has told it
/// (RankRun::SetRun). An old row of a long run stands for several steps: it has the first one's
/// number, means of bytes and density, and sums of times.
struct StepRow {
  std::int64_t step = -1;
  std::int64_t start_ns = 0;  ///< End of the step before, if there was one.
  std::int64_t begin_ns = 0;  ///< BeginStep, with which backprop begins.
  std::int64_t end_ns = 0;
  std::int64_t exposed_communication_ns = 0;
  std::int64_t exposed_compression_ns = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t dense_bytes = 0;
  float target_density = 1.0f;
  std::uint32_t count = 1;

  std::int64_t duration_ns() const { return end_ns - start_ns; }
  void Join(const StepRow& later);
};

/// Means over steps, in seconds.
struct MeanTimes {
  double step = 0;
  double communication = 0;  ///< Exposed.
  double compression = 0;    ///< Exposed.

  /// Time without waits for other ranks: the rank with most of it sets the pace.
  double own() const { return step - communication; }
};
MeanTimes MeanTimesOf(std::span<const StepRow> rows);

struct StageRow {
  std::int64_t step = -1;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  std::uint32_t bucket = 0;
  Stage stage = Stage::kQueue;
  std::uint8_t route = 0;
  bool ok = true;
};
static_assert(sizeof(StageRow) == 48);  // There are millions.

struct StateRow {
  std::int64_t time_ns = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::int64_t stalled_tensors = 0;
  std::array<std::int64_t, kStages> waiting{};  ///< Buckets, by the stage they wait for.
  std::uint32_t count = 1;                      ///< An old row is the last of so many.

  /// Waiting buckets are the most of all rows.
  void Join(const StateRow& later);
};

/// The last message of a rank.
struct RankEnd {
  std::int64_t time_ns = 0;
  QString failure{};  ///< Empty: in good order.
};

/// One rank's known part of a run: its steps, old ones at a coarser level, and its
/// newest stages. Not thread-safe.
class RankRun {
 public:
  /// Most steps and states: old ones are joined.
  static constexpr std::size_t kMostSteps = 16'384;
  static constexpr std::size_t kMostStates = 8'192;
  static constexpr std::size_t kMostStalls = 4'096;  ///< Older ones are dropped.
  static constexpr std::size_t kMostPlans = 1'024;   ///< As well.

  void Add(const Block& block);

  QString host() const { return run_["host"].toString(); }
  /// Identifies its job; empty: not known.
  QString job() const { return run_["job"].toString(); }
  int size() const { return size_; }
  const QJsonObject& run() const { return run_; }
  /// A setting of the job, as text; empty: not known.
  QString setting(const char* variable) const;
  const NameInfo& NameOf(std::uint32_t number) const;
  const std::unordered_map<std::uint32_t, NameInfo>& names() const { return names_; }

  const std::vector<StepRow>& steps() const { return steps_.rows(); }
  /// Returns the last `most` steps up to a step, or all.
  std::span<const StepRow> StepsUntil(std::int64_t step, std::size_t most) const;
  const std::deque<StageRow>& stages() const { return stages_; }
  /// Most stages kept: older ones are dropped. The more ranks a run has, the fewer each.
  std::size_t most_stages() const;
  /// Number of stages that had ended by then.
  std::ptrdiff_t StagesUntil(std::int64_t time_ns) const;
  const std::vector<StateRow>& states() const { return states_.rows(); }
  std::span<const StateRow> StatesUntil(std::int64_t time_ns) const;
  /// One entry for each change; from rank 0 alone.
  const std::deque<Stalls>& stalls() const { return stalls_; }
  /// The plans that this rank has made, in order.
  const std::deque<GroupPlan>& plans() const { return plans_; }
  /// Nothing: it goes on, or could not report its end.
  const std::optional<RankEnd>& end() const { return end_; }
  /// Records that were overwritten before the rank's monitor had read them.
  std::uint64_t lost_records() const { return lost_records_; }
  /// Blocks that the rank dropped before they were asked for.
  std::uint64_t lost_blocks() const { return lost_blocks_; }
  /// End of the newest known event.
  std::int64_t newest_ns() const { return newest_ns_; }
  /// Time of the wall clock at 0 of the rank's own.
  std::int64_t epoch_ns() const { return epoch_ns_; }

 private:
  void SetRun(const Block& block);
  void AddNames(const Block& block);
  void AddSteps(const Block& block);
  void AddStages(const Block& block);
  void AddStates(const Block& block);
  void AddStalls(const Block& block);
  void AddPlan(const Block& block);
  void SetEnd(const Block& block);
  void See(std::int64_t time_ns) { newest_ns_ = std::max(newest_ns_, time_ns); }

  QJsonObject run_;
  int size_ = 0;
  std::int64_t epoch_ns_ = 0;
  std::unordered_map<std::uint32_t, NameInfo> names_;
  BoundedRows<StepRow> steps_{kMostSteps};
  std::deque<StageRow> stages_;
  BoundedRows<StateRow> states_{kMostStates};
  std::deque<Stalls> stalls_;
  std::deque<GroupPlan> plans_;
  std::optional<RankEnd> end_;
  std::uint64_t lost_records_ = 0;
  std::uint64_t lost_blocks_ = 0;
  std::int64_t newest_ns_ = 0;
};

}  // namespace weir::monitor
