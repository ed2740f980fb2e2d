#include "launcher/output/output_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <utility>

#include "common/write_all.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

/// Returns "rank.07" when there are ten ranks or more, so that names sort.
std::string FolderName(int rank, int ranks) {
  // More ranks may come later.
  const std::size_t width = std::max(std::to_string(ranks - 1).size(), std::to_string(rank).size());
  const std::string number = std::to_string(rank);
  return std::string("rank.").append(width - number.size(), '0').append(number);
}

}  // namespace

OutputWriter::OutputWriter(const OutputOptions& options, int ranks)
    : options_(options), ranks_(ranks), streams_(static_cast<std::size_t>(ranks)) {
  for (int rank = 0; rank < ranks; ++rank) Open(rank);
}

void OutputWriter::Open(int rank) {
  if (options_.folder.empty()) return;
  const std::filesystem::path folder = options_.folder / FolderName(rank, ranks_);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  for (const int code : {1, 2}) {
    const std::filesystem::path path = folder / (code == 1 ? "stdout" : "stderr");
    Stream& stream = streams_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(code - 1)];
    stream.file.reset(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (!stream.file) {
      throw InvalidArgument("--output-filename: cannot write '" + path.string() +
                            "': " + std::strerror(errno) + "; give a folder that can be made");
    }
    stream.path = path;
  }
}

void OutputWriter::MakeRoomFor(int rank) {
  while (std::cmp_less_equal(streams_.size(), rank)) {
    streams_.emplace_back();
    try {
      Open(static_cast<int>(streams_.size()) - 1);
    } catch (const InvalidArgument&) {
      Check(errno, options_.folder.string());
    }
  }
}

void OutputWriter::Write(int rank, int code, std::string_view bytes) {
  MakeRoomFor(rank);
  Stream& stream = streams_[static_cast<std::size_t>(rank)][code == 2 ? 1 : 0];
  if (stream.file) Check(WriteAll(stream.file.get(), bytes), stream.path.string());
  Print(rank, code, stream.lines.Append(bytes));
}

void OutputWriter::Finish() {
  for (std::size_t rank = 0; rank < streams_.size(); ++rank) {
    for (const int code : {1, 2}) {
      Stream& stream = streams_[rank][static_cast<std::size_t>(code - 1)];
      Print(static_cast<int>(rank), code, stream.lines.Finish());
    }
  }
}

void OutputWriter::Print(int rank, int code, const std::string& lines) {
  const std::string prefix = Prefix(rank);
  const int error = WriteAll(code == 2 ? STDERR_FILENO : STDOUT_FILENO,
                             prefix.empty() ? lines : PrefixLines(lines, prefix));
  // Nobody reads our output any more. To the whole process, as the main thread waits for signals.
  if (error == EPIPE) kill(getpid(), SIGPIPE);
  if (error != EPIPE) Check(error, code == 2 ? "standard error" : "standard output");
}

void OutputWriter::Check(int error, const std::string& what) {
  // Reported once and at once: a long job may fill a disk early, and each line would repeat it.
  if (error == 0 || std::exchange(lost_, true)) return;
  std::fprintf(stderr, "weirrun: cannot write to %s: %s; what the ranks print is lost\n",
               what.c_str(), std::strerror(error));
}

std::string OutputWriter::Prefix(int rank) const {
  std::string prefix;
  if (options_.timestamps) {
    const std::time_t now = std::time(nullptr);
    std::tm local{};
    localtime_r(&now, &local);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S ", &local);
    prefix += text.data();
  }
  if (options_.prefix) prefix.append("[").append(std::to_string(rank)).append("] ");
  return prefix;
}

}  // namespace weir::launcher
