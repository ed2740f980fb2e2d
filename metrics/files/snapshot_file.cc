#include "metrics/files/snapshot_file.h"

#include <fcntl.h>

#include <exception>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/log.h"
#include "weir/error.h"

namespace weir {
namespace {

constexpr std::int64_t kMinPauseNs = 1'000'000'000;
constexpr std::size_t kBufferBytes = 1 << 16;

/// Refuses a path that renaming would damage: it would turn a device into a file.
std::string Replaceable(std::string path) {
  std::error_code unknown;
  const auto status = std::filesystem::status(path, unknown);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw InvalidArgument("cannot write " + path + ": it exists already and is not a file");
  }
  return path;
}

}  // namespace

SnapshotFile::SnapshotFile(std::string path, std::string_view head, std::string tail)
    : path_(Replaceable(std::move(path))), tail_(std::move(tail)), file_(part(), O_TRUNC) {
  Append(head);
  Publish();
}

SnapshotFile::~SnapshotFile() {
  if (!whole_) return;  // The disk took half a text; the published file stays as it is.
  try {
    Append(tail_);
    Flush();
    std::filesystem::rename(part(), path_);
  } catch (const std::exception& error) {
    LogWarning("{} lacks its newest part: {}", path_, error.what());
  }
}

void SnapshotFile::Append(std::string_view text) {
  buffer_ += text;
  written_ += text.size();
  if (buffer_.size() >= kBufferBytes) Flush();
}

void SnapshotFile::Flush() {
  whole_ = false;
  file_.Write(buffer_);
  whole_ = true;
  buffer_.clear();
}

void SnapshotFile::PublishIfDue(std::int64_t now_ns) {
  const bool grown = written_ > published_ && written_ - published_ >= published_ / 4;
  if (!grown || now_ns - published_ns_ < kMinPauseNs) return;
  Publish();
  published_ns_ = now_ns;
}

void SnapshotFile::Publish() {
  Flush();
  const std::string copy = path_ + ".new";
  std::error_code error;
  std::filesystem::copy_file(part(), copy, std::filesystem::copy_options::overwrite_existing,
                             error);
  if (error) OutputFile::Fail(copy, error.value());
  OutputFile(copy, O_APPEND).Write(tail_);
  std::filesystem::rename(copy, path_, error);
  if (error) OutputFile::Fail(path_, error.value());
  published_ = written_;
}

}  // namespace weir
