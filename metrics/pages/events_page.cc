#include "metrics/pages/events_page.h"

#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "metrics/files/json_text.h"
#include "metrics/http/follow_query.h"

namespace weir {
namespace {

using nlohmann::ordered_json;

ordered_json Describe(const StageRecord& record, const BucketNames& names) {
  ordered_json line = {{"stage", Name(record.stage)},
                       {"step", record.step},
                       {"start_ns", record.start_ns},
                       {"end_ns", record.end_ns}};
  const bool of_rank = record.stage == Stage::kStep || record.stage == Stage::kRound;
  if (!of_rank) {
    const BucketInfo& info = names.Find(record.bucket);
    line["name"] = info.name;
    line["group"] = info.group;
    line["compressor"] = info.compressor;
    if (record.route < info.routes.size()) {
      line["op"] = info.routes[record.route].op;
      line["route"] = info.routes[record.route].route;
    }
  }
  line["bytes_in"] = record.bytes_in;
  line["bytes_out"] = record.bytes_out;
  line["density"] = record.density;
  line["threshold"] = record.threshold;
  line["ok"] = record.ok;
  return line;
}

}  // namespace

std::string EventsPage::Answer(std::string_view query) {
  const FollowQuery asked = ParseFollowQuery(query, job_, recorder_.added());
  poll_.Wait(asked.wait, [&] { return recorder_.added() > asked.after; });

  std::vector<StageRecord> records(kMostRecords);
  const auto read = recorder_.Read(asked.after, records);
  std::string text = JsonText({{"next", read.next}, {"lost", read.lost}}) + "\n";
  for (const StageRecord& record : std::span(records).first(read.count)) {
    text += JsonText(Describe(record, names_)) + "\n";
  }
  return text;
}

}  // namespace weir
