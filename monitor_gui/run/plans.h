#pragma once

#include <QString>
#include <cstdint>
#include <optional>
#include <vector>

#include "monitor_gui/log/block.h"

namespace weir::monitor {

class Run;
struct Moment;

/// How a group's buckets travel from a step on, and why, as the rank that plans has said. Seconds
/// and bytes.
struct GroupPlan {
  /// Who decided it.
  enum class By : std::uint8_t { kOptions, kFile, kMeasurement };

  /// A form that a bucket may take.
  struct Work {
    QString form;
    std::optional<double> seconds{};  ///< Encoding and decoding; nothing: not seen in it yet.
  };
  struct Bucket {
    QString name;
    QString form;
    std::vector<Work> work{};

    /// Returns the work in a form; nothing if that is not allowed or was not seen.
    std::optional<double> WorkIn(const QString& other_form) const;
    /// Says in a few words why it has its form.
    QString Why(const GroupPlan& plan) const;
  };
  /// A plan that was considered.
  struct Considered {
    QString what;
    bool chosen = false;
    std::optional<double> bytes_seconds{};
    std::optional<double> predicted_seconds{};
    std::optional<double> measured_seconds{};  ///< Nothing: it was not tried.
    QString not_tried{};                       ///< Why, as the run log has it.
    int steps = 0;
  };

  std::int64_t time_ns = 0;
  QString group{};
  std::int64_t from_step = 0;
  By by = By::kOptions;
  bool settled = true;  ///< False: it is only tried.
  QString what{};
  QString why{};
  std::optional<double> network_bytes_per_second{};
  std::vector<Considered> considered{};
  std::vector<Bucket> buckets{};

  /// Returns a bucket by the name that records have of it; nullptr: it is not in this group.
  const Bucket* Find(const QString& recorded_name) const;
  /// Says for people what holds, and why.
  QString Sentence() const;
  /// Says what became of a plan that was considered.
  QString OutcomeOf(const Considered& one) const;
};

/// Parses a block of kind "plans". `epoch_ns` as in RankRun.
GroupPlan ParsePlan(const Block& block, std::int64_t epoch_ns);

/// Returns the plan that holds at a moment, of each group in the order in which they appeared.
std::vector<const GroupPlan*> PlansAt(const Run& run, const Moment& at);
/// Returns the newest plan of the group, until the given one, that a search has settled; nullptr:
/// none has.
const GroupPlan* LastSearch(const Run& run, const GroupPlan& until);

/// A change of a group's plan.
struct PlanChange {
  std::int64_t step = 0;
  QString group;
  QString what;         ///< "tries dense", "keeps dgc", "dgc → dense".
  bool is_form = true;  ///< Buckets travel otherwise from this step on.
  bool settled = true;
};
/// Returns the changes of a run, of all its groups, by step.
std::vector<PlanChange> PlanChangesOf(const Run& run);

}  // namespace weir::monitor
