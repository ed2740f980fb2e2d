#include "launcher/supervisor/way_to_weirrun.h"

#include <chrono>
#include <thread>
#include <utility>

#include "common/supervision/heartbeat.h"
#include "common/supervision/introduction.h"
#include "common/supervision/tcp.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kConnectTimeout{5000};
constexpr std::chrono::milliseconds kBetweenTries{50};

}  // namespace

supervision::MessageSocket ReachWeirrun(const std::string& addresses, const std::string& token,
                                        int rank, supervision::MessageType hello) {
  const auto deadline = Clock::now() + supervision::kSilence;
  std::string why;
  // Where strangers crowd the door, another try may come through.
  for (; Clock::now() < deadline; std::this_thread::sleep_for(kBetweenTries)) {
    UniqueFd connection;
    try {
      connection = supervision::Connect(addresses, kConnectTimeout);
    } catch (const InvalidArgument& error) {
      throw InvalidArgument(std::string("cannot reach weirrun: ") + error.what());
    }
    supervision::Introduction weirrun =
        supervision::Introduce(std::move(connection), {.type = hello, .rank = rank},
                               supervision::Secret::OfWeirrun(token), supervision::kSilence);
    if (weirrun.socket && weirrun.version == supervision::kVersion) {
      return std::move(*weirrun.socket);
    }
    if (weirrun.socket) {
      throw InvalidArgument(
          "weirrun is of another version of Weir than this host's; install one version on all "
          "hosts");
    }
    why = std::move(weirrun.why);
  }
  throw InvalidArgument("cannot reach weirrun at " + addresses + ": " + why);
}

}  // namespace weir::launcher
