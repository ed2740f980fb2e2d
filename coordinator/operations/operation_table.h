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
/// submitted, and kept, with its scratch memory, as long as its name has a slot: so there are never
/// more idle ones than slots, however many names a program makes up. Thread-safe.
class OperationTable {
 public:
  /// Of `set`, whose ranks exchange over `network`.
  OperationTable(ProcessSet& set, SetNetwork& network, HandleTable& handles, BucketNames& names)
      : set_(set), network_(network), handles_(handles), names_(names) {}

  /// Begins a run of the operation of the request's name, which must then be announced to the
  /// network thread. Throws InvalidArgument while one is under way.
  std::pair<Operation*, Handle> Submit(Submission submission);

  /// Network thread, which has let go of the operation and keeps no slot for it: forgets it, unless
  /// it was submitted again meanwhile.
  void Retire(Operation* operation);

  /// Forgets all that are idle.
  void Clear();

  std::size_t size() const;
  /// The name of one that is under way.
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
