#include "benchmarks/main.h"

#include <CLI/CLI.hpp>
#include <exception>
#include <iostream>
#include <string>
#include <type_traits>

namespace weir::bench {
namespace {

void Add(const Option& option, CLI::App& app) {
  CLI::Option* const added = std::visit(
      [&](auto* target) {
        if constexpr (std::is_same_v<decltype(target), bool*>) {
          return app.add_flag(option.name, *target, option.text);
        } else {
          return app.add_option(option.name, *target, option.text);
        }
      },
      option.target);
  switch (option.kind) {
    case Option::kPlain:
      break;
    case Option::kPositive:
      added->check(CLI::PositiveNumber);
      break;
    case Option::kShowsDefault:
      added->capture_default_str();
      break;
    case Option::kHidden:
      added->group("");
  }
}

}  // namespace

int Main(const CommandLine& line, int argc, char** argv,
         const std::function<std::optional<Report>()>& measure) {
  CLI::App app(line.text, line.name);
  for (const Option& option : line.options) Add(option, app);
  std::string json;
  app.add_option("--json", json, "Also write the report to this file");
  CLI11_PARSE(app, argc, argv);
  try {
    const std::optional<Report> report = measure();
    if (!report) return 0;
    report->Print(std::cout);
    if (!json.empty()) report->WriteJson(json);
  } catch (const std::exception& error) {
    std::cerr << app.get_name() << ": " << error.what() << '\n';
    return 1;
  }
  return 0;
}

}  // namespace weir::bench
