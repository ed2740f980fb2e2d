#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "common/supervision/supervision.h"
#include "common/unique_fd.h"

namespace weir::supervision {

/// Messages over a connected TCP socket, without ever blocking. Not thread-safe.
class MessageSocket {
 public:
  /// Bytes that may wait for a peer that takes nothing; beyond that the peer is given up. Leaves
  /// room for a status of every rank of a large job.
  static constexpr std::size_t kMaxQueued = std::size_t{256} << 20;

  /// Takes the socket over and makes it non-blocking.
  explicit MessageSocket(UniqueFd socket);

  int fd() const { return socket_.get(); }
  /// False once the peer has closed, sent something malformed, or takes nothing any more.
  bool open() const { return open_; }
  /// True if the peer has sent something malformed.
  bool corrupt() const { return corrupt_; }
  std::size_t queued() const { return queue_.size() - sent_; }

  /// Sends as much as the socket takes now and keeps the rest for Flush.
  void Send(const Message& message);
  /// Sends waiting bytes, as far as the socket takes them.
  void Flush();
  /// Returns the messages that have arrived since the last call.
  std::vector<Message> Receive();
  /// Gives received messages back: the next Receive returns them first, whether more come or not.
  void PutBack(std::vector<Message> messages) { put_back_ = std::move(messages); }

 private:
  UniqueFd socket_;
  bool open_ = true;
  bool corrupt_ = false;
  std::vector<Message> put_back_;
  Decoder decoder_;
  std::string queue_;
  std::size_t sent_ = 0;  // Bytes of queue_.
};

}  // namespace weir::supervision
