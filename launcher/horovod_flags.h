#pragma once

#include <span>
#include <string>
#include <string_view>

/// Horovod's options that set nothing here, under its names, on the command line and in the config
/// file.
namespace weir::launcher {

/// Accepted, so that command lines written for Horovod go on working.
struct AcceptedFlag {
  std::string flag;
  int values;        ///< How many it takes.
  std::string says;  ///< What is done instead; empty when it asks for what is done anyway.
};
std::span<const AcceptedFlag> AcceptedFlags();

/// Why an option is refused, as a sentence without its name: it asks for something that would
/// change the job, which is not started as another one. Empty for every other option.
std::string WhyRefused(std::string_view flag);

}  // namespace weir::launcher
