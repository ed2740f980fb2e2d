#pragma once

#include <string>
#include <vector>

/// weirrun stands between Hydra and ssh: it adds what keeps ssh from waiting for a person or for
/// ever, and when ssh fails says on which host and why, which Hydra does not.
namespace weir::launcher {

/// Set for Hydra: seconds that ssh may take to connect, a space, and the ssh to run.
inline constexpr char kRemoteShellVariable[] = "WEIR_LAUNCHER_REMOTE_SHELL";

/// The variable's value for a job that has `start_seconds` to start.
std::string RemoteShellValue(double start_seconds, const std::string& ssh);

/// Whether these arguments of weirrun are Hydra's for its ssh.
bool IsRemoteShellCall(const std::vector<std::string>& arguments);

/// The first word that is neither an option of ssh nor an option's value: the host. The size of
/// `arguments` when there is none.
std::size_t HostIndex(const std::vector<std::string>& arguments);

/// Runs ssh with these arguments. Returns its exit code, 128 + n when signal n ended it; 1 without
/// running it where the mpiexec that wanted it has ended.
int RunRemoteShell(std::vector<std::string> arguments);

}  // namespace weir::launcher
