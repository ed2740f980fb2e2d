#include "coordinator/arbiter.h"

#include <utility>

#include "common/check.h"
#include "coordinator/agreement.h"
#include "weir/error.h"

namespace weir {

Arbiter::Arbiter(int size, std::uint32_t cache_capacity)
    : size_(size), cache_capacity_(cache_capacity) {}

void Arbiter::Add(int rank, Request request) {
  WEIR_CHECK(rank >= 0 && rank < size_);
  const std::string name = request.name;
  if (const auto known = assigned_.find(name); known != assigned_.end()) Forget(name);
  Pending& pending = pending_[name];
  if (pending.by_rank.empty()) pending.by_rank.resize(static_cast<std::size_t>(size_));
  std::optional<Request>& mine = pending.by_rank[static_cast<std::size_t>(rank)];
  if (mine.has_value()) {
    throw Corrupt("rank " + std::to_string(rank) + " asked twice for '" + name + "'",
                  {name, {rank}, "negotiate"});
  }
  mine = std::move(request);
  if (++pending.count < size_) return;
  Pending complete = std::move(pending);
  pending_.erase(name);
  Decide(name, std::move(complete));
}

void Arbiter::Forget(const std::string& name) {
  const Assigned assigned = assigned_.at(name);
  assigned_.erase(name);
  if (!assigned.single) return;  // A group's slots stay with the group of that name that is gone.
  free_slots_.push_back(assigned.slot);
  --singles_;
  responses_.push_back({.kind = Response::Kind::kForget, .name = name, .slot = assigned.slot});
}

void Arbiter::Decide(const std::string& name, Pending pending) {
  std::vector<Request> requests;
  requests.reserve(pending.by_rank.size());
  for (auto& request : pending.by_rank) requests.push_back(std::move(*request));
  if (auto disagreement = FindDisagreement(requests)) {
    responses_.push_back({.kind = Response::Kind::kMismatch,
                          .name = name,
                          .slot = kNoSlot,
                          .text = std::move(disagreement->text),
                          .ranks = std::move(disagreement->ranks)});
    return;
  }
  Response response{.kind = Response::Kind::kReady, .name = name, .slot = Assign(requests.front())};
  if (requests.front().kind == RequestKind::kAllgather) {
    for (const Request& request : requests) response.first_dims.push_back(request.shape[0]);
  }
  responses_.push_back(std::move(response));
}

std::uint32_t Arbiter::Assign(const Request& request) {
  if (request.kind == RequestKind::kGroup) {
    const std::uint32_t slot = next_slot_;
    next_slot_ += request.slots;
    assigned_[request.name] = {slot, false};
    return slot;
  }
  if (singles_ >= cache_capacity_) return kNoSlot;
  std::uint32_t slot = next_slot_;
  if (free_slots_.empty()) {
    ++next_slot_;
  } else {
    slot = free_slots_.back();
    free_slots_.pop_back();
  }
  ++singles_;
  assigned_[request.name] = {slot, true};
  return slot;
}

std::vector<Response> Arbiter::Take() { return std::exchange(responses_, {}); }

}  // namespace weir
