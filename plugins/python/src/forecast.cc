#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "compression/make_compressor.h"
#include "compression/options/route_options.h"
#include "compression/options/standard_options.h"
#include "coordinator/plan/step_time.h"
#include "plugins/python/src/bindings.h"
#include "weir/error.h"

namespace weir::python {
namespace {

namespace nb = nanobind;
using nb::arg;

/// What a compressor does with one gradient.
struct CompressorCost {
  double encode_seconds = 0.0;
  double merge_seconds = 0.0;  ///< Of one payload.
  std::size_t payload_bytes = 0;
  bool summable = false;  ///< Payloads are arrays that an all-reduce adds up.
};

double Seconds(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Runs a compressor on normal noise, on this thread, at the density that its schedule ends with.
/// After the first of `steps`, which finds thresholds, the fastest counts: it was disturbed least.
/// Throws InvalidArgument for options that are not understood, and for a compressor whose second
/// exchange follows from the first.
CompressorCost Measure(const CompressionOptions& given, const Dims& shape, int steps) {
  const ParsedOptions options = ParseOptions(given);
  const double density = ScheduleOf(options).final_density();
  const TensorSpec tensor{"gradient", Shape(shape)};
  const std::unique_ptr<Compressor> compressor = MakeCompressor(options, tensor);
  if (compressor->factors() != nullptr) {
    throw InvalidArgument(options.compressor() +
                          " exchanges twice, and the second time what follows from the first: "
                          "record a run with it");
  }
  std::vector<float> gradient(tensor.elements());
  std::vector<float> sum(tensor.elements());
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<std::byte> payload(compressor->MaxEncodedBytes(density));
  CompressorCost cost{.summable = compressor->summable().has_value()};
  for (int step = 0; step <= steps; ++step) {
    std::ranges::generate(gradient, [&] { return normal(random); });
    const StepContext context{.step = step, .density = density};
    const double encode =
        Seconds([&] { cost.payload_bytes = compressor->Encode(context, gradient, payload); });
    const auto sent = std::span<const std::byte>(payload).first(cost.payload_bytes);
    const double merge = Seconds([&] { compressor->Merge(sent, sum); });
    if (step == 1 || (step > 1 && encode < cost.encode_seconds)) cost.encode_seconds = encode;
    if (step == 1 || (step > 1 && merge < cost.merge_seconds)) cost.merge_seconds = merge;
  }
  return cost;
}

}  // namespace

void BindForecast(nb::module_& module) {
  nb::enum_<WireRoute>(module, "WireRoute")
      .value("ALLREDUCE", WireRoute::kDenseAllreduce)
      .value("ALLGATHER", WireRoute::kSparseAllgather)
      .value("SPLIT", WireRoute::kSplitAllgather)
      .value("HIERARCHICAL", WireRoute::kHostAllgather)
      .value("PUSH_PULL", WireRoute::kPushPull);
  module.def(
      "exchange_seconds",
      [](WireRoute route, int hosts, int ranks_per_host, double seconds_per_message,
         double bytes_per_second, std::size_t dense_bytes, std::size_t payload_bytes) {
        return ExchangeSeconds(route, {hosts, ranks_per_host},
                               {seconds_per_message, bytes_per_second},
                               {dense_bytes, payload_bytes});
      },
      arg("route"), arg("hosts"), arg("ranks_per_host"), arg("seconds_per_message"),
      arg("bytes_per_second"), arg("dense_bytes"), arg("payload_bytes"));
  module.def(
      "bytes_sent",
      [](WireRoute route, int hosts, int ranks_per_host, std::size_t dense_bytes,
         std::size_t payload_bytes) {
        return BytesSent(route, {hosts, ranks_per_host}, {dense_bytes, payload_bytes});
      },
      arg("route"), arg("hosts"), arg("ranks_per_host"), arg("dense_bytes"), arg("payload_bytes"));
  nb::class_<BucketTimes>(module, "BucketTimes")
      .def(
          "__init__",
          [](BucketTimes* self, double ready, double encode, double exchange, double decode) {
            new (self) BucketTimes{ready, encode, exchange, decode};
          },
          arg("ready"), arg("encode"), arg("exchange"), arg("decode"));
  nb::class_<StepTimes>(module, "StepTimes")
      .def_ro("end", &StepTimes::end)
      .def_ro("ready", &StepTimes::ready)
      .def_ro("network", &StepTimes::network)
      .def_prop_ro("exposed", &StepTimes::exposed);
  module.def(
      "timeline_of", [](const std::vector<BucketTimes>& buckets) { return TimelineOf(buckets); },
      arg("buckets"));
  nb::class_<CompressorCost>(module, "CompressorCost")
      .def_ro("encode_seconds", &CompressorCost::encode_seconds)
      .def_ro("merge_seconds", &CompressorCost::merge_seconds)
      .def_ro("payload_bytes", &CompressorCost::payload_bytes)
      .def_ro("summable", &CompressorCost::summable);
  module.def("measure_compressor", &Measure, arg("options"), arg("shape"), arg("steps"),
             nb::call_guard<nb::gil_scoped_release>());
  module.def(
      "wire_route",
      [](const CompressionOptions& options, int ranks, std::size_t dense_bytes,
         std::size_t payload_bytes) {
        return ChooseWireRoute(RouteOf(ParseOptions(options)), ranks, dense_bytes, payload_bytes);
      },
      arg("options"), arg("ranks"), arg("dense_bytes"), arg("payload_bytes"));
}

}  // namespace weir::python
