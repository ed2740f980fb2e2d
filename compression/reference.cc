#include <string>

#include "compression/registry.h"

namespace weir {
namespace {

constexpr const char* kIntroduction =
    R"(# Compression options

Compression is chosen by a dictionary of strings, the same in every binding, for example

```text
{"compressor": "dgc", "density": "0.001", "momentum": "vanilla", "momentum_mu": "0.9"}
```

In C++ it is `GradientGroupSpec::compression` or `OptimizerOptions::compression`. On the command line of
an example and in `WEIR_COMPRESSION` the same is written `compressor=dgc,density=0.001`, a list of numbers
there in brackets: `sparsity=[0.75,0.999]`, or `dgc` alone. A key that the compressor does not know, or a
value that is not allowed, is an error that names the key, the value, what is allowed and the nearest key.
Without a dictionary gradients are averaged as they are.
)";

constexpr const char* kClosing = R"(
This page is generated from the compressors' own declarations; a test compares the two.
)";

std::string Section(const CompressorInfo& compressor) {
  std::string text = "\n## `" + compressor.name + "`\n\n" + compressor.summary + "\n\n";
  text += "| key | default | allowed | what it does |\n|---|---|---|---|\n";
  for (const OptionSpec& option : compressor.options) {
    const std::string fallback = option.default_text.empty() ? "" : "`" + option.default_text + "`";
    text += "| `" + option.key + "` | " + fallback + " | " + Describe(option.rule) + " | " +
            option.help + " |\n";
  }
  return text;
}

}  // namespace

std::string CompressionReference(const std::vector<CompressorInfo>& compressors) {
  std::string page = kIntroduction;
  for (const CompressorInfo& compressor : compressors) page += Section(compressor);
  return page + kClosing;
}

}  // namespace weir
