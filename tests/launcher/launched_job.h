#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "common/unique_fd.h"

namespace weir::launcher {

/// A real weirrun as a child process, its stdout and stderr on one pipe, `input` on stdin. The
/// commands in `shell` run first, in the same process: "ulimit -n 64".
///
/// All processes of the job inherit the writing end of a second pipe, the lifeline: reading to its
/// end waits for the last of them, wherever it is.
class LaunchedJob {
 public:
  explicit LaunchedJob(const std::vector<std::string>& arguments,
                       const std::map<std::string, std::string>& environment = {},
                       const std::string& input = {}, const std::string& shell = {});
  ~LaunchedJob();

  /// Reads output up to the first line that contains `text` and returns that line. A job that
  /// ends without it is a test failure.
  std::string WaitForLine(const std::string& text);
  /// Reads `count` lines that contain `text`.
  std::vector<std::string> WaitForLines(const std::string& text, int count);

  /// Stops reading weirrun's output.
  void CloseOutput() { pipe_.reset(); }
  void Signal(int signal) const;
  /// Waits for weirrun and returns waitpid's status.
  int WaitStatus();
  /// Returns the exit code of a weirrun that ends by itself.
  int ExitCode();
  /// Waits until no process of the job is left.
  void WaitForLastProcess();

  /// All output read so far.
  const std::string& output() const { return output_; }

 private:
  bool ReadMore();

  pid_t pid_ = -1;
  UniqueFd pipe_;
  UniqueFd lifeline_;
  std::string output_;
  std::size_t searched_ = 0;  // Searched part of output_.
};

/// Checks, after a job's end, that none of its processes is left, and none of the shared memory
/// that its ranks said they had (programs/say.h).
void ExpectNothingLeft(LaunchedJob& job);

}  // namespace weir::launcher
