#include "launcher/supervisor/shared_memory_sweeper.h"

#include <sys/inotify.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "launcher/supervisor/process_table.h"

namespace weir::launcher {
namespace {

using std::chrono::milliseconds;

constexpr std::array<std::string_view, 3> kPrefixes = {"mpich_shm_", "ucx_shm_posix_", "weir_"};
// A file appears before its maker can be seen to have it open. The pauses double.
constexpr milliseconds kFirstPause{1};
constexpr milliseconds kLongestPause{64};
constexpr milliseconds kLookFor{2000};

bool IsCandidate(std::string_view name) {
  for (const std::string_view prefix : kPrefixes) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

/// Returns the inode of a file of this user, 0 if there is none.
ino_t InodeOf(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && info.st_uid == geteuid() ? info.st_ino : 0;
}

}  // namespace

SharedMemorySweeper::SharedMemorySweeper(std::string directory)
    : directory_(std::move(directory)),
      inotify_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)),
      pause_(kFirstPause) {
  inotify_add_watch(inotify_.get(), directory_.c_str(), IN_CREATE);
}

void SharedMemorySweeper::Look(pid_t program, Clock::time_point now) {
  ReadEvents(now);
  std::erase_if(unexplained_, [&](const auto& file) {
    return InodeOf(file.first) == 0 || now > file.second + kLookFor;
  });
  if (!unexplained_.empty()) Claim(program);  // Usually its own; the whole session takes longer.
  if (!unexplained_.empty()) {
    for (const pid_t process : ProcessesOfSession(getsid(0))) Claim(process);
  }
  next_look_.reset();
  if (unexplained_.empty()) return;
  next_look_ = now + pause_;
  pause_ = std::min<Clock::duration>(2 * pause_, kLongestPause);
}

void SharedMemorySweeper::Claim(pid_t process) {
  for (const std::string& file : FilesInUse(process, directory_)) {
    if (unexplained_.erase(file) != 0) ours_[file] = InodeOf(file);
  }
}

void SharedMemorySweeper::Sweep() {
  for (const auto& [file, inode] : ours_) {
    if (inode != 0 && InodeOf(file) == inode) unlink(file.c_str());
  }
  ours_.clear();
}

void SharedMemorySweeper::ReadEvents(Clock::time_point now) {
  alignas(inotify_event) std::array<char, 16384> buffer;
  ssize_t size = 0;
  while ((size = read(inotify_.get(), buffer.data(), buffer.size())) > 0) {
    for (ssize_t at = 0; at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      if (event->len > 0 && IsCandidate(event->name)) {
        unexplained_.emplace(directory_ + "/" + event->name, now);
        pause_ = kFirstPause;
      }
      at += static_cast<ssize_t>(sizeof(inotify_event)) + event->len;
    }
  }
}

}  // namespace weir::launcher
