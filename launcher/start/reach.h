#pragma once

#include <filesystem>
#include <string>

#include "launcher/options/options.h"

/// How weirrun finds itself, other programs, and the hosts.
namespace weir::launcher {

/// Returns the absolute path of this executable.
std::string OwnPath();

bool IsExecutable(const std::filesystem::path& path);

/// Returns the executable file of that name in $PATH; empty if there is none.
std::filesystem::path FindInPath(const std::string& name);

/// Returns an environment variable's value; empty if it is not set.
std::string VariableOrEmpty(const char* variable);

/// True if the hosts are those of a Slurm job and the user asks for no other way to them: they
/// often accept no ssh.
bool ReachesBySrun(const Options& options);

}  // namespace weir::launcher
