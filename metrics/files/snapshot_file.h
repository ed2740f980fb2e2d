#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "metrics/files/output_file.h"

namespace weir {

/// A growing text file that is complete whenever somebody opens it: it always ends with the closing
/// text (say, the "]" of a JSON array).
///
/// Writing in place cannot promise that, not even when one pwrite replaces the old end by
/// the new text and a new end. Linux file systems copy page by page, and on most of them
/// (ext4, tmpfs) a read takes no lock against a write, so a reader can meet half of it.
/// So the file itself is never written to. Text is appended to FILE.part. From time to
/// time a copy of it with the closing text is renamed to FILE, which POSIX makes atomic:
/// a reader gets the old file or the new one, and keeps it. A copy is made when the text
/// has grown by a quarter, so all copies together cost at most five times the writing.
/// Finish renames FILE.part itself.
///
/// Not thread-safe.
class SnapshotFile {
 public:
  /// Creates FILE with `head` and `tail`. Throws InvalidArgument that names the file and the
  /// reason.
  SnapshotFile(std::string path, std::string_view head, std::string tail);
  /// Finishes.
  ~SnapshotFile();
  SnapshotFile(const SnapshotFile&) = delete;
  SnapshotFile& operator=(const SnapshotFile&) = delete;

  /// Throws InvalidArgument when the disk refuses the text; FILE then never changes again.
  void Append(std::string_view text);
  /// Publishes when a copy pays off and a second has passed since the last one.
  void PublishIfDue(std::int64_t now_ns);
  void Publish();

 private:
  std::string part() const { return path_ + ".part"; }
  void Flush();

  const std::string path_;
  const std::string tail_;
  const OutputFile file_;
  std::string buffer_;  // Appended and not written yet.
  bool whole_ = true;   // FILE.part ends at the end of a text.
  std::uint64_t written_ = 0;
  std::uint64_t published_ = 0;
  std::int64_t published_ns_ = 0;
};

}  // namespace weir
