#include "coordinator/engine/server_process.h"

#include <fmt/core.h>

#include <mutex>
#include <optional>
#include <string>

#include "common/clock.h"
#include "common/log.h"
#include "coordinator/servers/server_links.h"
#include "coordinator/work/network_waiter.h"
#include "ops/membership/abort_text.h"
#include "weir/error.h"

namespace weir {
namespace {

/// Reports of the membership, for the one thread that serves.
class News {
 public:
  explicit News(NetworkWaiter& waiter) : waiter_(waiter) {}
  void SetRanks(int ranks) { ranks_ = ranks; }
  void Tell(const MembershipEvent& event) {
    using enum MembershipEvent::Kind;
    // A server waits for nobody, so it ignores requests for status and recordings.
    const bool asks = event.kind == kStatusRequest || event.kind == kStatus ||
                      event.kind == kRecordFlight || event.kind == kHostsUpdated;
    if (asks) return;
    {
      std::lock_guard lock(mutex_);
      if (!text_) {
        text_ = event.kind == kLauncherLost
                    ? "the launcher of this job is gone: " + event.text
                    : fmt::format("{} {}: {}", NameOf(event, ranks_),
                                  event.kind == kAbort ? "ended the job" : "is lost", event.text);
      }
    }
    waiter_.Wake();
  }
  void ThrowIfBad() {
    std::lock_guard lock(mutex_);
    if (text_) throw PeerLost(*text_, {"", {}, "serve"});
  }

 private:
  NetworkWaiter& waiter_;
  int ranks_ = 0;
  std::mutex mutex_;
  std::optional<std::string> text_;
};

ServerPlace PlaceOf(const Transport& network, int servers) {
  const int workers = network.size() - servers;
  if (servers < 1 || workers < 1 || network.rank() < workers) {
    throw InvalidArgument(fmt::format(
        "process {} of {} is not one of the {} summation servers (WEIR_SERVERS); weirrun --servers "
        "starts them",
        network.rank(), network.size(), servers));
  }
  return {.server = network.rank() - workers,
          .servers = servers,
          .workers = workers,
          .rank = network.rank()};
}

void Serve(SummationServer& server, News& news, NetworkWaiter& waiter) {
  waiter.Moved(NowNs());
  while (!server.over()) {
    news.ThrowIfBad();
    const bool moved = server.Poll();
    const std::int64_t now = NowNs();
    if (moved) {
      waiter.Moved(now);
    } else {
      waiter.Pause(NetworkWaiter::For::kData, now);
    }
  }
}

}  // namespace

void RunServer(const Settings& settings, EngineEnvironment environment) {
  NetworkWaiter waiter;
  News news(waiter);
  Membership& membership = *environment.membership;
  std::unique_ptr<Transport> network;
  const auto end = [&](bool failed) {
    membership.Listen(nullptr);
    if (environment.disconnect) environment.disconnect(failed);
    if (network) network->Close();
  };
  try {
    network = environment.connect();
    network->SetWake([&waiter] { waiter.Wake(); });
    const ServerPlace place = PlaceOf(*network, settings.servers);
    Log::Configure(settings, place.rank, environment.host);
    news.SetRanks(place.workers);
    membership.Joined();
    membership.Listen([&news](const MembershipEvent& event) { news.Tell(event); });
    const auto lane = ServerLinks::Lane(*network);
    SummationServer server(*lane, place, [&waiter] { waiter.Wake(); });
    Serve(server, news, waiter);
    membership.Leave();
  } catch (...) {
    membership.Abort(AbortText(std::current_exception()));
    end(/*failed=*/true);
    throw;
  }
  end(/*failed=*/false);
}

}  // namespace weir
