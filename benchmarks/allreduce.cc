// The all-reduce of ops against the MPI library's own, in place, fp32. Run under the launcher:
//   mpiexec -n 2 allreduce
// No engine: no negotiation, no threads; the rank polls and yields.
#include "ops/allreduce.h"

#include <mpi.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "benchmarks/report.h"
#include "ops/and_reduce.h"
#include "ops/bootstrap.h"

namespace weir::bench {
namespace {

struct Settings {
  std::vector<std::size_t> sizes = {256,       4096,      16384,      65536,     262144,
                                    1u << 20u, 4u << 20u, 16u << 20u, 64u << 20u};
  std::vector<std::size_t> chunks = {ChunkStream::kDefaultChunkBytes};
  int rounds = 21;
  std::string json;
};

/// One way to reduce `values` in place.
using Candidate = std::function<void(std::vector<float>& values)>;

Candidate PlainMpi() {
  return [](std::vector<float>& values) {
    MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
  };
}

Candidate Ours(Allreduce& allreduce, std::uint32_t& operation) {
  return [&](std::vector<float>& values) {
    allreduce.Bind(values.data(), values.data(), static_cast<std::int64_t>(values.size()),
                   DType::kFloat32);
    allreduce.Start(operation++);
    while (!allreduce.Poll()) std::this_thread::yield();
  };
}

/// Seconds of one call, the mean over enough calls to fill about a millisecond.
double TimeOnAllRanks(const Candidate& candidate, std::vector<float>& values) {
  const int calls =
      static_cast<int>(std::clamp<std::size_t>((std::size_t{1} << 18) / values.size(), 1, 50));
  std::ranges::fill(values, 0.0f);
  MPI_Barrier(MPI_COMM_WORLD);
  const double seconds = Seconds([&] {
    for (int i = 0; i < calls; ++i) candidate(values);
  });
  return seconds / calls;
}

std::string Kib(std::size_t bytes) { return std::to_string(bytes >> 10) + " KiB"; }

/// The negotiator's round, against the library's own.
void MeasureRounds(Transport& transport, const Settings& settings, Report& report) {
  constexpr int kCalls = 100;
  AndReduce reduce(transport);
  std::uint32_t operation = 1u << 20u;
  for (const std::size_t words : {1, 16}) {
    std::vector<std::uint64_t> bits(words, ~std::uint64_t{0});
    const auto ours = [&] {
      for (int i = 0; i < kCalls; ++i) {
        reduce.Bind(bits);
        reduce.Start(operation++);
        while (!reduce.Poll()) std::this_thread::yield();
      }
    };
    const auto plain = [&] {
      for (int i = 0; i < kCalls; ++i) {
        MPI_Allreduce(MPI_IN_PLACE, bits.data(), static_cast<int>(words), MPI_UINT64_T, MPI_BAND,
                      MPI_COMM_WORLD);
      }
    };
    const auto seconds = Interleave(settings.rounds, {plain, ours});
    report.AddRow({{"KiB", static_cast<double>(words) / 128},
                   {"plain us", 1e6 * Median(seconds[0]) / kCalls},
                   {"AND us", 1e6 * Median(seconds[1]) / kCalls},
                   {"x", MedianRatio(seconds[0], seconds[1])}});
  }
}

void Measure(Transport& transport, const Settings& settings, Report& report) {
  std::uint32_t operation = 0;
  std::vector<std::unique_ptr<Allreduce>> objects;
  std::vector<Candidate> candidates = {PlainMpi()};
  for (const std::size_t chunk : settings.chunks) {
    objects.push_back(std::make_unique<Allreduce>(transport, chunk));
    candidates.push_back(Ours(*objects.back(), operation));
  }
  for (const std::size_t bytes : settings.sizes) {
    std::vector<float> values(bytes / sizeof(float));
    std::vector<std::vector<double>> seconds(candidates.size());
    for (int round = -2; round < settings.rounds; ++round) {
      for (std::size_t c = 0; c < candidates.size(); ++c) {
        const double time = TimeOnAllRanks(candidates[c], values);
        if (round >= 0) seconds[c].push_back(time);
      }
    }
    Report::Row row = {{"KiB", static_cast<double>(bytes) / 1024},
                       {"plain us", 1e6 * Median(seconds[0])}};
    for (std::size_t c = 1; c < candidates.size(); ++c) {
      const std::string chunk = Kib(settings.chunks[c - 1]);
      row[chunk + " us"] = 1e6 * Median(seconds[c]);
      row["x, " + chunk] = MedianRatio(seconds[0], seconds[c]);
    }
    report.AddRow(row);
  }
}

int Main(int argc, char** argv) {
  Settings settings;
  CLI::App app("All-reduce of ops against plain MPI_Allreduce, in place");
  app.add_option("--json", settings.json, "Also write the figures to this file");
  app.add_option("--sizes", settings.sizes, "Bytes");
  app.add_option("--chunks", settings.chunks, "Bytes of a chunk");
  app.add_option("--rounds", settings.rounds, "Timed rounds");
  CLI11_PARSE(app, argc, argv);

  Bootstrap bootstrap;
  const std::unique_ptr<Transport> transport = bootstrap.Connect(std::chrono::seconds(30));
  if (transport->size() == 1) {
    std::cerr << "allreduce: needs at least two ranks: mpiexec -n 2 allreduce\n";
    return 1;
  }
  Report rounds("rounds, " + std::to_string(transport->size()) + " ranks");
  MeasureRounds(*transport, settings, rounds);
  Report report("allreduce, " + std::to_string(transport->size()) + " ranks");
  Measure(*transport, settings, report);
  if (transport->rank() == 0) {
    rounds.Print(std::cout);
    report.Print(std::cout);
    if (!settings.json.empty()) report.WriteJson(settings.json);
  }
  return 0;
}

}  // namespace
}  // namespace weir::bench

int main(int argc, char** argv) { return weir::bench::Main(argc, argv); }
