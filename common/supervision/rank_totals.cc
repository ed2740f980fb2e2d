#include "common/supervision/rank_totals.h"

#include <nlohmann/json.hpp>
#include <type_traits>

#include "common/text/whole_number.h"
#include "weir/error.h"

namespace weir {
namespace {

/// Calls visit(name, member) for each number: one list serves writing, reading and adding.
template <typename Visit>
void ForEachNumber(const Visit& visit) {
  visit("duration_ns", &RankTotals::duration_ns);
  visit("communication_ns", &RankTotals::communication_ns);
  visit("compression_ns", &RankTotals::compression_ns);
  visit("exchange_ns", &RankTotals::exchange_ns);
  visit("payload_bytes", &RankTotals::payload_bytes);
  visit("dense_bytes", &RankTotals::dense_bytes);
  visit("sent_bytes", &RankTotals::sent_bytes);
  visit("samples", &RankTotals::samples);
  visit("lost_records", &RankTotals::lost_records);
  visit("stalled_tensors", &RankTotals::stalled_tensors);
}

}  // namespace

void RankTotals::Merge(const RankTotals& later) {
  durations.Merge(later.durations);
  ForEachNumber([&](const char*, auto number) { this->*number += later.*number; });
  stalled.insert(stalled.end(), later.stalled.begin(), later.stalled.end());
  divergences.insert(divergences.end(), later.divergences.begin(), later.divergences.end());
  for (const FormChoice& choice : later.choices) {
    std::erase_if(choices, [&](const FormChoice& old) { return old.group == choice.group; });
    choices.push_back(choice);
  }
}

std::string ToText(const RankTotals& totals) {
  nlohmann::json json;
  ForEachNumber([&](const char* name, auto number) { json[name] = totals.*number; });
  auto& classes = json["durations"] = nlohmann::json::array();
  for (const auto& [number, count] : totals.durations.classes()) {
    classes.push_back({number, count});
  }
  json["stalled"] = totals.stalled;
  json["divergences"] = totals.divergences;
  auto& choices = json["choices"] = nlohmann::json::array();
  for (const FormChoice& one : totals.choices) {
    choices.push_back({one.group, one.forms, one.step_ns, one.dense_step_ns, one.dense_was_tried});
  }
  // A name need not be UTF-8; invalid bytes are replaced.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

RankTotals ParseRankTotals(std::string_view text) {
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    RankTotals totals;
    ForEachNumber([&](const char* name, auto number) {
      totals.*number = WholeNumber<std::decay_t<decltype(totals.*number)>>(json.at(name));
    });
    for (const auto& entry : json.at("durations")) {
      totals.durations.AddToClass(WholeNumber<int>(entry.at(0)),
                                  WholeNumber<std::uint64_t>(entry.at(1)));
    }
    json.at("stalled").get_to(totals.stalled);
    json.at("divergences").get_to(totals.divergences);
    for (const auto& entry : json.at("choices")) {
      totals.choices.push_back({.group = entry.at(0).get<std::string>(),
                                .forms = entry.at(1).get<std::string>(),
                                .step_ns = WholeNumber<std::int64_t>(entry.at(2)),
                                .dense_step_ns = WholeNumber<std::int64_t>(entry.at(3)),
                                .dense_was_tried = entry.at(4).get<bool>()});
    }
    return totals;
  } catch (const std::exception& error) {
    throw Corrupt(std::string("a rank's totals: ") + error.what(),
                  {.tensor = {}, .ranks = {}, .phase = "supervise"});
  }
}

}  // namespace weir
