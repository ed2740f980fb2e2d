#include "coordinator/rank/set_changes.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "weir/error.h"

namespace weir {

void SetChanges::Agree(const std::string& what, std::function<void()> change) {
  Submission submission;
  submission.request.kind = RequestKind::kGroup;
  submission.request.name = kSetChangeName;
  submission.request.settings = {{"change", what}};
  submission.request.slots = 0;
  if (change) submission.on_agreed = [change = std::move(change)](auto) { change(); };
  agree_(std::move(submission));
}

int SetChanges::Add(std::vector<int> ranks) {
  std::lock_guard lock(mutex_);
  ending_.ThrowIfEnded();
  if (const auto same = sets_.IdOf(ranks)) {
    throw InvalidArgument(
        fmt::format("process set {}{} has the ranks [{}] already", *same,
                    *same == ProcessSet::kGlobal ? ", the whole job," : "", fmt::join(ranks, ", ")),
        {"", {rank_}, "submit"});
  }
  if (sets_.full()) {
    throw InvalidArgument(
        fmt::format("there are {} process sets already, and this network can tell no more apart; "
                    "remove one first",
                    sets_.capacity()),
        {"", {rank_}, "submit"});
  }
  int id = -1;
  Agree(fmt::format("add [{}]", fmt::join(ranks, ", ")), [&] { id = sets_.Add(std::move(ranks)); });
  return id;
}

void SetChanges::Remove(int id) {
  std::lock_guard lock(mutex_);
  ending_.ThrowIfEnded();
  ProcessSet& set = sets_.Find(id);
  if (id == ProcessSet::kGlobal) {
    throw InvalidArgument("the process set of the whole job (0) cannot be removed",
                          {"", {rank_}, "submit"});
  }
  // Removal waits for nobody, so the set must be idle on all ranks, and stay so: no message of it
  // is left then.
  sets_.CloseDoor(id);
  const auto open = [](ProcessSets* sets) { sets->OpenDoor(); };
  const std::unique_ptr<ProcessSets, decltype(open)> door(&sets_, open);
  const std::string in_use = InUse(set);
  if (in_use.empty()) {
    Agree(fmt::format("remove {}", id), [&] { sets_.Remove(id); });
    return;
  }
  const std::string text = fmt::format("process set {} cannot be removed: {}", id, in_use);
  const auto refuse = [&] { throw InvalidArgument(text, {"", {rank_}, "submit"}); };
  try {
    Agree(text, nullptr);
  } catch (const Mismatch&) {
    refuse();  // The other ranks have learned why.
  }
  refuse();
}

std::string SetChanges::InUse(ProcessSet& set) {
  if (!set.includes(rank_)) return "";
  if (const auto busy = set.operations().Busy()) {
    return fmt::format("'{}' is still being processed on rank {}; wait for it first", *busy, rank_);
  }
  std::lock_guard lock(groups_mutex_);
  const auto group = groups_.lower_bound({set.id(), ""});
  if (group == groups_.end() || group->first != set.id()) return "";
  return fmt::format("the gradient group '{}' uses it on rank {}; destroy it first", group->second,
                     rank_);
}

std::shared_ptr<const void> SetChanges::ClaimGroup(const ProcessSet& set, const std::string& name) {
  const auto key = std::make_pair(set.id(), name);
  std::lock_guard lock(groups_mutex_);
  if (!groups_.insert(key).second) {
    throw InvalidArgument("a gradient group named '" + name +
                              "' exists already; give each one (each optimizer) a name of its own",
                          {name, {}, "register"});
  }
  return {this, [this, key](const void*) {
            std::lock_guard inner(groups_mutex_);
            groups_.erase(key);
          }};
}

}  // namespace weir
