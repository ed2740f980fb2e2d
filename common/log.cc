#include "common/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <memory>

namespace weir {
namespace {

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  constexpr std::array kLevels = {spdlog::level::trace, spdlog::level::debug,
                                  spdlog::level::info,  spdlog::level::warn,
                                  spdlog::level::err,   spdlog::level::critical};
  return kLevels[static_cast<std::size_t>(level)];
}

thread_local int rank_of_thread = -1;

/// Prints the rank of the thread that writes, or of the process if the thread has none.
class RankFlag : public spdlog::custom_flag_formatter {
 public:
  explicit RankFlag(int rank) : rank_(rank) {}
  void format(const spdlog::details::log_msg&, const std::tm&, spdlog::memory_buf_t& out) override {
    const std::string text = std::to_string(rank_of_thread >= 0 ? rank_of_thread : rank_);
    out.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<RankFlag>(rank_);
  }

 private:
  int rank_;
};

void SetPattern(spdlog::logger& logger, const std::string& pattern, int rank = 0) {
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<RankFlag>('&', rank).set_pattern(pattern);
  logger.set_formatter(std::move(formatter));
}

std::shared_ptr<spdlog::logger> MakeLogger() {
  auto logger =
      std::make_shared<spdlog::logger>("weir", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_level(spdlog::level::warn);
  logger->flush_on(spdlog::level::trace);
  SetPattern(*logger, "%Y-%m-%d %H:%M:%S.%e [weir] %l: %v");
  spdlog::register_logger(logger);
  return logger;
}

// Returns the registry's logger, without its lock on every message.
spdlog::logger& Logger() {
  static const std::shared_ptr<spdlog::logger> logger = MakeLogger();
  return *logger;
}

std::string WithoutPatternFlags(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += c == '%' ? "%%" : std::string(1, c);
  return escaped;
}

}  // namespace

void Log::Configure(const Settings& settings, int rank, const std::string& host) {
  spdlog::logger& logger = Logger();
  logger.set_level(ToSpdlog(settings.log_level));
  SetPattern(logger,
             (settings.log_timestamps ? "%Y-%m-%d %H:%M:%S.%e " : "") +
                 fmt::format("[weir rank %& {}] %l: %v", WithoutPatternFlags(host)),
             rank);
  if (rank != 0) return;
  for (const std::string& warning : settings.warnings()) LogWarning("{}", warning);
  LogInfo("settings:\n{}", settings.Describe());
}

void Log::SetRankOfThread(int rank) { rank_of_thread = rank; }

bool Log::Enabled(LogLevel level) { return Logger().should_log(ToSpdlog(level)); }

void Log::Write(LogLevel level, std::string_view message) {
  Logger().log(ToSpdlog(level), spdlog::string_view_t(message.data(), message.size()));
}

}  // namespace weir
