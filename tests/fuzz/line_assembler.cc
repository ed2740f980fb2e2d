// Output of ranks, in pieces of any size.
#include "launcher/output/line_assembler.h"

#include "tests/fuzz/fuzz_target.h"

namespace weir::fuzz {
namespace {

/// The lines, each with the prefix: it shows where they begin.
std::string Assembled(std::string_view text, std::size_t piece, std::string_view prefix) {
  launcher::LineAssembler assembler;
  std::string lines;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    const std::string whole = assembler.Append(text.substr(at, piece));
    WEIR_CHECK(whole.empty() || whole.back() == '\n' || whole.back() == '\r');
    lines += launcher::PrefixLines(whole, prefix);
  }
  return lines + launcher::PrefixLines(assembler.Finish(), prefix);
}

}  // namespace

void Run(std::span<const std::byte> bytes) {
  Input input(bytes);
  const std::size_t piece = 1 + input.Number(20);
  const std::string text = input.Text();
  const std::string lines = Assembled(text, piece, "");
  WEIR_CHECK(lines == text || lines == text + "\n");
  WEIR_CHECK(Assembled(text, piece, "> ") == Assembled(text, text.size() + 1, "> "));
}

std::vector<Bytes> Seeds() {
  return {Seed({3}, "one\ntwo\r\n\n10%\r20%\rend"), Seed({0}, "\r\r\n\n\r"), Seed({20}, "whole\n")};
}

}  // namespace weir::fuzz
