#include "launcher/start/host_job.h"

#include <fmt/core.h>

#include "common/text/parse_number.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

constexpr std::string_view kName = "weirrun host job ";
constexpr std::size_t kDigits = 10;
static_assert(kName.size() + kDigits + 1 == kHostJobHeader);
constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

/// Texts, each ended by a zero byte, which neither commands nor environments can hold.
void Append(std::string& bytes, std::string_view text) { bytes.append(text).push_back('\0'); }

void Append(std::string& bytes, const std::vector<std::string>& texts) {
  Append(bytes, std::to_string(texts.size()));
  for (const std::string& text : texts) Append(bytes, text);
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  std::string Text() {
    const std::size_t end = rest_.find('\0');
    if (end == std::string_view::npos) throw Corrupt("a host's job is cut off", {});
    std::string text(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return text;
  }
  int Number() {
    const auto number = ParseNumber<int>(Text());
    if (!number || *number < 0) throw Corrupt("a host's job has a text for a number", {});
    return *number;
  }
  std::vector<std::string> Texts() {
    std::vector<std::string> texts;
    for (int left = Number(); left > 0; --left) texts.push_back(Text());
    return texts;
  }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace

std::string EncodeHostJob(const HostJob& job) {
  std::string bytes;
  for (const std::string& text : {job.addresses, job.token, job.grace_seconds, job.folder}) {
    Append(bytes, text);
  }
  Append(bytes, std::to_string(job.servers));
  for (const auto* texts : {&job.hosts, &job.environment, &job.command, &job.server}) {
    Append(bytes, *texts);
  }
  return fmt::format("{}{:010}\n{}", kName, bytes.size(), bytes);
}

std::size_t HostJobBytes(std::string_view header) {
  const bool named = header.size() == kHostJobHeader && header.starts_with(kName);
  const auto bytes =
      ParseNumber<std::size_t>(named ? header.substr(kName.size(), kDigits) : std::string_view());
  if (!bytes || *bytes > kMaxBytes) {
    throw Corrupt("stdin does not begin with a host's job of this version of weirrun", {});
  }
  return *bytes;
}

HostJob DecodeHostJob(std::string_view bytes) {
  Reader reader(bytes);
  HostJob job;
  for (std::string* text : {&job.addresses, &job.token, &job.grace_seconds, &job.folder}) {
    *text = reader.Text();
  }
  job.servers = reader.Number();
  for (auto* texts : {&job.hosts, &job.environment, &job.command, &job.server}) {
    *texts = reader.Texts();
  }
  if (!reader.at_end() || job.command.empty() ||
      static_cast<std::size_t>(job.servers) > job.hosts.size()) {
    throw Corrupt("a host's job has parts that do not fit", {});
  }
  return job;
}

}  // namespace weir::launcher
