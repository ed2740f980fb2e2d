#include "coordinator/negotiation/arbiter.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <unordered_set>
#include <utility>

#include "common/check.h"
#include "common/text/parse_number.h"
#include "coordinator/negotiation/agreement.h"
#include "coordinator/negotiation/gpu_agreement.h"
#include "weir/error.h"

namespace weir {
namespace {

/// True if a joined rank can take part by contributing zeros.
bool ZerosChangeNothing(const Request& request) {
  if (request.kind == RequestKind::kUnused) return true;
  if (request.kind != RequestKind::kAllreduce) return false;
  return request.op == ReduceOp::kSum || request.op == ReduceOp::kAverage ||
         request.op == ReduceOp::kAdasum;
}

using Requests = std::vector<std::shared_ptr<const Request>>;

/// Returns all ranks' rows, which every rank has to know (Response::rows).
std::vector<std::int64_t> RowsOf(const Requests& requests) {
  std::vector<std::int64_t> rows;
  const Request& first = *requests.front();
  if (GathersRows(first.kind)) {
    for (std::size_t tensor = 0; tensor < first.tensors(); ++tensor) {
      for (const auto& request : requests) rows.push_back(request->shape_of(tensor)[0]);
    }
  }
  for (const auto& request : requests) {
    rows.insert(rows.end(), request->splits.begin(), request->splits.end());
  }
  return rows;
}

/// Requests that differ, in the order of the first rank that has made each. Equal ones need no
/// comparison.
struct Different {
  std::vector<Request> requests;
  std::vector<int> ranks;
};
Different DifferentOf(const Requests& requests, std::span<const int> ranks) {
  Different different;
  std::unordered_set<const Request*> seen;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (!seen.insert(requests[i].get()).second) continue;
    different.requests.push_back(*requests[i]);
    different.ranks.push_back(ranks[i]);
  }
  return different;
}

std::optional<std::string> SettingOf(const Request& request, const std::string& key) {
  const auto setting =
      std::ranges::find(request.settings, key, &std::pair<std::string, std::string>::first);
  return setting == request.settings.end() ? std::nullopt : std::optional(setting->second);
}

/// Returns the step that the request is about. Throws Corrupt if it has none.
std::int64_t StepOf(int rank, const Request& request) {
  const auto step = ParseNumber<std::int64_t>(SettingOf(request, Request::kStep).value_or(""));
  if (step && *step >= 0) return *step;
  throw Corrupt("rank " + std::to_string(rank) + " asks about a step without a number",
                {request.name, {rank}, "negotiate"});
}

}  // namespace

Arbiter::Arbiter(std::vector<int> ranks, std::uint32_t cache_capacity,
                 std::function<bool(std::uint32_t slot)> wanted)
    : ranks_(std::move(ranks)),
      wanted_(std::move(wanted)),
      joined_(ranks_.size()),
      singles_(cache_capacity) {}

void Arbiter::BeginRound(std::span<const std::uint32_t> ready) {
  singles_.NextRound();
  for (const std::uint32_t slot : ready) singles_.Use(slot);
}

void Arbiter::Add(int first, int count, const std::shared_ptr<const Request>& shared) {
  const Request& request = *shared;
  const std::string& name = request.name;
  const auto refuse = [&](int rank, const std::string& what) {
    throw Corrupt("rank " + std::to_string(rank) + " " + what, {name, {rank}, "negotiate"});
  };
  const int rank = ranks_.at(static_cast<std::size_t>(first));
  if (request.kind == RequestKind::kAlltoall && request.splits.size() != ranks_.size()) {
    refuse(rank, "asked for an all-to-all of '" + name + "' with " +
                     std::to_string(request.splits.size()) + " splits");
  }
  const auto begin = static_cast<std::size_t>(first);
  const std::size_t end = begin + static_cast<std::size_t>(count);
  if (request.kind == RequestKind::kJoin) {
    for (std::size_t member = begin; member < end; ++member) {
      if (joined_.at(member)) refuse(ranks_[member], "joined twice");
      Join(member);
    }
    return;
  }
  if (request.kind == RequestKind::kPlan) return Announce(rank, request);
  if (singles_.Find(name)) Forget(name);
  Asked& asked = pending_[name];
  if (asked.by_member.empty()) {
    asked.by_member.resize(ranks_.size());
    asked.missing = ranks_.size() - joined_count_;
    if (CallsOthers(request.kind)) CallOthers(rank, request);
  }
  for (std::size_t member = begin; member < end; ++member) {
    if (asked.by_member.at(member)) refuse(ranks_[member], "asked twice for '" + name + "'");
    asked.by_member[member] = shared;
    if (!joined_[member]) --asked.missing;
  }
  asked_.push_back(name);
}

void Arbiter::CallOthers(int rank, const Request& request) {
  responses_.push_back({.kind = Response::Kind::kCalled,
                        .name = request.name,
                        .slot = kNoSlot,
                        .rows = {StepOf(rank, request)},
                        .ranks = {rank}});
}

void Arbiter::Announce(int rank, const Request& request) {
  const std::int64_t measures = SettingOf(request, Request::kMeasures).has_value() ? 1 : 0;
  responses_.push_back({.kind = Response::Kind::kPlanned,
                        .name = request.name,
                        .slot = kNoSlot,
                        .rows = {StepOf(rank, request), measures},
                        .text = SettingOf(request, Request::kForms).value_or(""),
                        .ranks = {rank}});
}

bool Arbiter::AnyJoined() const { return joined_count_ > 0; }

void Arbiter::Join(std::size_t member) {
  for (const std::string& single : singles_.Names()) Forget(single);
  joined_[member] = true;
  ++joined_count_;
  for (auto& [name, asked] : pending_) {
    if (!asked.by_member[member]) --asked.missing;
  }
  responses_.push_back({.kind = Response::Kind::kJoined,
                        .name = std::string(kJoinName),
                        .slot = kNoSlot,
                        .ranks = {ranks_[member]}});
  last_joined_ = member;
}

void Arbiter::DecideComplete() {
  // The others may have waited for this rank alone.
  if (AnyJoined()) {
    for (const auto& [name, requests] : pending_) asked_.push_back(name);
  }
  for (const std::string& name : std::exchange(asked_, {})) {
    const auto entry = pending_.find(name);
    if (entry == pending_.end() || entry->second.missing > 0) continue;
    const Asked complete = std::move(entry->second);
    pending_.erase(entry);
    Decide(name, complete);
  }
}

void Arbiter::Forget(const std::string& name) {
  const std::uint32_t slot = singles_.Find(name).value();
  singles_.Remove(name);
  free_slots_.push_back(slot);
  responses_.push_back({.kind = Response::Kind::kForget, .name = name, .slot = slot});
}

void Arbiter::Decide(const std::string& name, const Asked& asked) {
  Requests requests;
  std::vector<int> ranks;
  for (std::size_t i = 0; i < asked.by_member.size(); ++i) {
    if (!asked.by_member[i]) continue;
    requests.push_back(asked.by_member[i]);
    ranks.push_back(ranks_[i]);
  }
  const Different different = DifferentOf(requests, ranks);
  const Request& first = *requests.front();
  if (auto disagreement = FindDisagreement(different.requests, different.ranks)) {
    responses_.push_back({.kind = Response::Kind::kMismatch,
                          .name = name,
                          .slot = kNoSlot,
                          .text = std::move(disagreement->text),
                          .ranks = std::move(disagreement->ranks)});
    return;
  }
  const bool whole = requests.size() == ranks_.size();
  if (!whole && !ZerosChangeNothing(first)) {
    responses_.push_back(Unsupported(first));
    return;
  }
  GpuAgreement gpus;
  if (whole && !first.gpu.empty()) {
    std::vector<Request> all;
    for (const auto& request : requests) all.push_back(*request);
    gpus = AgreeOnGpus(all, ranks);
  }
  if (gpus.refused) {
    responses_.push_back({.kind = Response::Kind::kMismatch,
                          .name = name,
                          .slot = kNoSlot,
                          .text = "'" + name + "' is to travel over NCCL, but " + gpus.trouble +
                                  "; give each rank a GPU of its own, or leave "
                                  "WEIR_GPU_TRANSPORT=nccl out",
                          .ranks = std::move(ranks)});
    return;
  }
  Response response{.kind = Response::Kind::kReady,
                    .name = name,
                    .slot = Assign(first),
                    .rows = RowsOf(requests),
                    .text = std::move(gpus.trouble),
                    .gpus = std::move(gpus.gpus)};
  if (!whole) response.request = first;
  responses_.push_back(std::move(response));
}

Response Arbiter::Unsupported(const Request& request) const {
  std::vector<int> joined;
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    if (joined_[i]) joined.push_back(ranks_[i]);
  }
  // Horovod's sentences. It makes sparse all-reduces of all-gathers, and the option it
  // means is called sparse_as_dense.
  const bool gathers = GathersRows(request.kind);
  std::string kind(Name(gathers ? RequestKind::kAllgather : request.kind));
  std::ranges::transform(kind.begin() + 1, kind.end(), kind.begin() + 1,
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const std::string advice =
      gathers ? " Specify sparse_to_dense=True if using DistributedOptimizer." : "";
  return {.kind = Response::Kind::kMismatch,
          .name = request.name,
          .slot = kNoSlot,
          .text = fmt::format(
              "{} is not supported with Join at this time.{} (tensor '{}': ranks "
              "[{}] have joined; until all have, only sums, averages and Adasum are reduced)",
              kind, advice, request.name, fmt::join(joined, ", ")),
          .ranks = std::move(joined)};
}

std::uint32_t Arbiter::Assign(const Request& request) {
  if (request.slots == 0) return kNoSlot;
  if (request.kind == RequestKind::kGroup) {
    // Slots stay with the group, also when it is destroyed.
    return std::exchange(next_slot_, next_slot_ + request.slots);
  }
  singles_.CountAgreement();
  if (AnyJoined()) return kNoSlot;
  if (singles_.full()) {
    const auto oldest = singles_.Oldest(wanted_);
    if (!oldest) return kNoSlot;
    Forget(*oldest);
  }
  std::uint32_t slot = next_slot_;
  if (free_slots_.empty()) {
    ++next_slot_;
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  singles_.Add(request.name, slot);
  return slot;
}

std::vector<Response> Arbiter::Take() {
  // Not before all requests of a round are here: a joined rank may be among those that asked.
  DecideComplete();
  if (AnyJoined() && joined_count_ == joined_.size()) {
    joined_.assign(joined_.size(), false);
    joined_count_ = 0;
    responses_.push_back({.kind = Response::Kind::kAllJoined,
                          .name = std::string(kJoinName),
                          .slot = kNoSlot,
                          .rows = {ranks_[last_joined_]}});
  }
  return std::exchange(responses_, {});
}

}  // namespace weir
