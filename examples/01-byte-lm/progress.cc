#include "examples/01-byte-lm/progress.h"

#include <array>
#include <cstdio>
#include <ostream>

namespace byte_lm {
namespace {

// From the start of a terminal's line: erases its text.
constexpr const char* kRedraw = "\r\x1b[K";

template <typename... Values>
std::string Format(const char* format, Values... values) {
  std::array<char, 160> text;
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

std::string Traffic(const ExchangeTotals& totals) {
  const auto sent = static_cast<double>(totals.sent_bytes);
  const auto dense = static_cast<double>(totals.dense_bytes);
  if (totals.sent_bytes == 0) return "nothing sent";
  return Format("sent %s of %s dense (%.1fx less)", HumanBytes(sent).c_str(),
                HumanBytes(dense).c_str(), dense / sent);
}

}  // namespace

std::string HumanBytes(double bytes) {
  constexpr std::array kUnits = {"kB", "MB", "GB", "TB"};
  if (bytes < 1000.0) return Format("%.0f B", bytes);
  std::size_t unit = 0;
  for (bytes /= 1000.0; bytes >= 999.95 && unit + 1 < kUnits.size(); ++unit) bytes /= 1000.0;
  return Format("%.1f %s", bytes, kUnits[unit]);
}

Progress::Progress(std::ostream* out, bool terminal, std::int64_t steps)
    : out_(out), terminal_(terminal), steps_(steps) {}

void Progress::Step(std::int64_t step, double loss, double training_seconds,
                    const Trainer& trainer) {
  loss_sum_ += loss;
  ++steps_since_line_;
  const double elapsed = training_seconds - last_line_seconds_;
  if (out_ == nullptr || elapsed < kSecondsBetweenLines) return;
  const ExchangeTotals totals = trainer.totals();
  const auto count = static_cast<double>(steps_since_line_);
  *out_ << (terminal_ ? kRedraw : "") << "step " << step + 1 << '/' << steps_
        << Format("  loss %.3f  density %.4g %%  ", loss_sum_ / count, 100.0 * totals.density)
        << Traffic(totals) << Format("  %.1f steps/s", count / elapsed) << (terminal_ ? "" : "\n")
        << std::flush;
  loss_sum_ = 0.0;
  steps_since_line_ = 0;
  last_line_seconds_ = training_seconds;
}

void Progress::Note(const std::string& line) {
  if (out_ == nullptr) return;
  *out_ << (terminal_ ? kRedraw : "") << line << '\n' << std::flush;
}

}  // namespace byte_lm
