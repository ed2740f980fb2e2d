#include "launcher/text/words.h"

#include <sstream>

namespace weir::launcher {

std::vector<std::string> Words(const std::string& text, char separator) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, separator);) {
    if (!word.empty()) words.push_back(word);
  }
  return words;
}

}  // namespace weir::launcher
