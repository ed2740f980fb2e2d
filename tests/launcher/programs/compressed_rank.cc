// A rank that takes two steps with the compression that the job was given, and says how they went:
// "given: gather, 120 of 20480 bytes, values 81985529216486895".
//
// usage: compressed_rank NAMED [OTHER]    does the same again with these options, named by the
//                                         program, and with others, or without compression:
//                                         "named: ...", "other: ..."
//        compressed_rank apart            does it once; rank 1 begins when rank 0 has taken its
//                                         steps

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/engine/engine_impl.h"
#include "coordinator/routes/routes.h"
#include "tests/launcher/programs/say.h"
#include "weir/engine.h"
#include "weir/optimizer.h"

namespace {

constexpr int kSteps = 2;
const weir::Shape kShape{64, 64};
const weir::Shape kSmallShape{64, 16};  // For smaller gradients.

/// The routes of the optimizer steps in the records from number `from` on, with commas.
std::string RoutesSince(weir::Engine& engine, std::uint64_t from) {
  const weir::Recorder& recorder = dynamic_cast<weir::EngineImpl&>(engine).recorder();
  std::vector<weir::StageRecord> records(recorder.added() - from);
  const std::size_t count = recorder.Read(from, records).count;
  std::set<std::string> routes;
  for (const weir::StageRecord& record : std::span(records).first(count)) {
    if (record.stage != weir::Stage::kExchange || record.step < 0) continue;
    routes.insert(weir::RouteNames().at(record.route).route);
  }
  std::string text;
  for (const std::string& route : routes) text += (text.empty() ? "" : ",") + route;
  return text;
}

void Train(weir::Engine& engine, const std::string& what,
           const std::map<std::string, std::string>& compression, bool apart = false) {
  const auto large = static_cast<std::size_t>(kShape.elements());
  const std::size_t elements = large + static_cast<std::size_t>(kSmallShape.elements());
  std::vector<float> value(elements), gradient(elements);
  const std::span<float> values(value), gradients(gradient);
  weir::DistributedOptimizer optimizer(engine,
                                       {{.name = "w",
                                         .value = values.first(large),
                                         .gradient = gradients.first(large),
                                         .shape = kShape},
                                        {.name = "out",
                                         .value = values.subspan(large),
                                         .gradient = gradients.subspan(large),
                                         .shape = kSmallShape}},
                                       {.compression = compression});
  const std::uint64_t before = dynamic_cast<weir::EngineImpl&>(engine).recorder().added();
  const auto meet = [&engine] { engine.Wait(engine.Barrier("one after the other")); };
  if (apart && engine.rank() != 0) meet();
  weir::StepReport report;
  for (int step = 0; step < kSteps; ++step) {
    const std::size_t seed = 7 * static_cast<std::size_t>(engine.rank()) + 13 * step;
    optimizer.BeginStep(0.1f);
    for (std::size_t i = 0; i < elements; ++i) {
      const float drawn = static_cast<float>((i * 31 + seed * 17) % 1009) / 80.0f - 6.0f;
      gradient[i] = (i < large ? drawn : 0.5f * drawn) + value[i];  // So that it matters where.
    }
    optimizer.GradientReady(0);
    optimizer.GradientReady(1);
    report = optimizer.Step();
  }
  if (apart && engine.rank() == 0) meet();
  const std::string_view bits(reinterpret_cast<const char*>(value.data()),
                              elements * sizeof(float));
  weir::Say(what + ": " + RoutesSince(engine, before) + ", " + std::to_string(report.wire_bytes) +
            " of " + std::to_string(report.dense_bytes) + " bytes, values " +
            std::to_string(std::hash<std::string_view>{}(bits)));
}

}  // namespace

int main(int argc, char** argv) {
  const std::unique_ptr<weir::Engine> engine =
      weir::Engine::Create(weir::Settings::FromEnvironment());
  const std::string named = argc > 1 ? argv[1] : "";
  Train(*engine, "given", {}, named == "apart");
  if (named != "apart") {
    Train(*engine, "named", weir::CompressionFromText(named));
    Train(*engine, "other", weir::CompressionFromText(argc > 2 ? argv[2] : "dense"));
  }
  engine->Shutdown();
}
