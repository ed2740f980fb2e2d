#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace weir::bench {

/// An option of a benchmark: {"--steps", &options.steps, "Steps of a round", Option::kPositive}.
struct Option {
  enum Kind {
    kPlain,
    kPositive,      ///< A number above 0.
    kShowsDefault,  ///< --help tells its default.
    kHidden         ///< --help does not tell of it.
  };
  /// The variable that takes its value, and has its default; the name alone sets that of a bool.
  using Target = std::variant<bool*, int*, std::int64_t*, std::size_t*, double*, std::string*,
                              std::vector<std::size_t>*>;

  std::string name;
  Target target;
  std::string text;
  Kind kind = kPlain;
};

/// The command line of a benchmark.
struct CommandLine {
  std::string name;  ///< Empty: as the program was called.
  std::string text;
  std::vector<Option> options;
};

}  // namespace weir::bench
