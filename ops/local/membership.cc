#include "ops/local/membership.h"

#include <pthread.h>

#include <algorithm>

#include "common/check.h"

namespace weir::local {

using Kind = MembershipEvent::Kind;

namespace {

constexpr char kHost[] = "localhost";
constexpr std::size_t kMaxText = std::size_t{64} << 10;

MembershipEvent Event(Kind kind, int rank, std::string text = {}) {
  return {.kind = kind, .rank = rank, .host = kHost, .text = std::move(text)};
}

}  // namespace

class MembershipHub::HubMember : public Membership {
 public:
  HubMember(MembershipHub& hub, int rank) : hub_(hub), rank_(rank) {}
  ~HubMember() override { Listen(nullptr); }

  void Listen(Listener listener) override { hub_.SetListener(rank_, std::move(listener)); }
  void Joined() override {}  // A local job begins with all its ranks.

  void Abort(const std::string& reason) override {
    const std::lock_guard lock(hub_.mutex_);
    if (!std::exchange(aborted_, true)) {
      hub_.PostToOthers(rank_, Event(Kind::kAbort, rank_, reason));
    }
  }

  void RequestStatus() override {
    const std::lock_guard lock(hub_.mutex_);
    if (!self().alive) return;
    for (int to = 0; to < static_cast<int>(hub_.ranks_.size()); ++to) {
      hub_.Post(to, Event(Kind::kStatusRequest, rank_));
    }
  }

  void SendStatus(const std::string& text) override {
    const std::lock_guard lock(hub_.mutex_);
    if (self().alive) hub_.Post(0, Event(Kind::kStatus, rank_, text.substr(0, kMaxText)));
  }

  void Leave() override {
    const std::lock_guard lock(hub_.mutex_);
    self().left = true;
  }

 private:
  Rank& self() { return hub_.ranks_[static_cast<std::size_t>(rank_)]; }

  MembershipHub& hub_;
  const int rank_;
  bool aborted_ = false;  // Guarded by hub_.mutex_.
};

MembershipHub::MembershipHub(int ranks) : ranks_(static_cast<std::size_t>(ranks)) {
  WEIR_CHECK(ranks > 0);
  thread_ = std::jthread([this] { Run(); });
  pthread_setname_np(thread_.native_handle(), "weir-hub");
}

MembershipHub::~MembershipHub() {
  const std::lock_guard lock(mutex_);
  stopping_ = true;
  changed_.notify_all();
}

std::unique_ptr<Membership> MembershipHub::Member(int rank) {
  const std::lock_guard lock(mutex_);
  WEIR_CHECK(rank >= 0 && rank < static_cast<int>(ranks_.size()));
  ranks_[static_cast<std::size_t>(rank)].left = false;
  return std::make_unique<HubMember>(*this, rank);
}

void MembershipHub::Kill(int rank, const std::string& how) {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<std::size_t>(rank);
  WEIR_CHECK(index < ranks_.size());
  if (ranks_[index].alive && !ranks_[index].left) {
    PostToOthers(rank, Event(Kind::kPeerLost, rank, how));
  }
  ranks_[index].alive = false;
  ranks_[index].waiting.clear();
}

void MembershipHub::LoseLauncher() {
  const std::lock_guard lock(mutex_);
  for (int to = 0; to < static_cast<int>(ranks_.size()); ++to) {
    Post(to, Event(Kind::kLauncherLost, -1));
  }
}

void MembershipHub::SetListener(int rank, Membership::Listener listener) {
  std::unique_lock lock(mutex_);
  // The old listener may be running; it is not called any more once this returns.
  changed_.wait(lock, [&] { return calling_ != rank; });
  ranks_[static_cast<std::size_t>(rank)].listener = std::move(listener);
  changed_.notify_all();
}

void MembershipHub::Run() {
  std::unique_lock lock(mutex_);
  const auto ready = [](const Rank& rank) { return rank.listener && !rank.waiting.empty(); };
  while (true) {
    changed_.wait(lock, [&] { return stopping_ || std::ranges::any_of(ranks_, ready); });
    if (stopping_) return;
    const auto rank = std::ranges::find_if(ranks_, ready);
    const MembershipEvent event = std::move(rank->waiting.front());
    rank->waiting.pop_front();
    calling_ = static_cast<int>(rank - ranks_.begin());
    lock.unlock();
    rank->listener(event);  // SetListener leaves it alone while calling_ names it.
    lock.lock();
    calling_ = -1;
    changed_.notify_all();
  }
}

void MembershipHub::Post(int to, MembershipEvent event) {
  Rank& rank = ranks_[static_cast<std::size_t>(to)];
  if (!rank.alive) return;
  rank.waiting.push_back(std::move(event));
  changed_.notify_all();
}

void MembershipHub::PostToOthers(int from, const MembershipEvent& event) {
  if (!ranks_[static_cast<std::size_t>(from)].alive) return;
  for (int to = 0; to < static_cast<int>(ranks_.size()); ++to) {
    if (to != from) Post(to, event);
  }
}

}  // namespace weir::local
