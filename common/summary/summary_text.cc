#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "common/summary/summary.h"
#include "common/text/seconds_text.h"

// Texts of a summary, for people and for programs.

namespace weir {
namespace {

using Json = nlohmann::ordered_json;

std::string Bytes(std::uint64_t bytes) {
  const auto value = static_cast<double>(bytes);
  for (const auto& [factor, unit] :
       {std::pair(1e12, "TB"), {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}}) {
    if (value >= factor) return fmt::format("{:.3g} {}", value / factor, unit);
  }
  return fmt::format("{} B", bytes);
}

std::string SentLine(const Summary& summary) {
  std::string sent = "sent " + Bytes(summary.sent_bytes) + " for gradients";
  if (summary.sent_bytes == 0) return sent;
  const double ratio =
      static_cast<double>(summary.dense_bytes) / static_cast<double>(summary.sent_bytes);
  return fmt::format("{}, where dense all-reduce would have sent {}: {:.3g} times as much", sent,
                     Bytes(summary.dense_bytes), ratio);
}

double SecondsOf(std::int64_t ns) { return static_cast<double>(ns) * 1e-9; }

/// Says what compression gained over dense steps, as measured by compression=auto.
std::string ChoiceLine(const FormChoice& choice) {
  const double seconds = SecondsOf(choice.step_ns), dense = SecondsOf(choice.dense_step_ns);
  std::string line = fmt::format("auto: '{}' travels as {}, {} a step", choice.group, choice.forms,
                                 SecondsText(seconds));
  if (choice.forms == "dense") return line + ": compression gained nothing";
  if (choice.dense_step_ns == 0) return line;
  if (!choice.dense_was_tried) {
    return line + ", where the bytes of dense alone would take " + SecondsText(dense);
  }
  return line +
         fmt::format(", where dense took {}, {:.3g} times as long (medians of the steps tried)",
                     SecondsText(dense), dense / seconds);
}

Json OfChoice(const FormChoice& choice) {
  Json json = {{"group", choice.group},
               {"forms", choice.forms},
               {"step_seconds", SecondsOf(choice.step_ns)}};
  if (choice.dense_step_ns != 0) {
    json["dense_step_seconds"] = SecondsOf(choice.dense_step_ns);
    json["dense_was_tried"] = choice.dense_was_tried;
  }
  return json;
}

Json StepSeconds(const RankFigures& rank) {
  const DurationHistogram& durations = rank.totals.durations;
  return {{"mean", rank.step_seconds()},
          {"median", durations.QuantileSeconds(0.5)},
          {"p95", durations.QuantileSeconds(0.95)}};
}

Json OfRank(const RankFigures& rank) {
  const RankTotals& totals = rank.totals;
  return {{"rank", rank.rank},
          {"host", rank.host},
          {"steps", totals.steps()},
          {"step_seconds", StepSeconds(rank)},
          {"own_seconds", rank.own_seconds()},
          {"exposed_communication_ratio", rank.exposed_communication_ratio()},
          {"exposed_compression_ratio", rank.exposed_compression_ratio()},
          {"sent_bytes", totals.sent_bytes},
          {"payload_bytes", totals.payload_bytes},
          {"uncompressed_bytes", totals.dense_bytes},
          {"stalled_tensors", totals.stalled_tensors},
          {"lost_records", totals.lost_records}};
}

}  // namespace

std::vector<std::string> SummaryLines(const Summary& summary) {
  const RankFigures& pace = summary.pace();
  const DurationHistogram& durations = pace.totals.durations;
  std::vector<std::string> lines;
  lines.push_back(fmt::format(
      "{} steps: {} each (median; mean {}), {} at most in 95 %; exposed communication {:.1f} %, "
      "exposed compression {:.1f} % of the mean step",
      summary.steps, SecondsText(durations.QuantileSeconds(0.5)), SecondsText(pace.step_seconds()),
      SecondsText(durations.QuantileSeconds(0.95)), 100 * pace.exposed_communication_ratio(),
      100 * pace.exposed_compression_ratio()));
  if (summary.samples_per_second) {
    const double samples = *summary.samples_per_second;
    lines.back() += samples < 100 ? fmt::format("; {:.3g} samples/s", samples)
                                  : fmt::format("; {:.0f} samples/s", samples);
  }
  if (summary.job_ranks > 1) {
    lines.push_back(SentLine(summary));
    lines.push_back(
        fmt::format("slowest: {}, {} of own work in a step, {:.1f} % more than the median rank",
                    pace.name, SecondsText(pace.own_seconds()), 100 * summary.slowest_excess));
  }
  for (const RankFigures& rank : summary.ranks) {
    for (const FormChoice& choice : rank.totals.choices) lines.push_back(ChoiceLine(choice));
  }
  for (const Summary::Warning& warning : summary.warnings) {
    lines.push_back("unusual: " + warning.text);
  }
  for (std::string& line : lines) line += '\n';
  return lines;
}

std::string SummaryJson(const Summary& summary, int exit_code) {
  const RankFigures& pace = summary.pace();
  Json json = {{"version", 1},
               {"exit_code", exit_code},
               {"ranks", summary.job_ranks},
               {"steps", summary.steps},
               {"step_seconds", StepSeconds(pace)},
               {"exposed_communication_ratio", pace.exposed_communication_ratio()},
               {"exposed_compression_ratio", pace.exposed_compression_ratio()},
               {"sent_bytes", summary.sent_bytes},
               {"dense_allreduce_bytes", summary.dense_bytes},
               {"turned_away_connections", summary.turned_away},
               {"slowest_rank",
                {{"rank", pace.rank},
                 {"host", pace.host},
                 {"own_seconds", pace.own_seconds()},
                 {"excess_ratio", summary.slowest_excess}}}};
  if (summary.samples_per_second) json["samples_per_second"] = *summary.samples_per_second;
  for (const RankFigures& rank : summary.ranks) {
    for (const FormChoice& choice : rank.totals.choices)
      json["choices"].push_back(OfChoice(choice));
  }
  Json& warnings = json["warnings"] = Json::array();
  for (const Summary::Warning& warning : summary.warnings) {
    warnings.push_back({{"kind", warning.kind}, {"text", warning.text}});
  }
  Json& ranks = json["by_rank"] = Json::array();
  for (const RankFigures& rank : summary.ranks) ranks.push_back(OfRank(rank));
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace weir
