#include "monitor_gui/source/file_source.h"

#include <QDateTime>
#include <QDir>
#include <QFileInfo>
#include <QRegularExpression>
#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <ranges>
#include <set>
#include <stdexcept>

#include "monitor_gui/log/job_id.h"

namespace weir::monitor {
namespace {

// For a long run, one in so many blocks of gradients is read first, then those halfway, ...
constexpr std::size_t kCoarsest = 32;

constexpr std::size_t kReaders = 2;  // One per file.
// Readers and the window hand the run to each other, which takes as long as some blocks do.
constexpr std::size_t kBlocksAtOnce = 8;

/// Returns the newest job id of a file.
QString JobOf(const LogFile& file) {
  for (const auto& entry : std::views::reverse(file.entries()))
    if (entry.head.kind == "run") return entry.job;
  return {};
}

/// Returns the job id of the given file; if it has none or does not exist, of the newest one.
QString JobOf(const QString& asked_for, const QStringList& paths,
              const std::vector<std::unique_ptr<LogFile>>& files) {
  QString newest;
  QDateTime time;
  for (std::size_t i = 0; i < files.size(); ++i) {
    const QString job = JobOf(*files[i]);
    const QFileInfo info(paths[static_cast<qsizetype>(i)]);
    if (job.isEmpty()) continue;
    if (info == QFileInfo(asked_for)) return job;
    if (time.isValid() && info.lastModified() <= time) continue;
    newest = job;
    time = info.lastModified();
  }
  return newest;
}

/// Calls `read` with 0, 1, ..., each on a thread of its own, and waits.
void OnAllReaders(const std::function<void(std::size_t)>& read) {
  std::vector<std::unique_ptr<QThread>> others;
  for (std::size_t reader = 1; reader < kReaders; ++reader) {
    auto& other = others.emplace_back(QThread::create(read, reader));
    other->setObjectName("weir-reader");
    other->start();
  }
  read(0);
  for (const auto& other : others) other->wait();
}

}  // namespace

QStringList FilesOfRun(const QString& path) {
  const QFileInfo given(path);
  const QRegularExpression of_rank("^(.*)\\.rank\\d+$");
  const QRegularExpressionMatch match = of_rank.match(given.completeBaseName());
  const QString stem = match.hasMatch() ? match.captured(1) : given.completeBaseName();
  const QString suffix = given.suffix().isEmpty() ? "" : "." + given.suffix();

  QStringList files;
  const QFileInfo first(given.dir(), stem + suffix);
  if (first.exists()) files += first.filePath();
  const QRegularExpression sibling("^" + QRegularExpression::escape(stem) + "\\.rank\\d+" +
                                   QRegularExpression::escape(suffix) + "$");
  const QStringList names = given.dir().entryList(QDir::Files, QDir::Name);
  for (const QString& name : names) {
    if (sibling.match(name).hasMatch()) files += given.dir().filePath(name);
  }
  return files.isEmpty() ? QStringList{path} : files;
}

void FileSource::Start() {
  const QStringList paths = FilesOfRun(path_);
  if (!OpenFiles(paths)) return;
  std::set<int> ranks;
  for (const Place& place : places_) ranks.insert(place.entry->head.rank);
  run_.Write([&](Run& run) {  // Adds the ranks, though no file has been read yet.
    for (const int rank : ranks) run.SetLink(rank, {.state = RankLink::State::kConnecting});
  });
  Read(Overview());
  Read(NewestStages());
  Read(Gradients());
  qsizetype damaged = 0;
  for (const auto& file : files_) damaged += file->damaged();
  places_.clear();
  files_.clear();
  QStringList said{paths.size() == 1 ? path_ : tr("%1, %2 files").arg(path_).arg(paths.size())};
  if (damaged > 0) said += tr("%1 bytes are damaged and left out").arg(damaged);
  if (others_ == 1) said += tr("a rank of another job is left out");
  if (others_ > 1) said += tr("%1 ranks of other jobs are left out").arg(others_);
  emit Said(said.join("; "));
  emit Finished();
}

bool FileSource::OpenFiles(const QStringList& paths) {
  emit Said(tr("reading %1").arg(path_));
  files_.resize(static_cast<std::size_t>(paths.size()));
  std::vector<QString> refusals(files_.size());
  OnAllReaders([&](std::size_t reader) {
    for (std::size_t i = reader; i < files_.size(); i += kReaders) {
      try {
        files_[i] = std::make_unique<LogFile>(paths[static_cast<qsizetype>(i)]);
      } catch (const std::runtime_error& why) {
        refusals[i] = QString::fromUtf8(why.what());
      }
    }
  });
  for (std::size_t i = 0; i < files_.size(); ++i) {
    if (files_[i] == nullptr) {
      emit Failed(tr("cannot read %1: %2").arg(paths[static_cast<qsizetype>(i)], refusals[i]));
      return false;
    }
  }
  const QString job = JobOf(path_, paths, files_);
  for (const auto& file : files_) {
    const auto places = PlacesOf(*file, job);
    places_.insert(places_.end(), places.begin(), places.end());
  }
  return true;
}

void FileSource::Read(const std::vector<Place>& places) {
  std::map<const LogFile*, std::size_t> readers;
  for (std::size_t i = 0; i < files_.size(); ++i) readers[files_[i].get()] = i % kReaders;
  std::array<std::vector<Place>, kReaders> parts;
  for (const Place& place : places) parts[readers[place.file]].push_back(place);
  const QThread& thread = *QThread::currentThread();
  OnAllReaders([&](std::size_t reader) { ReadPart(parts[reader], thread); });
}

void FileSource::ReadPart(const std::vector<Place>& places, const QThread& thread) {
  LogFile* before = nullptr;
  std::vector<Block> read;
  const auto add = [&] {
    run_.Write([&](Run& run) {
      for (const Block& block : read) {
        run.Add(block);
        run.SetLink(block.rank(), {.state = RankLink::State::kRecorded});
      }
    });
    read.clear();
  };
  for (const auto& [file, entry] : places) {
    if (before != nullptr && before != file) before->Release();
    before = file;
    if (thread.isInterruptionRequested()) return;  // The window is closed.
    file->Read(*entry, [&](const Block& block) { read.push_back(block); });
    if (read.size() >= kBlocksAtOnce) add();
  }
  add();
  if (before != nullptr) before->Release();
}

std::vector<FileSource::Place> FileSource::PlacesOf(LogFile& file, const QString& job) {
  std::map<int, const LogFile::Entry*> begins;  // By rank.
  for (const auto& entry : file.entries()) {
    if (entry.head.kind == "run") begins[entry.head.rank] = &entry;
  }
  std::vector<Place> places;
  for (const auto& entry : file.entries()) {
    const auto begin = begins.find(entry.head.rank);
    const bool is_left_out = begin != begins.end() && (&entry < begin->second ||
                                                       AreOfDifferentJobs(begin->second->job, job));
    if (!is_left_out) places.push_back({&file, &entry});
  }
  others_ += std::ranges::count_if(
      begins, [&](const auto& begin) { return AreOfDifferentJobs(begin.second->job, job); });
  return places;
}

std::vector<FileSource::Place> FileSource::Overview() const {
  std::vector<Place> overview;
  std::ranges::copy_if(places_, std::back_inserter(overview), [](const Place& place) {
    return place.entry->head.kind != "stages" && place.entry->head.kind != "gradients";
  });
  return overview;
}

std::vector<FileSource::Place> FileSource::NewestStages() const {
  std::vector<Place> stages;
  std::map<int, std::size_t> rows;  // By rank.
  const std::size_t most = run_.Read([](const Run& run) {
    return run.ranks().empty() ? 0 : run.ranks().begin()->second.most_stages();
  });
  for (const Place& place : std::views::reverse(places_)) {
    const LogFile::Entry& entry = *place.entry;
    const bool known = rows[entry.head.rank] >= most && entry.head.lost == 0;
    if (entry.head.kind != "stages" || known) continue;
    rows[entry.head.rank] += static_cast<std::size_t>(entry.head.rows);
    stages.push_back(place);
  }
  std::ranges::reverse(stages);
  return stages;
}

std::vector<FileSource::Place> FileSource::Gradients() const {
  // A block is in the pass of the largest power of 2 that divides its number within its rank.
  std::map<std::size_t, std::vector<Place>, std::greater<>> passes;
  std::map<int, std::size_t> seen;
  for (const Place& place : places_) {
    if (place.entry->head.kind != "gradients") continue;
    const std::size_t number = seen[place.entry->head.rank]++;
    passes[number == 0 ? kCoarsest : std::min(kCoarsest, number & -number)].push_back(place);
  }
  std::vector<Place> gradients;
  for (const auto& [pass, some] : passes)
    gradients.insert(gradients.end(), some.begin(), some.end());
  return gradients;
}

}  // namespace weir::monitor
