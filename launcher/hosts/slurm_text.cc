#include "launcher/hosts/slurm_text.h"

#include <algorithm>
#include <string_view>

#include "common/text/parse_number.h"
#include "weir/error.h"

namespace weir::launcher {
namespace {

constexpr std::size_t kMostHosts = 16384;  // As many as ranks may be.
constexpr std::size_t kMostDigits = 63;    // In one label of a host's name.
constexpr auto kMostBrackets = 63;         // In one name.

[[noreturn]] void ThrowBad(const std::string& where, std::string_view text, const char* form) {
  throw InvalidArgument(where + " holds '" + std::string(text) + "', which is not of the form " +
                        form);
}

constexpr const char* kNodes = "n[01-03,7],gpu-5";
constexpr const char* kCounts = "2(x3),1";

/// Divides at the commas that are outside of brackets.
std::vector<std::string_view> Parts(std::string_view text) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (text[i] == '[' || text[i] == ']')) inside = text[i] == '[';
    if (i < text.size() && (text[i] != ',' || inside)) continue;
    parts.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

/// Parses a text of digits alone; -1 for anything else.
int Number(std::string_view digits) {
  return digits.starts_with('-') ? -1 : ParseNumber<int>(digits).value_or(-1);
}

/// Returns the numbers of "01-03,7", as wide as they are written.
std::vector<std::string> Range(const std::string& where, std::string_view whole,
                               std::string_view text) {
  std::vector<std::string> numbers;
  for (const std::string_view part : Parts(text)) {
    const std::size_t dash = part.find('-');
    const std::string_view low = part.substr(0, dash);
    const int first = Number(low);
    const int last = dash == std::string_view::npos ? first : Number(part.substr(dash + 1));
    if (first < 0 || last < first || low.size() > kMostDigits ||
        numbers.size() + static_cast<std::size_t>(last - first) >= kMostHosts) {
      ThrowBad(where, whole, kNodes);
    }
    for (int i = first; i <= last; ++i) {
      const std::string digits = std::to_string(i);
      numbers.push_back(std::string(low.size() - std::min(low.size(), digits.size()), '0') +
                        digits);
    }
  }
  return numbers;
}

std::vector<std::string> Names(const std::string& where, std::string_view text) {
  const std::size_t open = text.find('[');
  if (open == std::string_view::npos) {
    if (text.empty() || text.find(']') != std::string_view::npos) ThrowBad(where, text, kNodes);
    return {std::string(text)};
  }
  const std::size_t close = text.find(']', open);
  if (close == std::string_view::npos) ThrowBad(where, text, kNodes);
  std::vector<std::string> rest = {""};
  if (close + 1 < text.size()) rest = Names(where, text.substr(close + 1));
  std::vector<std::string> names;
  for (const std::string& number : Range(where, text, text.substr(open + 1, close - open - 1))) {
    for (const std::string& end : rest) {
      if (names.size() >= kMostHosts) ThrowBad(where, text, kNodes);
      names.push_back(std::string(text.substr(0, open)) + number + end);
    }
  }
  return names;
}

}  // namespace

std::vector<std::string> SlurmNodes(const std::string& where, const std::string& text) {
  std::vector<std::string> nodes;
  for (const std::string_view part : Parts(text)) {
    if (std::ranges::count(part, '[') > kMostBrackets) ThrowBad(where, part, kNodes);
    for (std::string& name : Names(where, part)) nodes.push_back(std::move(name));
    if (nodes.size() > kMostHosts) ThrowBad(where, text, kNodes);
  }
  return nodes;
}

std::vector<int> SlurmCounts(const std::string& where, const std::string& text) {
  std::vector<int> counts;
  for (const std::string_view part : Parts(text)) {
    const std::size_t open = part.find("(x");
    const bool repeated = open != std::string_view::npos;
    if (repeated && !part.ends_with(')')) ThrowBad(where, part, kCounts);
    const int count = Number(part.substr(0, open));
    const int times = repeated ? Number(part.substr(open + 2, part.size() - open - 3)) : 1;
    if (count < 1 || times < 1 || counts.size() + static_cast<std::size_t>(times) > kMostHosts) {
      ThrowBad(where, part, kCounts);
    }
    counts.insert(counts.end(), static_cast<std::size_t>(times), count);
  }
  return counts;
}

}  // namespace weir::launcher
