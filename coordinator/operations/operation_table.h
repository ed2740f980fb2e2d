#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "coordinator/operations/operation.h"

namespace weir {

/// The single operations of a rank in a process set, by name. One is made when its name is
/// submitted, and kept, with its scratch memory, as long as its name has a slot. So there are never
/// more idle ones than slots, however many names a program makes up. Thread-safe.
class OperationTable {
 public:
  /// Makes a table for `set`, whose ranks exchange over `network`.
  OperationTable(ProcessSet& set, SetNetwork& network, HandleTable& handles, BucketNames& names)
      : set_(set), network_(network), handles_(handles), names_(names) {}

  /// Begins a run of the operation with the request's name, which must then be announced to the
  /// network thread. Throws InvalidArgument while one is under way.
  std::pair<Operation*, Handle> Submit(Submission submission);

  /// Forgets an operation that the network thread has let go of and keeps no slot for, unless it
  /// was submitted again meanwhile. Network thread only.
  void Retire(Operation* operation);

  /// Forgets all idle operations.
  void Clear();

  std::size_t size() const;
  /// Returns the name of an operation that is under way, if any.
  std::optional<std::string> Busy() const;

 private:
  ProcessSet& set_;
  SetNetwork& network_;
  HandleTable& handles_;
  BucketNames& names_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, std::unique_ptr<Operation>> operations_;
};

}  // namespace weir
