#pragma once

#include <sys/resource.h>

namespace weir::launcher {

/// Raises this process's limit on open files to the hard one for as long as it lives: weirrun holds
/// two connections a rank, where the usual soft limit is 1024. Not thread-safe.
class FileLimit {
 public:
  FileLimit();
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
  ~FileLimit() { RestoreUsers(); }

  void Raise() const;
  /// What a started process inherits should be the user's: programs that use select() break with
  /// more than 1024 files, and a user may have lowered the limit on purpose.
  void RestoreUsers() const;

 private:
  rlimit users_{};
};

}  // namespace weir::launcher
