#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compression/options/option_rule.h"

namespace weir {

/// Compression as a user writes it, the same on every binding:
/// {"compressor": "dgc", "density": "0.001", "momentum": "vanilla", "momentum_mu": "0.9"}.
using CompressionOptions = std::map<std::string, std::string>;

/// One key that a compressor understands.
struct OptionSpec {
  std::string key;
  std::string default_text;  ///< As a user would write it; "" when the key has no default.
  OptionRule rule;
  std::string help;  ///< One sentence.
};

/// Concatenates lists; a later spec replaces an earlier one with the same key.
std::vector<OptionSpec> JoinSpecs(const std::vector<std::vector<OptionSpec>>& lists);

/// Options after checking: every key is known, every value parsed, defaults filled in. Immutable
/// and thread-safe. The accessors are for code that knows which keys it declared: asking for a key
/// that is absent, or as the wrong type, is a broken invariant (WEIR_CHECK).
class ParsedOptions {
 public:
  /// Checks `options` against the keys a compressor declared. Throws InvalidArgument that
  /// names the key, the value, what is allowed and, for a slip, the key probably meant.
  /// "compressor" itself is always allowed.
  ParsedOptions(const std::string& compressor, const std::vector<OptionSpec>& specs,
                const CompressionOptions& options);

  const std::string& compressor() const { return compressor_; }

  /// True if the key has a value, given or by default.
  bool Has(const std::string& key) const { return values_.contains(key); }
  /// True if the user wrote the key.
  bool Given(const std::string& key) const { return given_.contains(key); }

  double Real(const std::string& key) const;  ///< Also for a CountOrFractionRule.
  std::int64_t Integer(const std::string& key) const;
  bool Flag(const std::string& key) const;
  const std::string& Choice(const std::string& key) const;
  bool IsAuto(const std::string& key) const;  ///< For a RealOrAutoRule.
  const std::vector<double>& RealList(const std::string& key) const;
  const std::vector<std::string>& ChoiceList(const std::string& key) const;

  /// Throws InvalidArgument: `compression option "<key>" = "<value>" <complaint>`. For rules
  /// between keys, which only the compressor can check.
  [[noreturn]] void Refuse(const std::string& key, const std::string& complaint) const;

 private:
  template <typename T>
  const T& Get(const std::string& key) const;

  std::string compressor_;
  CompressionOptions given_;
  std::map<std::string, OptionValue> values_;
};

/// Removes the "byteps_" prefix from keys, and translates the names of BytePS's core after it
/// ("byteps_compressor_type" is "compressor"). Throws InvalidArgument when a key appears both ways.
CompressionOptions WithoutPrefix(const CompressionOptions& options);

}  // namespace weir
