#include "ops/hub/hub.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "common/summary/summary.h"
#include "ops/membership/abort_text.h"
#include "weir/error.h"

namespace weir {

using supervision::Message;
using supervision::MessageType;

Hub::Hub(std::size_t ranks, std::chrono::milliseconds start_timeout, Send send)
    : ranks_(ranks),
      start_timeout_(start_timeout),
      send_(std::move(send)),
      meeting_(ranks),
      totals_(ranks) {}

void Hub::OnHello(int rank, const std::string& host) {
  At(rank) = {.host = host};
  send_(rank, {.type = MessageType::kWelcome});
}

void Hub::OnMessage(int rank, const Message& message, Time now) {
  switch (message.type) {
    case MessageType::kAttach:
      if (!deadline_) deadline_ = now + start_timeout_;
      totals_.OnAttach(rank);
      Set(rank, Engine::kWaiting);
      for (int other = 0; std::cmp_less(other, ranks_.size()); ++other) {
        if (!At(other).lost_how.empty()) send_(rank, LossOf(other));
      }
      break;
    case MessageType::kAddress:
      meeting_.Bring(rank, message.text, send_);
      break;
    case MessageType::kJoined:
      Set(rank, Engine::kJoined);
      break;
    case MessageType::kLeave:
      meeting_.Leave(rank);
      Set(rank, Engine::kNone);
      break;
    case MessageType::kAbort:
      Broadcast(
          {.type = MessageType::kAbort, .rank = rank, .host = At(rank).host, .text = message.text},
          rank);
      break;
    case MessageType::kStatusRequest:
      Broadcast({.type = MessageType::kStatusRequest, .rank = rank}, -1);
      break;
    case MessageType::kStatus:
      send_(0, {.type = MessageType::kStatus, .rank = rank, .text = message.text});
      break;
    case MessageType::kTotals:
      totals_.OnTotals(rank, message.text);
      break;
    default:
      break;  // Heartbeats.
  }
}

void Hub::OnLost(int rank, const std::string& how) {
  const bool missed = At(rank).engine != Engine::kNone;
  meeting_.Leave(rank);
  Set(rank, Engine::kNone);
  if (!missed) return;
  At(rank).lost_how = how;
  Broadcast(LossOf(rank), rank);
}

Message Hub::LossOf(int rank) const {
  const Rank& lost = ranks_[static_cast<std::size_t>(rank)];
  return {.type = MessageType::kPeerLost, .rank = rank, .host = lost.host, .text = lost.lost_how};
}

void Hub::Tick(Time now) {
  if (!deadline_ || now < *deadline_) return;
  deadline_.reset();
  const std::string absent = Absent();
  const TimedOut error(
      (absent.empty() ? "the ranks have all come but did not meet"
                      : absent + " did not join the job (init() or Engine::Create)") +
          " within the start timeout of " + std::to_string(start_timeout_.count() / 1000) + " s" +
          (absent.empty() ? "; can all hosts reach each other (WEIR_NETWORK_INTERFACES)?"
                          : "; WEIR_START_TIMEOUT gives it longer"),
      {.tensor = {}, .ranks = {}, .phase = "start"});
  const Message message{.type = MessageType::kAbort,
                        .text = AbortText(std::make_exception_ptr(error))};
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    if (ranks_[r].engine == Engine::kWaiting) send_(static_cast<int>(r), message);
  }
}

std::vector<std::string> Hub::SummaryText() const {
  std::vector<std::string> hosts;
  for (const Rank& rank : ranks_) hosts.push_back(rank.host);
  const auto summary = Summarize(totals_.All(), RankPlaces(std::move(hosts)));
  return summary ? SummaryLines(*summary) : std::vector<std::string>{};
}

bool Hub::idle() const {
  return std::ranges::all_of(ranks_, [](const Rank& r) { return r.engine == Engine::kNone; });
}

void Hub::Set(int rank, Engine engine) {
  over_ = over_ || (At(rank).engine == Engine::kJoined && engine == Engine::kNone);
  At(rank).engine = engine;
  const auto waits = [](const Rank& r) { return r.engine == Engine::kWaiting; };
  if (std::ranges::none_of(ranks_, waits)) deadline_.reset();
}

void Hub::Broadcast(const Message& message, int except) {
  for (int r = 0; std::cmp_less(r, ranks_.size()); ++r) {
    if (r != except && At(r).engine != Engine::kNone) send_(r, message);
  }
}

std::string Hub::Absent() const {
  const auto absent = [this](std::size_t r) {
    return r < ranks_.size() && ranks_[r].engine == Engine::kNone;
  };
  std::string text;
  std::size_t count = 0;
  for (std::size_t first = 0, end = 0; first < ranks_.size(); first = end + 1) {
    for (end = first; absent(end); ++end) ++count;
    if (end == first) continue;
    text += (text.empty() ? "" : ", ") + std::to_string(first);
    if (end - first > 1) text += "-" + std::to_string(end - 1);
  }
  return text.empty() ? "" : (count == 1 ? "rank " : "ranks ") + text;
}

}  // namespace weir
