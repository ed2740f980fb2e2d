// A rank that trains a little and keeps the pages of its own monitoring endpoint.
//
// usage: observed_rank STEPS FOLDER      to FOLDER/metrics.RANK goes /metrics, to FOLDER/run.RANK
// /run

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "tests/coordinator/jobs/training.h"
#include "tests/metrics/http/http_get.h"
#include "weir/engine.h"

int main(int, char** argv) {
  const weir::Settings settings = weir::Settings::FromEnvironment();
  const std::unique_ptr<weir::Engine> engine = weir::Engine::Create(settings);
  weir::Training training(*engine, weir::DgcOptions("vanilla", 10));
  training.Steps(std::stoi(argv[1]));
  bool all_well = true;
  for (const std::string page : {"/metrics", "/run"}) {
    const weir::HttpReply reply = weir::HttpGet(settings.metrics_port + engine->local_rank(), page);
    std::ofstream(argv[2] + page + "." + std::to_string(engine->rank())) << reply.body;
    all_well = all_well && reply.status == 200;
  }
  return all_well ? 0 : 1;
}
