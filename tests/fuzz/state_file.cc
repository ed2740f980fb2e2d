// A saved state: the bytes, and their effect on a job's compressors.
#include <xxhash.h>

#include <memory>

#include "compression/make_compressor.h"
#include "compression/options/registry.h"
#include "compression/state/state.h"
#include "tests/compression/test_compressor.h"
#include "tests/fuzz/fuzz_target.h"
#include "weir/error.h"

namespace weir::fuzz {
namespace {

constexpr std::size_t kElements = 6;
constexpr std::size_t kChecksumBytes = sizeof(std::uint64_t);

/// A job of one tensor that remembers two arrays of it.
class Job {
 public:
  Job()
      : compressor_(MakeCompressor(CompressionOptions{{"compressor", "topk"},
                                                      {"k", "2"},
                                                      {"ef", "vanilla"},
                                                      {"momentum", "nesterov"},
                                                      {"momentum_mu", "0.9"},
                                                      {"min_elements", "0"}},
                                   TensorSpec{"w", Shape{kElements}})),
        named_({{"w", compressor_.get()}}) {
    test::Send(*compressor_, {.density = 0.1}, {1, -2, 3, -4, 5, -6});
  }

  std::span<const NamedCompressor> named() const { return named_; }
  Bytes saved() const { return Serialize(Collect(named_)); }

 private:
  std::unique_ptr<Compressor> compressor_;
  std::vector<NamedCompressor> named_;
};

/// A file that loads changes the job wholly or not at all.
void CheckRestoring(const SavedState& state) {
  const Job job;
  const Bytes before = job.saved();
  const bool fits = Accepts<InvalidArgument>([&] { CheckFits(state, job.named()); });
  WEIR_CHECK(Accepts<InvalidArgument>([&] { Restore(state, job.named()); }) == fits);
  WEIR_CHECK(fits || job.saved() == before);
}

/// For a job that goes on with one rank more.
void CheckRemapping(const SavedState& state) {
  const std::vector<int> origins = {0, kNewRank};
  SavedState remapped;
  if (!Accepts<InvalidArgument>([&] { remapped = Remap(std::span(&state, 1), origins, 1); })) {
    WEIR_CHECK(state.ranks != 1);
    return;
  }
  WEIR_CHECK(remapped.ranks == 2 && remapped.rank == 1);
  WEIR_CHECK(FirstDifference(state, "a", remapped, "b").empty());
}

}  // namespace

void Run(std::span<const std::byte> bytes) {
  Input input(bytes);
  const bool mend = input.Number(3) != 0;
  Bytes file = input.Exactly(input.Rest().size());
  if (mend) {
    const std::uint64_t checksum = XXH3_64bits(file.data(), file.size());
    file.resize(file.size() + kChecksumBytes);
    StoreLittleEndian(file.data() + file.size() - kChecksumBytes, checksum);
  }
  SavedState state;
  if (!Accepts<Corrupt>([&] { state = Deserialize(file); })) return;
  WEIR_CHECK(0 <= state.rank && state.rank < state.ranks);
  WEIR_CHECK(Serialize(state) == file);
  CheckRestoring(state);
  CheckRemapping(state);
}

std::vector<Bytes> Seeds() {
  SavedState state = Collect(Job().named());
  state.step = 77;
  state.learning_rates = {0.1f, 0.01f};
  SavedState other{.ranks = 3, .rank = 1, .arrays = {{"w", "error", {1.5f}}, {"b", "error", {}}}};
  std::vector<Bytes> seeds;
  for (const SavedState& one : {state, other, SavedState{}}) {
    const Bytes file = Serialize(one);
    seeds.push_back(Seed({0}, file));
    seeds.push_back(Seed({1}, std::span(file).first(file.size() - kChecksumBytes)));
  }
  return seeds;
}

}  // namespace weir::fuzz
