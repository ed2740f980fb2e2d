#pragma once

#include <poll.h>
#include <sys/types.h>

#include <string>
#include <vector>

#include "common/unique_fd.h"
#include "launcher/output/line_assembler.h"
#include "launcher/start/file_limit.h"

namespace weir::launcher {

/// A process of weirrun that brings supervisors to hosts: mpiexec, an ssh, an srun, or the agent of
/// this host itself. In a process group of its own, so that ^C reaches only weirrun. Not
/// thread-safe.
class Starter {
 public:
  struct Spec {
    std::string name;                  ///< For people: "mpiexec", "ssh".
    std::vector<std::string> command;  ///< The first word is looked up in $PATH.
    std::vector<int> ranks;            ///< That it starts, ascending.
    std::string host;                  ///< Where they are; empty: on several.
    std::string input;                 ///< For its stdin; empty: it has weirrun's own.
    bool takes_stdin = false;          ///< Its stdin goes on with that of weirrun.
    bool own_stderr = false;           ///< Its stderr is that of weirrun.
    std::string advice;                ///< For when it has not started all.
  };

  /// Starts it with the user's own limit on open files. Throws InvalidArgument.
  Starter(Spec spec, const FileLimit& limit);

  const Spec& spec() const { return spec_; }
  pid_t pid() const { return pid_; }
  bool ended() const { return ended_; }
  /// Notes that it was waited for.
  void SetEnded() { ended_ = true; }

  /// Its stdout and stderr, to poll for reading; -1 once at their end.
  int output_fd() const { return output_.get(); }
  /// Returns the whole lines that have come.
  std::vector<std::string> ReadLines();
  /// Returns the last line that had text, without its end.
  const std::string& last_line() const { return last_line_; }

  /// What to poll for, so that its input goes on.
  pollfd input_poll() const;
  /// Moves input on, as far as both ends take it. Call whenever that poll is ready.
  void PumpInput();

 private:
  bool TakesStdinNow() const;

  Spec spec_;  // Without its input, which may be large.
  pid_t pid_ = -1;
  bool ended_ = false;
  UniqueFd output_;
  LineAssembler lines_;
  std::string last_line_;
  UniqueFd input_;
  std::string pending_;  ///< Input that it has not taken yet.
  bool stdin_open_;
};

}  // namespace weir::launcher
