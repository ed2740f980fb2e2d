// A rank that trains a little and keeps what its own monitoring endpoint then shows.
//
// usage: observed_rank STEPS FOLDER      the scrape goes to FOLDER/metrics.RANK

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "tests/engine/training.h"
#include "tests/metrics/http_get.h"
#include "weir/engine.h"

int main(int, char** argv) {
  const weir::Settings settings = weir::Settings::FromEnvironment();
  const std::unique_ptr<weir::Engine> engine = weir::Engine::Create(settings);
  weir::Training training(*engine, weir::DgcOptions("vanilla", 10));
  training.Steps(std::stoi(argv[1]));
  const std::string file = std::string(argv[2]) + "/metrics." + std::to_string(engine->rank());
  const weir::HttpReply reply =
      weir::HttpGet(settings.metrics_port + engine->local_rank(), "/metrics");
  std::ofstream(file) << reply.body;
  return reply.status == 200 ? 0 : 1;
}
