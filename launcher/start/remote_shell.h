#pragma once

#include <string>
#include <vector>

/// weirrun between Hydra and ssh: it adds options that keep ssh from waiting for a person or for
/// ever. When ssh fails it says on which host and why, which Hydra does not.
namespace weir::launcher {

/// Variable set for Hydra: seconds that ssh may take to connect, a space, and the ssh to run.
inline constexpr char kRemoteShellVariable[] = "WEIR_LAUNCHER_REMOTE_SHELL";

/// Returns the seconds that ssh may take to connect for a job that has `start_seconds` to start.
std::string ConnectSeconds(double start_seconds);

/// Returns the variable's value for a job that has `start_seconds` to start.
std::string RemoteShellValue(double start_seconds, const std::string& ssh);

/// True if these arguments of weirrun are Hydra's for its ssh.
bool IsRemoteShellCall(const std::vector<std::string>& arguments);

/// Returns the index of the host: the first word that is neither an option of ssh nor an option's
/// value. The size of `arguments` when there is none.
std::size_t HostIndex(const std::vector<std::string>& arguments);

/// Runs ssh with these arguments. Returns its exit code, 128 + n when signal n ended it; 1 without
/// running it when the mpiexec that wanted it has ended.
int RunRemoteShell(std::vector<std::string> arguments);

}  // namespace weir::launcher
