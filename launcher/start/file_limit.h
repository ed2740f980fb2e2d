#pragma once

#include <sys/resource.h>

namespace weir::launcher {

/// Raises this process's limit on open files to the hard one for the life of this object: weirrun
/// holds two connections per rank, where the usual soft limit is 1024. Not thread-safe.
class FileLimit {
 public:
  FileLimit();
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
  ~FileLimit() { RestoreUsers(); }

  void Raise() const;
  /// Restores the user's limit, for a started process to inherit. Programs that use select() break
  /// with more than 1024 files, and a user may have lowered the limit on purpose.
  void RestoreUsers() const;

 private:
  rlimit users_{};
};

}  // namespace weir::launcher
