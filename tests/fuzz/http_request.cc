// What readers of the metrics send.
#include "metrics/http/request.h"
#include "tests/fuzz/fuzz_target.h"

namespace weir::fuzz {

void Run(std::span<const std::byte> bytes) {
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const auto length = HttpHeadLength(text);
  if (length) {
    WEIR_CHECK(*length <= text.size() && text.substr(0, *length).ends_with('\n'));
    // More does not change what has come.
    WEIR_CHECK(HttpHeadLength(text + "\n\n") == length);
  }
  const auto request = ParseHttpRequest(text);
  if (!request) return;
  WEIR_CHECK(!request->method.empty() && request->path.starts_with('/'));
  for (const std::string* part :
       {&request->method, &request->path, &request->query, &request->authorization}) {
    WEIR_CHECK(part->find('\n') == std::string::npos && part->size() <= text.size());
  }
}

std::vector<Bytes> Seeds() {
  return {Seed({}, "GET /events?after=7&wait=1 HTTP/1.1\r\nHost: a\r\n\r\n"),
          Seed({}, "GET / HTTP/1.0\n\n"),
          Seed({}, "POST /run HTTP/1.1\r\nauthorization: Bearer x\r\n\r\nbody")};
}

}  // namespace weir::fuzz
