#include "coordinator/negotiation/negotiator.h"

#include <algorithm>
#include <bit>

#include "common/check.h"
#include "coordinator/work/operation_numbers.h"
#include "weir/error.h"

namespace weir {
namespace {

// Flags are set unless a rank objects, so that the AND means "no rank objects".
constexpr std::uint64_t kNobodyAsks = 1;
constexpr std::uint64_t kNobodyShutsDown = 2;
constexpr std::uint64_t kFastNetwork = 4;
constexpr std::size_t kWordBits = 64;
// The other bits of the first word belong to the first ranks: "this rank does not shut down".
constexpr int kFirstRankBit = 3;
constexpr int kNamedRanks = static_cast<int>(kWordBits) - kFirstRankBit;
// Registrations of models with hundreds of thousands of tensors stay far below this.
constexpr std::size_t kMaxMessageBytes = std::size_t{64} << 20;

std::vector<int> JobRanks(const Transport& transport) {
  std::vector<int> ranks;
  for (int peer = 0; peer < transport.size(); ++peer) ranks.push_back(transport.JobRank(peer));
  return ranks;
}

}  // namespace

Negotiator::Negotiator(Transport& transport, std::uint32_t cache_capacity, const Timing& timing)
    : transport_(transport),
      timing_(timing),
      arbiter_(JobRanks(transport), cache_capacity,
               [this](std::uint32_t slot) { return IsReady(slot); }),
      and_(transport_),
      gather_(transport_, kMaxMessageBytes),
      broadcast_(transport_, kMaxMessageBytes) {}

bool Negotiator::IsReady(std::uint32_t slot) const {
  return (ready_[slot / kWordBits] >> (slot % kWordBits) & 1) != 0;
}

void Negotiator::MarkReady(std::uint32_t slot) {
  WEIR_CHECK(slot < slot_limit_);
  if (IsReady(slot)) return;
  ready_[slot / kWordBits] |= std::uint64_t{1} << (slot % kWordBits);
  ++ready_count_;
}

void Negotiator::Withdraw(std::uint32_t slot) {
  WEIR_CHECK(slot < slot_limit_);
  if (!IsReady(slot)) return;
  ready_[slot / kWordBits] &= ~(std::uint64_t{1} << (slot % kWordBits));
  --ready_count_;
}

void Negotiator::Ask(Request request) {
  pause_ns_ = 0;
  asks_.push_back(std::move(request));
}

std::int64_t Negotiator::next_round_ns(bool busy) const {
  if (phase_ != Phase::kIdle || !wants()) return 0;
  const std::int64_t after_pause = pause_from_ns_ + pause_ns_;
  return busy ? std::max(after_pause, round_start_ns_ + timing_.busy_gap_ns) : after_pause;
}

bool Negotiator::Poll(std::int64_t now_ns, bool busy) {
  if (phase_ == Phase::kIdle) {
    if (!wants() || now_ns < next_round_ns(busy)) return false;
    StartRound(now_ns);
  }
  if (phase_ == Phase::kAnd) {
    if (!and_.Poll()) return false;
    FinishAnd();
    if (phase_ == Phase::kIdle) return FinishRound(now_ns);
  }
  if (phase_ == Phase::kGather) {
    if (!gather_.Poll()) return false;
    StartBroadcast();
  }
  if (!broadcast_.Poll()) return false;
  FinishBroadcast();
  return FinishRound(now_ns);
}

void Negotiator::StartRound(std::int64_t now_ns) {
  round_start_ns_ = now_ns;
  outcome_.ready.clear();
  outcome_.responses.clear();
  outcome_.shutdown = false;
  outcome_.slow_path = false;
  outcome_.started_ns = now_ns;
  words_.assign(1, ~std::uint64_t{0});
  if (!asks_.empty()) words_[0] &= ~kNobodyAsks;
  if (!fast_network_) words_[0] &= ~kFastNetwork;
  if (shutting_down_) {
    words_[0] &= ~kNobodyShutsDown;
    const int rank = transport_.rank();
    if (leaves_ && rank < kNamedRanks) words_[0] &= ~(std::uint64_t{1} << (kFirstRankBit + rank));
  }
  words_.insert(words_.end(), ready_.begin(), ready_.end());
  and_.Bind(words_);
  and_.Start(kRoundOperation);
  phase_ = Phase::kAnd;
}

void Negotiator::FinishAnd() {
  for (std::size_t w = 1; w < words_.size(); ++w) {
    for (std::uint64_t bits = words_[w]; bits != 0; bits &= bits - 1) {
      outcome_.ready.push_back(static_cast<std::uint32_t>(
          (w - 1) * kWordBits + static_cast<std::size_t>(std::countr_zero(bits))));
    }
  }
  for (const std::uint32_t slot : outcome_.ready) Withdraw(slot);
  if (transport_.rank() == 0) arbiter_.BeginRound(outcome_.ready);
  outcome_.shutdown = (words_[0] & kNobodyShutsDown) == 0;
  outcome_.fast_network = (words_[0] & kFastNetwork) != 0;
  const int leaving = std::countr_one(words_[0] >> kFirstRankBit);
  outcome_.leaving_rank =
      leaving < std::min(kNamedRanks, transport_.size()) ? transport_.JobRank(leaving) : -1;
  if ((words_[0] & kNobodyAsks) != 0) {
    phase_ = Phase::kIdle;
    return;
  }
  outcome_.slow_path = true;
  for (const Request& ask : asks_) asked_slots_[ask.name] = ask.slots;
  message_ = Encode(std::span<const Request>(asks_));
  asks_.clear();
  gather_.Bind(message_);
  gather_.Start(kRequestsOperation);
  phase_ = Phase::kGather;
}

void Negotiator::StartBroadcast() {
  std::vector<std::byte> answer;
  if (transport_.rank() == 0) {
    for (const GatherToRoot::Said& said : gather_.messages()) {
      for (Request& request : DecodeRequests(said.message)) {
        const auto shared = std::make_shared<const Request>(std::move(request));
        for (const auto [first, count] : said.ranks) arbiter_.Add(first, count, shared);
      }
    }
    const std::vector<Response> responses = arbiter_.Take();
    answer = Encode(std::span<const Response>(responses));
  }
  message_ = std::move(answer);
  broadcast_.Bind(message_);
  broadcast_.Start(kResponsesOperation);
  phase_ = Phase::kBroadcast;
}

void Negotiator::FinishBroadcast() {
  outcome_.responses = DecodeResponses(broadcast_.message());
  const std::string root = "rank " + std::to_string(transport_.JobRank(0));
  for (const Response& response : outcome_.responses) {
    if (response.kind == Response::Kind::kForget) {
      if (response.slot < slot_limit_) continue;
      throw Corrupt(root + " forgot slot " + std::to_string(response.slot) + ", which nobody has",
                    {response.name, {transport_.JobRank(0)}, "negotiate"});
    }
    if (response.kind == Response::Kind::kJoined) {
      joined_ =
          joined_ || response.ranks == std::vector<int>{transport_.JobRank(transport_.rank())};
      continue;
    }
    if (response.kind == Response::Kind::kCalled) {
      if (response.rows.size() == 1 && response.ranks.size() == 1) continue;
      throw Corrupt(root + " did not say who asks about which step",
                    {response.name, {transport_.JobRank(0)}, "negotiate"});
    }
    if (response.kind == Response::Kind::kPlanned) {
      asked_slots_.erase(response.name);
      if (response.rows.size() == 2 && response.ranks.size() == 1) continue;
      throw Corrupt(root + " did not say from which step a plan holds, and what comes after it",
                    {response.name, {transport_.JobRank(0)}, "negotiate"});
    }
    if (response.kind == Response::Kind::kAllJoined) {
      joined_ = false;
      if (response.rows.size() != 1) {
        throw Corrupt(root + " did not say who was the last to join",
                      {response.name, {transport_.JobRank(0)}, "negotiate"});
      }
    }
    const auto asked = asked_slots_.find(response.name);
    if (asked == asked_slots_.end()) {
      const bool about_others =
          response.kind == Response::Kind::kMismatch || response.request.has_value();
      if (joined_ && response.slot == kNoSlot && about_others) continue;
      throw Corrupt(root + " answered about '" + response.name + "', which was not asked",
                    {response.name, {transport_.JobRank(0)}, "negotiate"});
    }
    if (response.kind == Response::Kind::kReady && response.slot != kNoSlot) {
      slot_limit_ = std::max(slot_limit_, response.slot + asked->second);
    }
    asked_slots_.erase(asked);
  }
  ready_.resize((slot_limit_ + kWordBits - 1) / kWordBits);
  phase_ = Phase::kIdle;
}

bool Negotiator::FinishRound(std::int64_t now_ns) {
  const bool productive = !outcome_.ready.empty() || !outcome_.responses.empty();
  pause_ns_ =
      productive ? 0 : std::clamp(2 * pause_ns_, timing_.first_pause_ns, timing_.longest_pause_ns);
  pause_from_ns_ = now_ns;
  return true;
}

void Negotiator::Cancel() {
  and_.Cancel();
  gather_.Cancel();
  broadcast_.Cancel();
  phase_ = Phase::kIdle;
}

}  // namespace weir
