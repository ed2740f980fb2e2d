#include "common/rank_totals.h"

#include <nlohmann/json.hpp>

#include "weir/error.h"

namespace weir {
namespace {

/// One list of the numbers serves writing and reading.
template <typename Totals, typename Visit>
void ForEachNumber(Totals& totals, const Visit& visit) {
  visit("duration_ns", totals.duration_ns);
  visit("communication_ns", totals.communication_ns);
  visit("compression_ns", totals.compression_ns);
  visit("exchange_ns", totals.exchange_ns);
  visit("payload_bytes", totals.payload_bytes);
  visit("dense_bytes", totals.dense_bytes);
  visit("sent_bytes", totals.sent_bytes);
  visit("lost_records", totals.lost_records);
  visit("stalled_tensors", totals.stalled_tensors);
}

}  // namespace

void RankTotals::Merge(const RankTotals& later) {
  durations.Merge(later.durations);
  duration_ns += later.duration_ns;
  communication_ns += later.communication_ns;
  compression_ns += later.compression_ns;
  exchange_ns += later.exchange_ns;
  payload_bytes += later.payload_bytes;
  dense_bytes += later.dense_bytes;
  sent_bytes += later.sent_bytes;
  lost_records += later.lost_records;
  stalled_tensors += later.stalled_tensors;
  stalled.insert(stalled.end(), later.stalled.begin(), later.stalled.end());
}

std::string ToText(const RankTotals& totals) {
  nlohmann::json json;
  ForEachNumber(totals, [&](const char* name, const auto& number) { json[name] = number; });
  auto& classes = json["durations"] = nlohmann::json::array();
  for (const auto& [number, count] : totals.durations.classes()) {
    classes.push_back({number, count});
  }
  json["stalled"] = totals.stalled;
  // A name need not be UTF-8; what is not is shown replaced.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

RankTotals ParseRankTotals(std::string_view text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    RankTotals totals;
    ForEachNumber(totals, [&](const char* name, auto& number) { json.at(name).get_to(number); });
    for (const auto& entry : json.at("durations")) {
      totals.durations.AddToClass(entry.at(0).get<int>(), entry.at(1).get<std::uint64_t>());
    }
    json.at("stalled").get_to(totals.stalled);
    return totals;
  } catch (const std::exception& error) {
    throw Corrupt(std::string("a rank's totals: ") + error.what(),
                  {.tensor = {}, .ranks = {}, .phase = "supervise"});
  }
}

}  // namespace weir
