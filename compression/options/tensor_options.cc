#include "compression/options/tensor_options.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "common/settings/strict.h"
#include "compression/options/alternatives.h"
#include "compression/options/registry.h"
#include "weir/error.h"

namespace weir {
namespace {

// Options that exist once for the whole step, the optimizer or the run.
constexpr std::array<std::string_view, 7> kOfTheRun = {
    "clip_norm",  "clip_scale",   "skip_nonfinite",   "steps",
    "look_ahead", "weight_decay", "weight_decay_form"};

bool IsOfTheRun(const std::string& key) {
  return std::ranges::find(kOfTheRun, key) != kOfTheRun.end();
}

bool HasWildcards(const std::string& pattern) {
  return pattern.find_first_of("*?[\\") != std::string::npos;
}

/// Counts the characters that stand for themselves; a set in brackets counts none.
std::size_t Specificity(const std::string& pattern) {
  if (!HasWildcards(pattern)) return std::numeric_limits<std::size_t>::max();
  std::size_t count = 0;
  bool in_set = false;
  for (const char c : pattern) {
    in_set = in_set ? c != ']' : c == '[';
    if (!in_set && c != ']' && c != '*' && c != '?') ++count;
  }
  return count;
}

bool Matches(const std::string& pattern, const std::string& tensor) {
  return pattern == tensor || fnmatch(pattern.c_str(), tensor.c_str(), 0) == 0;
}

void PutOnTop(const CompressionOptions& pattern, CompressionOptions& options) {
  const auto compressor = pattern.find("compressor");
  if (compressor != pattern.end() && compressor->second != options.at("compressor")) {
    const std::vector<OptionSpec>& specs = FindCompressor(compressor->second).options;
    std::erase_if(options, [&](const auto& option) {
      return !IsOfTheRun(option.first) ||
             std::ranges::find(specs, option.first, &OptionSpec::key) == specs.end();
    });
  }
  for (const auto& [key, value] : pattern) options.insert_or_assign(key, value);
}

std::string Quoted(const std::string& text) { return "\"" + text + "\""; }

}  // namespace

TensorOptions::TensorOptions(const CompressionOptions& options) {
  const CompressionOptions resolved = ResolveAuto(WithoutPrefix(options), /*momentum_sgd=*/false);
  for (const auto& [key, value] : resolved) Add(key, value);
  if (patterns_.empty()) return;
  if (base_.empty()) base_ = {{"compressor", "dense"}};
  std::ranges::stable_sort(patterns_, {}, &Pattern::specificity);
  ParseOptions(base_);
  for (const Pattern& pattern : patterns_) {
    const auto compressor = pattern.options.find("compressor");
    if (compressor != pattern.options.end()) FindCompressor(compressor->second);
  }
  CheckPatterns([](const CompressionOptions& of_pattern) { ParseOptions(of_pattern); });
}

void TensorOptions::Add(const std::string& key, const std::string& value) {
  const std::size_t open = key.find('[');
  if (open == std::string::npos) {
    base_.emplace(key, value);
    return;
  }
  const std::string name = key.substr(0, open);
  const auto refuse = [&](const std::string& why) {
    throw InvalidArgument("compression option " + Quoted(key) + " = " + Quoted(value) + " " + why);
  };
  if (name.empty() || !key.ends_with(']') || key.size() < open + 3) {
    refuse("is not a key with a pattern of tensor names: write key[pattern], as in " +
           Quoted("compressor[*.bias]"));
  }
  if (IsOfTheRun(name)) {
    refuse("holds for all tensors together: give " + Quoted(name) + " without a pattern");
  }
  const std::string text = key.substr(open + 1, key.size() - open - 2);
  auto pattern = std::ranges::find(patterns_, text, &Pattern::text);
  if (pattern == patterns_.end()) {
    patterns_.push_back({text, Specificity(text), {}});
    pattern = std::prev(patterns_.end());
  }
  pattern->options.emplace(name, value);
}

void TensorOptions::CheckPatterns(
    const std::function<void(const CompressionOptions&)>& check) const {
  const bool one_compressor = std::ranges::none_of(
      patterns_, [](const Pattern& pattern) { return pattern.options.contains("compressor"); });
  for (const Pattern& pattern : patterns_) {
    // The keys may be meant for the compressor of another pattern.
    if (!one_compressor && !pattern.options.contains("compressor")) continue;
    CompressionOptions of_pattern = base_;
    PutOnTop(pattern.options, of_pattern);
    try {
      check(of_pattern);
    } catch (const InvalidArgument& error) {
      throw InvalidArgument("for tensors " + Quoted(pattern.text) + ": " + error.what());
    }
  }
}

std::vector<const TensorOptions::Pattern*> TensorOptions::Matching(
    const std::string& tensor) const {
  std::vector<const Pattern*> matching;
  for (const Pattern& pattern : patterns_) {
    if (Matches(pattern.text, tensor)) matching.push_back(&pattern);
  }
  return matching;
}

CompressionOptions TensorOptions::For(const std::string& tensor) const {
  CompressionOptions options = base_;
  const std::vector<const Pattern*> matching = Matching(tensor);
  for (auto at = matching.begin(); at != matching.end();) {
    const Pattern& first = **at;
    CompressionOptions together;  // Patterns that are equally specific: none has priority.
    for (; at != matching.end() && (*at)->specificity == first.specificity; ++at) {
      for (const auto& [key, value] : (*at)->options) {
        const auto [known, added] = together.emplace(key, value);
        if (added || known->second == value) continue;
        throw InvalidArgument("compression option " + Quoted(key) + " of tensor " + Quoted(tensor) +
                              " is " + Quoted(known->second) + " by " + Quoted(first.text) +
                              " and " + Quoted(value) + " by " + Quoted((*at)->text) +
                              ", which are equally specific: make one of the patterns longer");
      }
    }
    PutOnTop(together, options);
  }
  return options;
}

std::string TensorOptions::Describe(const std::string& tensor) const {
  std::string patterns;
  for (const Pattern* pattern : Matching(tensor)) {
    patterns += (patterns.empty() ? "" : ", ") + Quoted(pattern->text);
  }
  return Quoted(tensor) + (patterns.empty() ? "" : " (matched by " + patterns + ")");
}

std::string TensorOptions::CheckMatches(std::span<const std::string> tensors,
                                        const std::string& owner, bool strict) const {
  std::string without;
  for (const Pattern& pattern : patterns_) {
    const bool matches = std::ranges::any_of(
        tensors, [&](const std::string& tensor) { return Matches(pattern.text, tensor); });
    if (!matches) without += (without.empty() ? "" : ", ") + Quoted(pattern.text);
  }
  if (without.empty()) return {};
  const std::string warning = "compression options for tensors " + without + " have no effect: '" +
                              owner + "' has no tensor of such a name" +
                              (tensors.empty() ? "" : "; its first is " + Quoted(tensors.front()));
  if (strict) throw StrictError(warning);
  return warning;
}

}  // namespace weir
