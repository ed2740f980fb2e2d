#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "compression/options/options.h"

namespace weir {

/// Compression options whose keys may carry a shell pattern of tensor names (fnmatch; "*" matches
/// dots and slashes, too):
/// {"compressor": "dgc", "compressor[*.bias]": "dense", "density[fc?.*]": "0.01"}.
///
/// A key without a pattern holds for all tensors; without any such key they are averaged
/// uncompressed. A pattern adds its keys for the tensors it matches. Where several patterns match,
/// the most specific one wins: the one with the most characters that are not wildcards, and above
/// all a name without wildcards. A pattern that names another compressor starts afresh: of the
/// other options only those of the whole run stay (steps, clip_norm, ...), which may not carry a
/// pattern themselves. Immutable and thread-safe.
class TensorOptions {
 public:
  /// Throws InvalidArgument for a key that is not "key" or "key[pattern]", and, when there are
  /// patterns, as ParseOptions does; an error in a pattern's options names the pattern.
  explicit TensorOptions(const CompressionOptions& options);

  /// The options without a pattern.
  const CompressionOptions& base() const { return base_; }
  bool has_patterns() const { return !patterns_.empty(); }

  /// Returns the options of one tensor, without patterns. Throws InvalidArgument when two equally
  /// specific matching patterns give different values to one key.
  CompressionOptions For(const std::string& tensor) const;

  /// Writes `"fc1.bias" (matched by "*.bias")`, for errors about the options of a tensor.
  std::string Describe(const std::string& tensor) const;

  /// Returns a warning about patterns that match none of `tensors`, those of `owner`; empty when
  /// there are none. Throws StrictError instead if `strict`.
  std::string CheckMatches(std::span<const std::string> tensors, const std::string& owner,
                           bool strict) const;

  /// Checks options before there are tensors: calls `check` with the options of a tensor that one
  /// pattern alone matches, for each pattern whose options do not depend on another one. An
  /// InvalidArgument of `check` then names the pattern.
  void CheckPatterns(const std::function<void(const CompressionOptions&)>& check) const;

 private:
  struct Pattern {
    std::string text;
    std::size_t specificity = 0;
    CompressionOptions options;
  };
  void Add(const std::string& key, const std::string& value);
  std::vector<const Pattern*> Matching(const std::string& tensor) const;

  CompressionOptions base_;
  std::vector<Pattern> patterns_;  ///< In order, the least specific first.
};

}  // namespace weir
