// Command lines that people copy: a shell reads the same words back.
#include "launcher/text/shell_words.h"

#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

#include "tests/fuzz/fuzz_target.h"

namespace weir::fuzz {
namespace {

using Words = std::vector<std::string>;

/// At NUL bytes, which no word can hold.
Words Divided(const std::string& text) {
  Words words = {""};
  for (const char c : text) {
    if (c == '\0') {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

/// Words that a shell reads from a line (POSIX, "Quoting" and "Token Recognition"), for lines of
/// words alone. (glibc's wordexp finds an empty word too many where ''\'' begins one.)
Words ReadByShell(const std::string& line) {
  constexpr std::string_view kUnquoted = "_-./:=,@%+";
  Words words;
  std::optional<std::string> word;
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\'' || quoted) {
      if (!word) word.emplace();
      quoted = quoted != (c == '\'');
      if (c != '\'') *word += c;
    } else if (c == ' ') {
      WEIR_CHECK_MSG(word, line);
      words.push_back(*std::exchange(word, std::nullopt));
    } else {
      if (!word) word.emplace();
      const bool escaped = c == '\\';
      if (escaped) ++i;
      WEIR_CHECK_MSG(i < line.size(), line);
      const bool plain = std::isalnum(static_cast<unsigned char>(line[i])) != 0 ||
                         kUnquoted.find(line[i]) != std::string_view::npos;
      WEIR_CHECK_MSG(escaped || plain, line);
      *word += line[i];
    }
  }
  WEIR_CHECK_MSG(word && !quoted, line);
  words.push_back(*word);
  return words;
}

}  // namespace

void Run(std::span<const std::byte> bytes) {
  const Words words = Divided(Input(bytes).Text());
  const std::string line = launcher::ShellWords(words);
  WEIR_CHECK_MSG(ReadByShell(line) == words, line);
}

std::vector<Bytes> Seeds() {
  using std::string_literals::operator""s;
  return {Seed({}, "python\0train.py\0--name=it's\0a b\0"s),
          Seed({}, "sh\0-c\0echo $HOME `id` \"*\" ~ \\ \n# {a,b}"s)};
}

}  // namespace weir::fuzz
