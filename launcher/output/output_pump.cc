#include "launcher/output/output_pump.h"

#include <array>
#include <cerrno>

namespace weir::launcher {

using supervision::MessageType;

void OutputPump::Attach(UniqueFd output, UniqueFd errors) {
  output_ = std::move(output);
  errors_ = std::move(errors);
}

void OutputPump::Pump() {
  connection_.Flush();
  if (output_) Read(output_, 1);
  if (errors_) Read(errors_, 2);
}

bool OutputPump::done() const {
  return !output_ && !errors_ && (connection_.queued() == 0 || !connection_.open());
}

void OutputPump::Read(UniqueFd& pipe, int code) {
  std::array<char, 32768> bytes;
  while (Wanted()) {
    const ssize_t n = read(pipe.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      pipe.reset();
      return;
    }
    // Without a reader the output is dropped, so that the program never blocks on a dead launcher.
    connection_.Send({.type = MessageType::kOutput,
                      .rank = -1,
                      .code = code,
                      .text = std::string(bytes.data(), static_cast<std::size_t>(n))});
  }
}

}  // namespace weir::launcher
