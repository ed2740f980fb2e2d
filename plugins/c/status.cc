#include "plugins/c/status.h"

#include <optional>
#include <string>

#include "weir/error.h"

namespace weir::c {
namespace {

/// A sentence; empty: there was no memory for it.
std::optional<std::string>& LastError() {
  thread_local std::optional<std::string> text = "";
  return text;
}

void Keep(const char* call, const char* what) noexcept {
  try {
    LastError() = std::string(call) + ": " + what;
  } catch (...) {
    LastError().reset();
  }
}

weir_status StatusOfError(const std::exception& error) {
  if (dynamic_cast<const InvalidArgument*>(&error) != nullptr) return WEIR_INVALID_ARGUMENT;
  if (dynamic_cast<const Mismatch*>(&error) != nullptr) return WEIR_MISMATCH;
  if (dynamic_cast<const PeerLost*>(&error) != nullptr) return WEIR_PEER_LOST;
  if (dynamic_cast<const TimedOut*>(&error) != nullptr) return WEIR_TIMED_OUT;
  if (dynamic_cast<const Corrupt*>(&error) != nullptr) return WEIR_CORRUPT;
  if (dynamic_cast<const ShutDown*>(&error) != nullptr) return WEIR_SHUT_DOWN;
  return WEIR_OTHER;
}

}  // namespace

weir_status Failed(const char* call, const std::exception* error) noexcept {
  if (error != nullptr) {
    Keep(call, error->what());
    return StatusOfError(*error);
  }
  Keep(call, "something was thrown that is no std::exception");
  return WEIR_OTHER;
}

void WriteAll(std::string_view bytes, weir_write write, void* context) {
  if (write == nullptr) throw InvalidArgument("write is null");
  const std::int32_t result = write(context, bytes.data(), bytes.size());
  if (result != 0) throw InvalidArgument("write returned " + std::to_string(result));
}

void ThrowNull(const char* what) { throw InvalidArgument(std::string(what) + " is null"); }

}  // namespace weir::c

const char* weir_last_error() {
  const auto& text = weir::c::LastError();
  return text ? text->c_str() : "there was no memory left";
}

int32_t weir_c_api() { return WEIR_C_API; }
