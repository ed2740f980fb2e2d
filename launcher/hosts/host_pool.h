#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/hosts/hosts.h"

namespace weir::launcher {

/// The hosts that an elastic job may use, and their slots that are free. Takes the time as a value.
/// Not thread-safe.
class HostPool {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// How long a slot whose rank was lost stays unused: the first time `least`, each further time of
  /// the host twice as long, up to `most`. Nothing: for ever.
  struct Cooldown {
    std::chrono::milliseconds least;
    std::chrono::milliseconds most;
  };
  explicit HostPool(std::optional<Cooldown> cooldown) : cooldown_(cooldown) {}

  /// Replaces the hosts. Those that stay keep their place before those that are new, and what is
  /// known of their losses. Returns false if they are those that were known.
  bool Update(const std::vector<Host>& hosts);
  /// Returns 0 for a host that may not be used.
  int SlotsOf(const std::string& host) const;

  /// A rank on this host was lost. Returns what becomes of its slot, for people.
  std::string Lose(const std::string& host, Time now);
  /// Returns the hosts with a free slot, once for each, in order. `used`: by host.
  std::vector<std::string> Free(const std::map<std::string, int>& used, Time now) const;
  /// Returns when the next slot becomes usable again, if one does.
  std::optional<Time> next_return(Time now) const;

 private:
  struct Entry {
    Host host;
    int losses = 0;
    std::vector<std::optional<Time>> unused{};  ///< Slots that rest, until when; nothing: for ever.
  };
  static int Resting(const Entry& entry, Time now);
  Entry* Find(const std::string& host);

  std::optional<Cooldown> cooldown_;
  std::vector<Entry> entries_;
};

}  // namespace weir::launcher
