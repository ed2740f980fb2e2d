#include "examples/01-byte-lm/data.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>

#include "examples/01-byte-lm/random.h"
#include "weir/error.h"

namespace byte_lm {
namespace {

// Separates the sampler's random numbers from those of the initial parameters.
constexpr std::uint64_t kSamplerStream = 1;

// Uniform in [0, n) from 64 random bits: the upper half of bits * n (Lemire, "Fast random integer
// generation in an interval", 2019, without the rejection: its bias is n / 2^64).
std::size_t Below(std::uint64_t bits, std::size_t n) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::size_t>((Wide{bits} * n) >> 64);
}

}  // namespace

Text Text::Load(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file || !std::filesystem::is_regular_file(path)) {
    throw weir::InvalidArgument("cannot read the text \"" + path.string() +
                                "\": give --text the path of a text file, for instance "
                                "examples/data/tinyshakespeare.txt in Weir's own tree");
  }
  std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.empty()) {
    throw weir::InvalidArgument("the text \"" + path.string() + "\" is empty: give --text another");
  }
  return Text(std::move(bytes));
}

Text::Text(std::vector<std::uint8_t> bytes)
    : bytes_(std::move(bytes)), train_size_(bytes_.size() - bytes_.size() / 10) {}

void Batch::Set(int column, std::span<const std::uint8_t> text, std::size_t start) {
  const auto context = static_cast<std::size_t>(contexts.rows());
  std::ranges::copy(text.subspan(start, context), contexts.col(column).data());
  targets[static_cast<std::size_t>(column)] = text[start + context];
}

std::size_t CountWindows(std::size_t bytes, int context) {
  const auto length = static_cast<std::size_t>(context);
  if (bytes <= length) {
    throw weir::InvalidArgument("a text of " + std::to_string(bytes) + " bytes has no window of " +
                                std::to_string(length) +
                                " bytes and one that follows: train on a longer text");
  }
  return bytes - length;
}

Sampler::Sampler(std::span<const std::uint8_t> text, int context, std::uint64_t seed)
    : text_(text), windows_(CountWindows(text.size(), context)), seed_(seed) {}

void Sampler::Fill(std::int64_t step, int rank, Batch& batch) const {
  for (int column = 0; column < batch.size(); ++column) {
    const std::uint64_t bits =
        RandomBits({kSamplerStream, seed_, static_cast<std::uint64_t>(step),
                    static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(column)});
    batch.Set(column, text_, Below(bits, windows_));
  }
}

}  // namespace byte_lm
