#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compression/options/options.h"
#include "compression/wire/codec_id.h"
#include "weir/tensor.h"

namespace weir {

class Compressor;

/// The tensor that a compressor is made for.
struct TensorSpec {
  std::string name;  ///< Unique in its process set; identifies state and random draws.
  Shape shape;

  std::size_t elements() const { return static_cast<std::size_t>(shape.elements()); }
};

/// A compressor registered by name.
struct CompressorInfo {
  std::string name;
  std::string summary;              ///< One sentence.
  std::vector<OptionSpec> options;  ///< Every key it understands except "compressor".
  /// Makes one for one tensor. Checks rules that span several keys (ParsedOptions::Refuse).
  std::function<std::unique_ptr<Compressor>(const ParsedOptions&, const TensorSpec&)> make;
  CodecId codec = CodecId::kUnlisted;  ///< Its number in frame headers.
  /// A warning, before training, about options that are allowed but seldom
  /// meant: one sentence, or nothing.
  std::function<std::string(const ParsedOptions&)> caution = {};
};

/// Makes `info` known for the life of the program. Every compressor has one file with one such
/// object at namespace scope: `const CompressorRegistration kRegistration({"topk", ...});`
class CompressorRegistration {
 public:
  explicit CompressorRegistration(CompressorInfo info);
};

/// Checks a user's dictionary against the compressor it names; empty means "dense". Call it once
/// for an optimizer, then make one compressor per tensor. Throws InvalidArgument that names the
/// key, also for an unknown compressor.
ParsedOptions ParseOptions(const CompressionOptions& options);

/// CompressorInfo::caution of the compressor of `options`; "" where it has none.
std::string CautionOf(const ParsedOptions& options);

/// The registered compressor of this name; lives as long as the program. Throws InvalidArgument.
const CompressorInfo& FindCompressor(const std::string& name);

/// All registered compressors by name, for reference tables and completion.
std::vector<CompressorInfo> ListCompressors();

}  // namespace weir
