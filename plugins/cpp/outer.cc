#include "weir/outer.h"

#include <algorithm>
#include <exception>
#include <istream>
#include <ostream>
#include <utility>

#include "compression/state/state.h"
#include "plugins/cpp/outer_fragment.h"
#include "plugins/cpp/sized_bytes.h"
#include "weir/error.h"

namespace weir {
namespace {

void CheckOptions(const OuterOptions& options) {
  const auto refuse = [&](const std::string& why) {
    throw InvalidArgument("'" + options.name + "': " + why);
  };
  if (options.every < 1) refuse("every=" + std::to_string(options.every) + " must be at least 1");
  if (options.fragments < 1 || options.fragments > options.every) {
    refuse("fragments=" + std::to_string(options.fragments) +
           " must be at least 1, and at most every=" + std::to_string(options.every) +
           ", so that no two rounds begin in one step");
  }
  if (options.overlap < 0 || options.overlap >= options.every) {
    refuse("overlap=" + std::to_string(options.overlap) + " must be at least 0 and below every=" +
           std::to_string(options.every) + ", so that a round ends before the next one begins");
  }
  if (!(options.learning_rate > 0)) refuse("learning_rate must be above 0");
  for (const auto& [key, value] : options.compression) {
    if (key.starts_with("look_ahead")) refuse("look_ahead has no meaning here: leave it out");
  }
  if (!(options.momentum >= 0 && options.momentum < 1)) {
    refuse("momentum must be at least 0 and below 1");
  }
}

/// Divides parameters, in their order, into at most `count` parts of about as many elements.
std::vector<std::vector<Parameter>> Split(std::vector<Parameter> parameters, int count) {
  std::size_t total = 1;  // Of half elements; never 0.
  for (const Parameter& parameter : parameters) total += 2 * parameter.value.size();
  std::map<std::size_t, std::vector<Parameter>> parts;
  std::size_t before = 0;
  for (Parameter& parameter : parameters) {
    const std::size_t size = parameter.value.size();
    const std::size_t middle = before + size;
    before += 2 * size;
    parts[middle * static_cast<std::size_t>(count) / total].push_back(std::move(parameter));
  }
  std::vector<std::vector<Parameter>> found;
  for (auto& [number, part] : parts) found.push_back(std::move(part));
  return found;
}

std::string TextOf(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

class Outer::Impl {
 public:
  Impl(Engine& engine, std::vector<Parameter> parameters, OuterOptions options)
      : options_(std::move(options)), ranks_(engine.size()), rank_(engine.rank()) {
    CheckOptions(options_);
    if (parameters.empty()) throw InvalidArgument("'" + options_.name + "' got no parameters");
    int number = 0;
    for (auto& part : Split(std::move(parameters), options_.fragments)) {
      fragments_.push_back(std::make_unique<OuterFragment>(
          engine, std::move(part), options_, options_.name + "." + std::to_string(number++)));
    }
  }

  void AfterStep() {
    ++steps_;
    for (std::size_t i = 0; i < fragments_.size(); ++i) {
      OuterFragment& fragment = *fragments_[i];
      if (steps_ - fragment.begun_at() >= options_.overlap) fragment.Finish();
      if (!IsDue(i)) continue;
      fragment.Begin(steps_);
      if (options_.overlap == 0) fragment.Finish();
    }
  }

  void Synchronize() {
    for (const auto& fragment : fragments_) fragment->Finish();
    for (const auto& fragment : fragments_) {
      if (fragment->begun_at() != steps_) fragment->Begin(steps_);
    }
    for (const auto& fragment : fragments_) fragment->Finish();
  }

  std::int64_t steps() const { return steps_; }

  std::optional<StepReport> last_round() const {
    const auto last = std::ranges::max_element(
        fragments_, {}, [](const auto& fragment) { return fragment->reported_at(); });
    return (*last)->report();
  }

  void Save(std::ostream& out) {
    SavedState state{.ranks = ranks_, .rank = rank_, .step = steps_};
    for (const auto& fragment : fragments_) fragment->Collect(state);
    WriteSized(Serialize(state), out);
    for (const auto& fragment : fragments_) fragment->Save(out);
  }

  void Load(std::span<std::istream* const> former_ranks) {
    SavedState state;
    std::vector<std::vector<std::string>> files(fragments_.size());  // By fragment and former rank.
    const bool is_own = former_ranks.size() == 1;
    try {
      if (former_ranks.empty()) throw InvalidArgument("Load needs at least one saved state");
      for (std::istream* const in : former_ranks) {
        state = Deserialize(ReadSized(*in));
        for (auto& of_fragment : files) of_fragment.push_back(TextOf(ReadSized(*in)));
      }
      std::size_t array = 0;
      for (const auto& fragment : fragments_) {
        if (is_own) fragment->Check(state, array);
      }
    } catch (...) {
      const auto error = std::current_exception();
      fragments_.front()->TellThatLoadFailed();
      std::rethrow_exception(error);
    }
    std::size_t array = 0;
    for (std::size_t i = 0; i < fragments_.size(); ++i) {
      fragments_[i]->Load(files[i], is_own ? &state : nullptr, array);
    }
    steps_ = state.step;
  }

 private:
  bool IsDue(std::size_t fragment) const {
    const std::int64_t at =
        static_cast<std::int64_t>(fragment + 1) * options_.every / options_.fragments;
    return (steps_ - at) % options_.every == 0;
  }

  const OuterOptions options_;
  const int ranks_;
  const int rank_;
  std::vector<std::unique_ptr<OuterFragment>> fragments_;
  std::int64_t steps_ = 0;
};

Outer::Outer(Engine& engine, std::vector<Parameter> parameters, OuterOptions options)
    : impl_(std::make_unique<Impl>(engine, std::move(parameters), std::move(options))) {}
Outer::~Outer() = default;

void Outer::AfterStep() { impl_->AfterStep(); }
void Outer::Synchronize() { impl_->Synchronize(); }
std::int64_t Outer::steps() const { return impl_->steps(); }
std::optional<StepReport> Outer::last_round() const { return impl_->last_round(); }
void Outer::Save(std::ostream& out) { impl_->Save(out); }
void Outer::Load(std::span<std::istream* const> former_ranks) { impl_->Load(former_ranks); }

}  // namespace weir
