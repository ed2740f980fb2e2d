// Bytes that Deep Gradient Compression at 99.9 % sparsity puts on the network for well-known
// models: the frames that one rank contributes, headers included, in a real job.
#include <random>
#include <string>
#include <vector>

#include "benchmarks/main.h"
#include "benchmarks/model_shapes.h"
#include "benchmarks/report.h"
#include "weir/engine.h"

namespace weir::bench {
namespace {

struct Case {
  const char* name;
  std::vector<NamedShape> model;
  const char* values;
  double target;
};

/// Traffic of the second of two steps.
struct Measured {
  StepReport report;  ///< Its wire_bytes: the frames of this rank.
  std::uint64_t transport_bytes =
      0;  ///< All that this rank's transport sent, negotiation included.
};

Measured RunStep(Engine& engine, const Case& entry) {
  GradientGroupSpec spec{.name = std::string(entry.name) + ", " + entry.values,
                         .compression = {{"compressor", "dgc"},
                                         {"density", "0.001"},
                                         {"values", entry.values},
                                         {"momentum", "vanilla"},
                                         {"momentum_mu", "0.9"}}};
  std::vector<std::vector<float>> gradients;
  std::mt19937 random(static_cast<unsigned>(engine.rank()) + 1);
  std::normal_distribution<float> normal;
  std::vector<float> noise(1 << 20);
  for (float& value : noise) value = normal(random);
  std::size_t at = 0;
  for (const NamedShape& tensor : entry.model) {
    spec.tensors.push_back({.name = tensor.name, .shape = tensor.shape});
    auto& gradient = gradients.emplace_back(static_cast<std::size_t>(tensor.shape.elements()));
    for (float& value : gradient) value = noise[at++ % noise.size()];
  }
  const auto group = engine.Register(spec);
  Measured measured;
  for (int step = 0; step < 2; ++step) {
    const std::uint64_t before = engine.network_totals().sent_bytes;
    group->BeginStep({});
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const TensorView view{gradients[i].data(), DType::kFloat32, entry.model[i].shape};
      group->Submit(i, view, view);
    }
    group->EndStep();
    measured.report = group->WaitStep();
    measured.transport_bytes = engine.network_totals().sent_bytes - before;
  }
  return measured;
}

std::optional<Report> Run() {
  const auto engine = Engine::Create();
  Report report("wire");
  const Case cases[] = {
      {"ResNet-50", ResNet50(), "fp16", 515.0}, {"AlexNet", AlexNet(), "fp16", 1035.0},
      {"PTB LSTM", TiedLstm(), "fp16", 825.0},  {"ResNet-50", ResNet50(), "int8", 0.0},
      {"AlexNet", AlexNet(), "int8", 0.0},      {"PTB LSTM", TiedLstm(), "int8", 0.0},
      {"ResNet-50", ResNet50(), "int4", 0.0},   {"AlexNet", AlexNet(), "int4", 0.0},
      {"PTB LSTM", TiedLstm(), "int4", 0.0},    {"ResNet-50", ResNet50(), "int2", 670.0},
      {"AlexNet", AlexNet(), "int2", 1900.0},   {"PTB LSTM", TiedLstm(), "int2", 0.0}};
  for (const Case& entry : cases) {
    const auto [step, transport_bytes] = RunStep(*engine, entry);
    const auto wire = static_cast<double>(step.wire_bytes);
    // Based on all bytes sent: at two ranks each frame is sent once.
    const double ratio =
        static_cast<double>(step.dense_bytes) / static_cast<double>(transport_bytes);
    report.AddRow({{"model", entry.name},
                   {"values", entry.values},
                   {"parameters", Elements(entry.model)},
                   {"dense bytes", step.dense_bytes},
                   {"contributed bytes", step.wire_bytes},
                   {"sent by the transport", transport_bytes},
                   {"ratio", ratio},
                   {"received, 2 ranks", wire},
                   {"4 ranks", 3 * wire},
                   {"8 ranks", 7 * wire}});
    if (entry.target == 0.0) continue;
    report.AddTarget(
        std::string(entry.name) + ", " + entry.values + ": dense / sent by the transport", ratio,
        ">=", entry.target);
  }
  if (engine->rank() != 0) return {};
  return report;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) {
  return weir::bench::Main({"wire", "Bytes that DGC puts on the network for well-known models"},
                           argc, argv, weir::bench::Run);
}
