#pragma once

#include <span>
#include <string>
#include <string_view>

/// Options of Horovod that set nothing here, under its names, on the
/// command line and in the config file.
namespace weir::launcher {

/// An option that is accepted, so that command lines written for Horovod keep working.
struct AcceptedFlag {
  std::string flag;
  int values;        ///< Number of values it takes.
  std::string says;  ///< The replacement, in words; empty when nothing differs.
};
std::span<const AcceptedFlag> AcceptedFlags();

/// Returns why an option is refused, as a sentence without its name: it asks for something that
/// would change the job. Empty for every other option.
std::string WhyRefused(std::string_view flag);

}  // namespace weir::launcher
