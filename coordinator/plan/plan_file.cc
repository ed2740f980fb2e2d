#include "coordinator/plan/plan_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/log.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr char kFromStep[] = "from_step";
constexpr char kForms[] = "forms";
constexpr char kRanks[] = "ranks";  // Absent: any number.
constexpr char kSettled[] = "settled";

[[noreturn]] void Refuse(const std::string& path, const std::string& why) {
  throw InvalidArgument("the file of plans '" + path + "' (WEIR_PLAN_FILENAME) " + why);
}

}  // namespace

PlanFile::PlanFile(std::string path) : path_(std::move(path)) {
  if (path_.empty() || !std::filesystem::exists(path_)) return;
  std::ifstream file(path_);
  if (!file) Refuse(path_, "cannot be read");
  try {
    const auto json = nlohmann::json::parse(file);
    for (const auto& [group, plans] : json.items()) {
      std::int64_t before = -1;
      for (const auto& plan : plans) {
        PlannedForms& read = pinned_[group].emplace_back(
            PlannedForms{.from_step = plan.at(kFromStep).get<std::int64_t>(),
                         .forms = plan.at(kForms).get<std::string>(),
                         .ranks = plan.value(kRanks, 0),
                         .settled = plan.value(kSettled, true)});
        if (read.from_step <= before) Refuse(path_, "has steps of '" + group + "' out of order");
        before = read.from_step;
      }
    }
  } catch (const nlohmann::json::exception& error) {
    Refuse(path_, std::string("is none of plans: ") + error.what());
  }
  all_ = pinned_;
}

std::vector<PlannedForms> PlanFile::PinnedOf(const std::string& group, int ranks) const {
  const auto found = pinned_.find(group);
  if (found == pinned_.end() || found->second.empty()) return {};
  const bool for_as_many = std::ranges::all_of(found->second, [ranks](const PlannedForms& plan) {
    return plan.ranks == 0 || plan.ranks == ranks;
  });
  const bool holds = for_as_many && found->second.back().settled;
  return holds ? found->second : std::vector<PlannedForms>();
}

void PlanFile::Add(const std::string& group, const PlannedForms& plan) {
  if (empty()) return;
  const std::lock_guard lock(mutex_);
  std::vector<PlannedForms>& plans = all_[group];
  // A resumed training plans steps again, perhaps on another number of ranks.
  std::erase_if(plans, [&](const PlannedForms& old) {
    return old.from_step >= plan.from_step || old.ranks != plan.ranks;
  });
  plans.push_back(plan);
  Write();
}

void PlanFile::Write() const {
  auto json = nlohmann::ordered_json::object();
  for (const auto& [group, plans] : all_) {
    for (const PlannedForms& plan : plans) {
      json[group].push_back({{kFromStep, plan.from_step},
                             {kForms, plan.forms},
                             {kRanks, plan.ranks},
                             {kSettled, plan.settled}});
    }
  }
  const std::string part = path_ + ".part";
  std::ofstream file(part, std::ios::trunc);
  file << json.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(part, path_, error);
  if (!file || error)
    LogError("the file of plans '{}' (WEIR_PLAN_FILENAME) cannot be written", path_);
}

}  // namespace weir
