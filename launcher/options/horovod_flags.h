#pragma once

#include <span>
#include <string>

/// Options of Horovod under its names, on the command line and in the config file: those that set
/// nothing here, and those whose meaning another option has.
namespace weir::launcher {

/// An option that is accepted, so that command lines written for Horovod keep working.
struct AcceptedFlag {
  std::string flag;
  int values;        ///< Number of values it takes.
  std::string says;  ///< The replacement, in words; empty when nothing differs.
};
std::span<const AcceptedFlag> AcceptedFlags();

/// An option that chooses what the ranks meet over.
struct ControllerFlag {
  std::string flag;
  std::string transport;  ///< The value of --transport that it stands for.
};
std::span<const ControllerFlag> ControllerFlags();

}  // namespace weir::launcher
