#include "ops/hub/job_token.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "common/supervision/random_token.h"
#include "common/unique_fd.h"
#include "common/write_all.h"
#include "weir/error.h"

namespace weir {
namespace {

[[noreturn]] void Fail(const std::string& what, const std::string& file) {
  throw InvalidArgument("cannot " + what + " the job's token " + file + ": " +
                        std::strerror(errno) +
                        "; give the same token to all ranks, in WEIR_TOKEN or WEIR_TOKEN_FILE");
}

std::string ReadToken(const std::string& file) {
  const UniqueFd fd(open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) Fail("read", file);
  struct stat status {};
  if (fstat(fd.get(), &status) != 0) Fail("read", file);
  if (!S_ISREG(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
    throw InvalidArgument("other users may read or write the job's token " + file +
                          ": it has to be a file of this user; chmod 600 it");
  }
  std::array<char, 4096> bytes{};
  const ssize_t n = read(fd.get(), bytes.data(), bytes.size());
  if (n < 0) Fail("read", file);
  std::string token(bytes.data(), static_cast<std::size_t>(n));
  token.erase(token.find_last_not_of(" \r\n") + 1);
  if (token.empty()) throw InvalidArgument("the job's token " + file + " is empty");
  return token;
}

/// Makes the file whole or not at all: other ranks may make it too, on other hosts.
void MakeToken(const std::string& file) {
  std::string draft = file + ".XXXXXX";
  const UniqueFd fd(mkstemp(draft.data()));  // Mode 600.
  if (!fd) Fail("make", file);
  const std::string text = supervision::RandomToken() + "\n";
  const bool written = WriteAll(fd.get(), text) == 0;
  const bool linked = written && (link(draft.c_str(), file.c_str()) == 0 || errno == EEXIST);
  const int error = errno;
  unlink(draft.c_str());
  errno = error;
  if (!linked) Fail("make", file);
}

}  // namespace

std::string JobToken(const std::string& token, const std::string& file) {
  if (!token.empty()) return token;
  if (!file.empty()) return ReadToken(file);
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') {
    throw InvalidArgument(
        "there is no HOME to keep the job's token in; give the same one to all ranks, in "
        "WEIR_TOKEN or WEIR_TOKEN_FILE");
  }
  const std::string folder = std::string(home) + "/.weir";
  const std::string own = folder + "/token";
  if (access(own.c_str(), F_OK) != 0) {
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) Fail("make", own);
    MakeToken(own);
  }
  return ReadToken(own);
}

}  // namespace weir
