#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weir::launcher {

/// What weirrun tells the process that it starts on each host of a job, over its stdin: everything
/// that the supervisors of the ranks there need. The token never stands on a command line.
struct HostJob {
  std::string addresses;  ///< "ip:port,ip:port" of weirrun.
  std::string token;
  std::string grace_seconds;
  std::string folder;                    ///< Working directory.
  int servers = 0;                       ///< The last processes are summation servers.
  std::vector<std::string> hosts;        ///< Host of each process, by rank.
  std::vector<std::string> environment;  ///< "NAME=value".
  std::vector<std::string> command;      ///< Of a rank.
  std::vector<std::string> server;       ///< Of a server.
};

/// Length of the line in front of the bytes: "weirrun host job 0000001234\n".
inline constexpr std::size_t kHostJobHeader = 28;

/// Returns the header and the bytes that follow it.
std::string EncodeHostJob(const HostJob& job);

/// Returns the number of bytes that follow a header. Throws Corrupt for anything else.
std::size_t HostJobBytes(std::string_view header);

/// Reads the bytes after the header. Throws Corrupt for anything that EncodeHostJob does not write.
HostJob DecodeHostJob(std::string_view bytes);

}  // namespace weir::launcher
