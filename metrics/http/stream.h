#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "common/unique_fd.h"

namespace weir {

/// The bytes to and from one reader. Never blocks. Not thread-safe.
class HttpStream {
 public:
  /// What came of a call: bytes, or what has to happen to the socket before the next one.
  struct Result {
    enum class State { kMoved, kWaitsToRead, kWaitsToWrite, kClosed };
    State state = State::kClosed;
    std::size_t bytes = 0;
  };

  virtual ~HttpStream() = default;
  virtual int fd() const = 0;
  virtual Result Read(std::span<char> buffer) = 0;
  virtual Result Write(std::string_view bytes) = 0;
  /// Says that nothing more is written.
  virtual void EndWriting() = 0;
};

/// Takes over a connected socket that does not block.
std::unique_ptr<HttpStream> MakePlainStream(UniqueFd socket);

}  // namespace weir
