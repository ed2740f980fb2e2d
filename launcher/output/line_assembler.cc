#include "launcher/output/line_assembler.h"

#include <algorithm>
#include <utility>

namespace weir::launcher {
namespace {

/// Returns the length of the first line with its end, npos when it is incomplete. The carriage
/// return of "\r\n" ends nothing, and a last one may yet be of that kind.
std::size_t FirstLine(std::string_view text) {
  const std::size_t end = text.find_first_of("\r\n");
  if (end == std::string_view::npos) return end;
  if (text[end] == '\n') return end + 1;
  if (end + 1 == text.size()) return std::string_view::npos;
  return text[end + 1] == '\n' ? end + 2 : end + 1;
}

}  // namespace

std::string LineAssembler::Append(std::string_view piece) {
  rest_ += piece;
  std::string lines;
  std::size_t begin = 0;
  const std::string_view all = rest_;
  for (std::size_t length = 0;; begin += length) {
    length = FirstLine(all.substr(begin));
    if (length == std::string_view::npos) break;
  }
  lines = rest_.substr(0, begin);
  rest_.erase(0, begin);
  if (rest_.size() > kMaxLine) lines += std::exchange(rest_, {}) + "\n";
  return lines;
}

std::string LineAssembler::Finish() {
  std::string line = std::exchange(rest_, {});
  if (!line.empty()) line += '\n';
  return line;
}

std::string PrefixLines(std::string_view lines, std::string_view prefix) {
  std::string result;
  while (!lines.empty()) {
    const std::size_t length = FirstLine(lines);
    result.append(prefix).append(lines.substr(0, length));
    lines.remove_prefix(std::min(length, lines.size()));
  }
  return result;
}

}  // namespace weir::launcher
