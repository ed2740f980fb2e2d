#include "common/supervision/doorkeeper.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/supervision/heartbeat.h"
#include "common/supervision/tcp.h"

namespace weir::supervision {
namespace {

// Who is half in has its turn before more come.
constexpr std::size_t kAtOnce = 16;
// Before it a kHello began with the token, and its answer was kWelcome or kAbort.
constexpr int kFirstVersionWithProofs = 10;

}  // namespace

Doorkeeper::Doorkeeper(Secret secret, std::size_t most, TurnedAway::Tell tell)
    : secret_(std::move(secret)), most_(most), turned_away_(std::move(tell)) {}

int Doorkeeper::Accept(const UniqueFd& listener, Time now) {
  for (std::size_t i = 0; i < kAtOnce; ++i) {
    UniqueFd connection = supervision::Accept(listener);
    const bool none_left = !connection && (errno == EMFILE || errno == ENFILE);
    // That is so even where nobody waits.
    if (none_left && i > 0) return 0;
    if (none_left && !strangers_.empty()) {
      // Strangers must not keep a rank out by taking all descriptors.
      MakeRoom(now);
      connection = supervision::Accept(listener);
    }
    if (!connection) return errno;
    if (strangers_.size() >= most_) MakeRoom(now);
    std::string from = PeerOf(connection);
    strangers_.push_back({MessageSocket(std::move(connection)), std::move(from), now});
  }
  return 0;
}

void Doorkeeper::MakeRoom(Time now) {
  // Who has said the right thing is probably no stranger.
  const auto silent = std::ranges::find_if(strangers_, [](const auto& s) { return !s.hello; });
  const auto one = silent == strangers_.end() ? strangers_.begin() : silent;
  TurnAway(*one, "was one of too many that had not shown the job's token", now);
  strangers_.erase(one);
}

void Doorkeeper::AddPolls(std::vector<pollfd>& fds) const {
  for (const Stranger& stranger : strangers_) fds.push_back({stranger.socket.fd(), POLLIN, 0});
}

std::vector<Doorkeeper::Guest> Doorkeeper::Introduce(std::span<const pollfd> polled, Time now) {
  std::vector<Guest> guests;
  std::vector<Stranger> all = std::exchange(strangers_, {});
  for (std::size_t i = 0; i < all.size(); ++i) {
    Stranger stranger = std::move(all[i]);
    switch (polled[i].revents == 0 ? Verdict::kWaits : Hear(stranger, now)) {
      case Verdict::kWaits:
        strangers_.push_back(std::move(stranger));
        break;
      case Verdict::kKnown:
        guests.push_back({std::move(*stranger.hello), std::move(stranger.socket)});
        break;
      case Verdict::kGone:
        break;
    }
  }
  return guests;
}

Doorkeeper::Verdict Doorkeeper::Hear(Stranger& stranger, Time now) {
  const std::vector<Message> messages = stranger.socket.Receive();
  if (stranger.socket.corrupt() || messages.size() > 1) {
    return TurnAway(stranger, "sent what Weir does not send", now);
  }
  if (messages.empty()) return stranger.socket.open() ? Verdict::kWaits : Verdict::kGone;
  return stranger.hello ? OnProof(stranger, messages.front(), now)
                        : OnHello(stranger, messages.front(), now);
}

Doorkeeper::Verdict Doorkeeper::OnHello(Stranger& stranger, const Message& hello, Time now) {
  const bool is_hello =
      hello.type == MessageType::kHello || hello.type == MessageType::kOutputHello;
  if (is_hello && hello.code < kFirstVersionWithProofs) {
    stranger.socket.Send({.type = MessageType::kAbort,
                          .text = "the ranks have different versions of Weir: install one version "
                                  "on all hosts"});
    return TurnAway(stranger, "is of another version of Weir", now);
  }
  if (!is_hello || hello.text.size() != kNonceBytes) {
    return TurnAway(stranger, "sent what Weir does not send", now);
  }
  stranger.hello = hello;
  stranger.challenge = {.type = MessageType::kChallenge, .code = kVersion, .text = Nonce()};
  stranger.socket.Send(stranger.challenge);
  return Verdict::kWaits;
}

Doorkeeper::Verdict Doorkeeper::OnProof(Stranger& stranger, const Message& proof, Time now) {
  const Message& hello = *stranger.hello;
  if (proof.type != MessageType::kProof ||
      !IsProof(proof.text, secret_, End::kAsks, hello, stranger.challenge)) {
    return TurnAway(stranger, "does not know the job's token", now);
  }
  stranger.socket.Send({.type = MessageType::kProof,
                        .text = Proof(secret_, End::kListens, hello, stranger.challenge)});
  // It has seen by the challenge that the versions differ.
  if (hello.code != kVersion) return TurnAway(stranger, "is of another version of Weir", now);
  return Verdict::kKnown;
}

Doorkeeper::Verdict Doorkeeper::TurnAway(const Stranger& stranger, const std::string& why,
                                         Time now) {
  turned_away_.Add(stranger.from, why, now);
  return Verdict::kGone;
}

void Doorkeeper::Tick(Time now) {
  std::erase_if(strangers_, [&](const Stranger& stranger) {
    if (now <= stranger.since + kSilence) return false;
    TurnAway(
        stranger,
        "did not show the job's token within " + std::to_string(kSilence.count() / 1000) + " s",
        now);
    return true;
  });
}

}  // namespace weir::supervision
