#pragma once

#include <stdexcept>
#include <string>
#include <vector>

/// Every exception that Weir throws, in one hierarchy. docs/errors.md says when each one appears
/// and what a program can still do then. In short: after `InvalidArgument` and `Mismatch` the
/// engine goes on; after `PeerLost`, `TimedOut` and `Corrupt` it has ended on all ranks.
namespace weir {

/// The place of an error. Empty fields are unknown or do not apply.
struct ErrorContext {
  std::string tensor;      ///< Name of the tensor or parameter.
  std::vector<int> ranks;  ///< Ranks involved, ascending.
  std::string phase;       ///< "submit", "negotiate", "pack", "compress", "exchange", "merge", ...
};

/// Base of all errors of the engine. `what()` is a whole sentence that includes what `context()`
/// holds. Copyable and immutable, so it may cross threads.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, ErrorContext context = {})
      : std::runtime_error(message), context_(std::move(context)) {}
  const ErrorContext& context() const { return context_; }

 private:
  ErrorContext context_;
};

/// A call, a setting or a file is wrong, and this rank alone can see it. Nothing was changed.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// Ranks disagree (shape, type, operation, settings). Every rank gets the same text, which names
/// the tensor, the ranks and both values. The tensor's operation failed; the engine goes on.
class Mismatch : public Error {
 public:
  using Error::Error;
};

/// Another rank's process died or was declared dead. `context().ranks` holds the lost ranks.
class PeerLost : public Error {
 public:
  using Error::Error;
};

/// A deadline passed: a wait, or a tensor that some ranks never submitted.
class TimedOut : public Error {
 public:
  using Error::Error;
};

/// Bytes from another rank (or from a saved state) fail their checks.
class Corrupt : public Error {
 public:
  using Error::Error;
};

/// The engine was shut down, here or by another rank, or belongs to the parent of this process.
class ShutDown : public Error {
 public:
  using Error::Error;
};

}  // namespace weir
