#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/supervision/rank_totals.h"

namespace weir {

/// How a group's buckets travel from a step on, and why. A plain value; seconds and bytes.
struct PlanExplanation {
  /// Who decided it.
  enum class By : std::uint8_t { kOptions, kFile, kMeasurement };

  /// A form that a bucket may take.
  struct Work {
    std::string form;                 ///< "dense", "fp16", or its compressor.
    std::optional<double> seconds{};  ///< Encoding and decoding; empty: not seen in it yet.
  };
  struct Bucket {
    std::string name;
    std::string form;
    std::vector<Work> work{};  ///< By allowed form; empty where there is nothing to choose.
  };
  /// Why a plan was not tried: its bytes alone would take too long; its steps would, by what an
  /// earlier search has seen; enough others were tried.
  enum class WhyNot : std::uint8_t { kBytes, kSeenBefore, kEnoughTried };
  /// A plan that was considered.
  struct Considered {
    std::string what;
    bool chosen = false;
    std::optional<double> bytes_seconds{};      ///< Of its bytes on the measured network.
    std::optional<double> predicted_seconds{};  ///< Of a step, from what its parts take.
    std::optional<double> measured_seconds{};   ///< Median of its steps; empty: not tried.
    std::optional<WhyNot> not_tried{};          ///< Set if it was not.
    std::size_t steps = 0;                      ///< So many were measured.
  };

  std::string group{};
  std::int64_t time_ns = 0;  ///< NowNs() when it was decided.
  std::int64_t from_step = 0;
  By by = By::kOptions;
  bool settled = true;                                  ///< False: it is only tried.
  std::string what{};                                   ///< "dense (5 buckets), dgc (3)".
  std::string why{};                                    ///< A sentence for people.
  std::optional<double> network_bytes_per_second{};     ///< As measured, of one rank's messages.
  std::optional<double> network_seconds_per_message{};  ///< Of the smallest all-reduce.
  /// How much compression and the backward pass slow each other down (0: not at all; 1: they take
  /// turns), from steps of two plans; empty where those could not tell.
  std::optional<double> kappa{};
  std::vector<Considered> considered{};  ///< Empty: nothing was measured.
  std::vector<Bucket> buckets{};
};

/// Writes an explanation in lines for people (/plan): the sentence, the plans considered, the
/// buckets.
std::string PlanText(const PlanExplanation& plan);
/// Writes it as JSON, for the run log (docs/reference/run-log.md).
std::string PlanBlock(const PlanExplanation& plan);

/// The plans that this rank has made. Thread-safe.
class PlanNotes {
 public:
  static constexpr std::size_t kMost = 256;  ///< Older ones are dropped.
  static constexpr std::size_t kMostChoices = 8;

  void Note(PlanExplanation plan);
  /// Drops what the text says of a group, which is gone.
  void Forget(const std::string& group);
  /// Returns what holds in each group, one after the other. What is only tried is not in it.
  std::string Text() const;
  /// Returns what was chosen last in each group by measurement, also of groups that are gone.
  std::vector<FormChoice> Choices() const;
  /// Returns the kept ones behind the first `number`, which becomes their number.
  std::vector<std::shared_ptr<const PlanExplanation>> After(std::uint64_t& number) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::string> texts_;   ///< By group.
  std::map<std::string, FormChoice> choices_;  ///< By group; those that come first.
  std::deque<std::shared_ptr<const PlanExplanation>> newest_;
  std::uint64_t count_ = 0;
};

}  // namespace weir
