#include "launcher/text/shell_words.h"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace weir::launcher {
namespace {

bool IsPlain(unsigned char c) {
  return std::isalnum(c) != 0 || std::string_view("_-./:=,@%+").find(c) != std::string_view::npos;
}

std::string Quoted(const std::string& word) {
  if (!word.empty() && std::ranges::all_of(word, IsPlain)) return word;
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

}  // namespace

std::string ShellWords(const std::vector<std::string>& command) {
  std::string line;
  for (const std::string& word : command) line += (line.empty() ? "" : " ") + Quoted(word);
  return line;
}

}  // namespace weir::launcher
