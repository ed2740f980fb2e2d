#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace weir::launcher {

/// Makes whole lines of a stream that arrives in arbitrary pieces, so that the lines of several
/// ranks can be written one after the other. A carriage return ends a line too, because progress
/// bars write it. Not thread-safe.
class LineAssembler {
 public:
  /// A line that gets longer than this is passed on in parts.
  static constexpr std::size_t kMaxLine = std::size_t{64} << 10;

  /// Adds a piece; returns the lines that are now complete, with their ends.
  std::string Append(std::string_view piece);
  /// Returns the last line, with an end if it had none.
  std::string Finish();

 private:
  std::string rest_;  // At most kMaxLine.
};

/// Puts `prefix` before every line of text that consists of whole lines.
std::string PrefixLines(std::string_view lines, std::string_view prefix);

}  // namespace weir::launcher
