#include "compression/process/shared_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <string>
#include <system_error>
#include <utility>

#include "weir/error.h"

namespace weir {
namespace {

[[noreturn]] void Refuse(std::size_t bytes) {
  throw Error("cannot share " + std::to_string(bytes) +
              " bytes with the compression process: " + std::system_category().message(errno));
}

UniqueFd NewMemory(std::size_t bytes) {
  UniqueFd fd(memfd_create("weir-compression", MFD_CLOEXEC));
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) Refuse(bytes);
  return fd;
}

}  // namespace

SharedMemory::SharedMemory(std::size_t bytes) : fd_(NewMemory(bytes)) { Map(bytes); }

SharedMemory::SharedMemory(UniqueFd fd, std::size_t bytes) : fd_(std::move(fd)) {
  Map(bytes);
  Close();
}

void SharedMemory::Map(std::size_t bytes) {
  void* const mapped =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd_.get(), 0);
  if (mapped == MAP_FAILED) Refuse(bytes);
  bytes_ = {static_cast<std::byte*>(mapped), bytes};
}

SharedMemory::~SharedMemory() { munmap(bytes_.data(), bytes_.size()); }

}  // namespace weir
