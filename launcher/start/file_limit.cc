#include "launcher/start/file_limit.h"

namespace weir::launcher {

FileLimit::FileLimit() {
  getrlimit(RLIMIT_NOFILE, &users_);
  Raise();
}

void FileLimit::Raise() const {
  const rlimit all = {users_.rlim_max, users_.rlim_max};
  setrlimit(RLIMIT_NOFILE, &all);
}

void FileLimit::RestoreUsers() const { setrlimit(RLIMIT_NOFILE, &users_); }

}  // namespace weir::launcher
