#include "examples/01-byte-lm/engine_trainer.h"

#include "weir/eigen.h"

namespace byte_lm {
namespace {

std::vector<weir::Parameter> Describe(std::span<Parameter> parameters) {
  std::vector<weir::Parameter> described;
  for (Parameter& parameter : parameters) {
    described.push_back(weir::EigenParameter(parameter.name, parameter.value, parameter.gradient));
  }
  return described;
}

}  // namespace

EngineTrainer::EngineTrainer(weir::Engine& engine, std::span<Parameter> parameters, float momentum,
                             const std::map<std::string, std::string>& compression)
    : engine_(engine),
      optimizer_(engine, Describe(parameters),
                 {.momentum = momentum, .compression = compression, .name = "byte-lm"}) {}

void EngineTrainer::ApplyStep() {
  const weir::StepReport report = optimizer_.Step();
  totals_.sent_bytes += report.wire_bytes;
  totals_.dense_bytes += report.dense_bytes;
  totals_.density = report.density;
}

double EngineTrainer::SumOverRanks(double value) {
  const weir::TensorView view = weir::ViewOf(std::span<double>(&value, 1));
  engine_.Wait(engine_.Allreduce("byte-lm/sum", view, view, {.op = weir::ReduceOp::kSum}));
  return value;
}

}  // namespace byte_lm
