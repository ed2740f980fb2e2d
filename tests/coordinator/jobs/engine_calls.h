#pragma once

#include <span>
#include <string>
#include <vector>

#include "weir/engine.h"

namespace weir {

/// Returns the error of a rank's call, as text that begins with the error's type.
template <typename Call>
std::string ErrorOf(Call call) {
  try {
    call();
  } catch (const PeerLost& error) {
    return std::string("PeerLost: ") + error.what();
  } catch (const TimedOut& error) {
    return std::string("TimedOut: ") + error.what();
  } catch (const ShutDown& error) {
    return std::string("ShutDown: ") + error.what();
  } catch (const InvalidArgument& error) {
    return std::string("InvalidArgument: ") + error.what();
  }
  return "no error";
}

inline Handle Reduce(Engine& engine, const std::string& name, std::vector<float>& values) {
  const TensorView view = ViewOf(std::span<float>(values));
  return engine.Allreduce(name, view, view);
}

}  // namespace weir
