#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "common/unique_fd.h"

namespace weir::launcher {

/// A real weirrun as a child process, its stdout and stderr on one pipe, `input` on stdin. What
/// `shell` says is done first, in the same process: "ulimit -n 64".
///
/// All processes of the job inherit the writing end of a second pipe, the lifeline: reading its end
/// is waiting for the last of them, wherever it is.
class LaunchedJob {
 public:
  explicit LaunchedJob(const std::vector<std::string>& arguments,
                       const std::map<std::string, std::string>& environment = {},
                       const std::string& input = {}, const std::string& shell = {});
  ~LaunchedJob();

  /// Reads output up to the first line that contains `text` and returns that line. A job that ends
  /// without it is a test failure.
  std::string WaitForLine(const std::string& text);
  /// Reads `count` lines that contain `text`.
  std::vector<std::string> WaitForLines(const std::string& text, int count);

  /// Stops reading what weirrun writes.
  void CloseOutput() { pipe_.reset(); }
  void Signal(int signal) const;
  /// Waits for weirrun and returns what waitpid says.
  int WaitStatus();
  /// The same for a weirrun that ends by itself.
  int ExitCode();
  /// Waits until no process of the job is left.
  void WaitForLastProcess();

  /// Everything that has been read so far.
  const std::string& output() const { return output_; }

 private:
  bool ReadMore();

  pid_t pid_ = -1;
  UniqueFd pipe_;
  UniqueFd lifeline_;
  std::string output_;
  std::size_t searched_ = 0;  // Of output_.
};

/// After a job's end: none of its processes is left, and none of the shared memory that its ranks
/// said they had (programs/say.h).
void ExpectNothingLeft(LaunchedJob& job);

}  // namespace weir::launcher
