#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "common/settings/compression_text.h"
#include "common/settings/settings_table.h"
#include "common/text/exact_text.h"
#include "common/text/parse_number.h"
#include "weir/error.h"

// Turns text into a value and back, for every type of setting. A ParseValue that returns nothing
// means "not allowed"; the one place that knows the variable makes the error.
namespace weir {
namespace {

std::string Lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

template <typename T, std::size_t N>
using Names = std::array<std::pair<std::string_view, T>, N>;

constexpr Names<bool, 8> kBooleans = {{{"true", true},
                                       {"false", false},
                                       {"1", true},
                                       {"yes", true},
                                       {"on", true},
                                       {"0", false},
                                       {"no", false},
                                       {"off", false}}};
constexpr Names<LogLevel, 6> kLogLevels = {{{"trace", LogLevel::kTrace},
                                            {"debug", LogLevel::kDebug},
                                            {"info", LogLevel::kInfo},
                                            {"warning", LogLevel::kWarning},
                                            {"error", LogLevel::kError},
                                            {"fatal", LogLevel::kFatal}}};
constexpr Names<PipelineMode, 3> kPipelineModes = {{{"serial", PipelineMode::kSerial},
                                                    {"thread", PipelineMode::kThread},
                                                    {"process", PipelineMode::kProcess}}};
constexpr Names<TransportKind, 3> kTransports = {
    {{"auto", TransportKind::kAuto}, {"mpi", TransportKind::kMpi}, {"ucx", TransportKind::kUcx}}};
constexpr Names<GpuTransport, 3> kGpuTransports = {{{"auto", GpuTransport::kAuto},
                                                    {"nccl", GpuTransport::kNccl},
                                                    {"mpi-staged", GpuTransport::kMpiStaged}}};

const auto& NamesOf(bool) { return kBooleans; }
const auto& NamesOf(LogLevel) { return kLogLevels; }
const auto& NamesOf(PipelineMode) { return kPipelineModes; }
const auto& NamesOf(TransportKind) { return kTransports; }
const auto& NamesOf(GpuTransport) { return kGpuTransports; }

template <typename T>
concept Named = requires(T value) {
  NamesOf(value);
}
&&(std::is_enum_v<T> || std::is_same_v<T, bool>);
template <typename T>
concept Number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

template <Named T>
std::optional<T> ParseValue(const SettingRow&, const std::string& text, T) {
  for (const auto& [name, value] : NamesOf(T{})) {
    if (name == Lower(text)) return value;
  }
  return std::nullopt;
}

template <Number T>
std::optional<T> ParseValue(const SettingRow& row, const std::string& text, T) {
  const std::optional<T> value = ParseNumber<T>(text);
  if (!value) return std::nullopt;
  const auto wide = static_cast<double>(*value);
  if (!std::isfinite(wide) || wide < row.min || wide > row.max) return std::nullopt;
  return value;
}

std::optional<std::string> ParseValue(const SettingRow&, const std::string& text,
                                      const std::string&) {
  return text;
}

/// Throws InvalidArgument that says what is wrong.
std::optional<StringMap> ParseValue(const SettingRow&, const std::string& text, const StringMap&) {
  return CompressionFromText(text);
}

template <Named T>
std::string FormatValue(T value) {
  for (const auto& [name, candidate] : NamesOf(value)) {
    if (candidate == value) return std::string(name);
  }
  return "?";
}

template <Number T>
std::string FormatValue(T value) {
  return ExactText(value);
}

std::string FormatValue(const std::string& value) { return value; }

std::string FormatValue(const StringMap& map) { return CompressionText(map); }

}  // namespace

void Parse(const SettingRow& row, const std::string& variable, const std::string& text,
           Settings& settings) {
  std::visit(
      [&](auto member) {
        std::optional<std::remove_cvref_t<decltype(settings.*member)>> value;
        std::string refused = variable + "=" + (row.secret ? "..." : text) +
                              " is not allowed; allowed: " + row.allowed;
        try {
          value = ParseValue(row, text, settings.*member);
        } catch (const InvalidArgument& error) {
          refused += std::string(": ") + error.what();
        }
        if (!value) throw InvalidArgument(refused);
        settings.*member = *std::move(value);
      },
      row.member);
}

std::string Format(const SettingRow& row, const Settings& settings) {
  return std::visit([&](auto member) { return FormatValue(settings.*member); }, row.member);
}

}  // namespace weir
