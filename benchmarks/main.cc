#include "benchmarks/main.h"

#include <exception>
#include <iostream>
#include <string>

namespace weir::bench {

int Main(CLI::App& app, int argc, char** argv,
         const std::function<std::optional<Report>()>& measure) {
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
