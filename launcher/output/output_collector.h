#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include "common/supervision/message_socket.h"
#include "launcher/output/output_writer.h"

namespace weir::launcher {

/// Reads the output connections of all ranks on a thread of its own: a stopped terminal, or a slow
/// pipe, holds back the programs but not the heartbeats. Thread-safe.
class OutputCollector {
 public:
  OutputCollector(const OutputOptions& options, int ranks);
  /// Ends the thread without waiting for more output.
  ~OutputCollector();

  void Add(int rank, supervision::MessageSocket connection);
  /// Returns when all ranks have closed their connections and everything is written; gives up on
  /// connections that stay open for longer than `patience`. False when output was lost because it
  /// could not be written, which was reported on stderr.
  [[nodiscard]] bool Finish(std::chrono::milliseconds patience);

 private:
  struct Source {
    int rank;
    supervision::MessageSocket connection;
  };

  void Run(const std::stop_token& stop);
  void Write(int rank, const std::vector<supervision::Message>& messages);
  void Wake();

  OutputWriter writer_;  // Used by the thread alone.
  std::mutex mutex_;
  std::vector<Source> new_sources_;  // For mutex_.
  std::atomic<bool> finishing_{false};
  std::atomic<std::chrono::steady_clock::time_point> give_up_{};
  UniqueFd wake_;  // eventfd
  std::jthread thread_;
};

}  // namespace weir::launcher
