// Dictionaries of BytePS, whose keys begin with "byteps_": programs moved from it keep them.
#include <gtest/gtest.h>

#include <string>
#include <variant>

#include "compression/options/registry.h"
#include "weir/error.h"

namespace weir {
namespace {

/// Something that the rule allows and that is nobody's default.
struct SomeValue {
  std::string operator()(const RealRule&) const { return "0.3125"; }
  std::string operator()(const IntegerRule& rule) const { return std::to_string(rule.low + 5); }
  std::string operator()(const FlagRule&) const { return "true"; }
  std::string operator()(const FlagOrChoiceRule& rule) const { return rule.names.back(); }
  std::string operator()(const ChoiceRule& rule) const { return rule.names.back(); }
  std::string operator()(const ChoiceListRule& rule) const { return rule.names.front(); }
  std::string operator()(const RealListRule&) const { return "0.25,0.5"; }
  std::string operator()(const RealOrAutoRule&) const { return "0.3125"; }
  std::string operator()(const CountOrFractionRule&) const { return "12"; }
};

/// A parsed option.
struct ParsedValue {
  const ParsedOptions& options;
  const std::string& key;

  OptionValue operator()(const RealRule&) const { return options.Real(key); }
  OptionValue operator()(const IntegerRule&) const { return options.Integer(key); }
  OptionValue operator()(const FlagRule&) const { return options.Flag(key); }
  OptionValue operator()(const FlagOrChoiceRule&) const { return options.Choice(key); }
  OptionValue operator()(const ChoiceRule&) const { return options.Choice(key); }
  OptionValue operator()(const ChoiceListRule&) const { return options.ChoiceList(key); }
  OptionValue operator()(const RealListRule&) const { return options.RealList(key); }
  OptionValue operator()(const RealOrAutoRule&) const { return options.Real(key); }
  OptionValue operator()(const CountOrFractionRule&) const { return options.Real(key); }
};

TEST(BytePsPrefix, MayStandBeforeEveryKeyOfEveryCompressor) {
  for (const CompressorInfo& info : ListCompressors()) {
    for (const OptionSpec& spec : info.options) {
      SCOPED_TRACE(info.name + " " + spec.key);
      const std::string value = std::visit(SomeValue{}, spec.rule);
      const ParsedOptions parsed =
          ParseOptions({{"byteps_compressor", info.name}, {"byteps_" + spec.key, value}});
      EXPECT_EQ(parsed.compressor(), info.name);
      EXPECT_TRUE(parsed.Given(spec.key));
      EXPECT_EQ(std::visit(ParsedValue{parsed, spec.key}, spec.rule), ParseValue(spec.rule, value));
    }
  }
}

TEST(BytePsPrefix, StandsBeforeTheNamesOfItsCore) {
  EXPECT_EQ(WithoutPrefix({{"byteps_compressor_type", "topk"},
                           {"byteps_compressor_k", "3"},
                           {"byteps_compressor_k[fc*]", "0.5"},
                           {"byteps_ef_type", "vanilla"},
                           {"byteps_momentum_type", "nesterov"},
                           {"byteps_momentum_mu", "0.9"},
                           {"byteps_seed", "7"}}),
            (CompressionOptions{{"compressor", "topk"},
                                {"k", "3"},
                                {"k[fc*]", "0.5"},
                                {"ef", "vanilla"},
                                {"momentum", "nesterov"},
                                {"momentum_mu", "0.9"},
                                {"seed", "7"}}));
  EXPECT_EQ(WithoutPrefix({{"byteps_compressor_onebit_scaling", "true"}}),
            (CompressionOptions{{"scaling", "true"}}));
  EXPECT_THROW(WithoutPrefix({{"byteps_compressor_k", "3"}, {"byteps_k", "3"}}), InvalidArgument);
  // Without the prefix they are nobody's.
  EXPECT_EQ(WithoutPrefix({{"compressor_k", "3"}}), (CompressionOptions{{"compressor_k", "3"}}));
}

}  // namespace
}  // namespace weir
