#include "coordinator/rank/rank_status.h"

#include <exception>
#include <iterator>
#include <nlohmann/json.hpp>

#include "common/text/whole_number.h"

namespace weir {

void RankStatus::AddWaiting(const Tensor& tensor, double seconds) {
  waiting_seconds[tensor] = seconds;
  if (waiting_seconds.size() > kMostTensors)
    waiting_seconds.erase(std::prev(waiting_seconds.end()));
}

bool RankStatus::MayHave(const Tensor& tensor) const {
  return waiting_seconds.contains(tensor) || joined.contains(tensor.first) ||
         (waiting_seconds.size() >= kMostTensors && tensor > waiting_seconds.rbegin()->first);
}

std::string TextOf(const RankStatus& status) {
  auto waiting = nlohmann::json::array();
  for (const auto& [tensor, seconds] : status.waiting_seconds) {
    waiting.push_back({tensor.first, tensor.second, seconds});
  }
  nlohmann::json json = {
      {"waiting", waiting}, {"last_finished", status.last_finished}, {"joined", status.joined}};
  if (!status.is_answer) json["is_answer"] = false;
  // A name need not be UTF-8; what is not is shown replaced.
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

RankStatus ParseRankStatus(const std::string& text, std::string& trouble) {
  RankStatus status;
  try {
    const nlohmann::json json = nlohmann::json::parse(text);
    for (const auto& one : json.at("waiting")) {
      status.waiting_seconds[{WholeNumber<int>(one.at(0)), one.at(1).get<std::string>()}] =
          one.at(2).get<double>();
    }
    status.last_finished = json.value("last_finished", "");
    for (const auto& set : json.value("joined", nlohmann::json::array())) {
      status.joined.insert(WholeNumber<int>(set));
    }
    status.is_answer = json.value("is_answer", true);
  } catch (const std::exception& error) {
    trouble = error.what();
  }
  return status;
}

}  // namespace weir
