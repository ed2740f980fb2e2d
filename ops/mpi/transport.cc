#include "ops/mpi/transport.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <sstream>
#include <string>
#include <thread>
#include <utility>

#include "common/check.h"
#include "weir/error.h"

namespace weir::mpi {

namespace {

std::string TextOf(int code) {
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  return {text, static_cast<std::size_t>(length)};
}

int ClassOf(int code) {
  int error_class = MPI_ERR_UNKNOWN;
  MPI_Error_class(code, &error_class);
  return error_class;
}

MPI_Comm DuplicateWorld(std::chrono::milliseconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_Comm_idup(MPI_COMM_WORLD, &comm, &request);
  for (int done = 0; code == MPI_SUCCESS && done == 0;) {
    code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0 || code != MPI_SUCCESS) break;
    if (std::chrono::steady_clock::now() > deadline) {
      throw TimedOut(
          "not all ranks joined the job within " + std::to_string(timeout.count()) + " ms",
          {.tensor = {}, .ranks = {}, .phase = "start"});
    }
    std::this_thread::yield();
  }
  if (code != MPI_SUCCESS) throw Error("cannot duplicate MPI_COMM_WORLD: " + TextOf(code));
  return comm;
}

/// Number of a tag's bits that are free for the operation number.
int OperationBits(MPI_Comm comm, int chunk_bits) {
  int* upper_bound = nullptr;
  int found = 0;
  MPI_Comm_get_attr(comm, MPI_TAG_UB, static_cast<void*>(&upper_bound), &found);
  WEIR_CHECK(found != 0);
  return std::bit_width(static_cast<unsigned>(*upper_bound) + 1) - 1 - chunk_bits;
}

/// Returns "MPICH Version: 5.0.2", or the like.
std::string LibraryVersion() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  std::istringstream first_line(
      std::string(text.data()).substr(0, std::strcspn(text.data(), "\n,")));
  std::string version;
  for (std::string word; first_line >> word;) version += (version.empty() ? "" : " ") + word;
  return version;
}

}  // namespace

Transport::Transport(std::shared_ptr<Session> session, std::chrono::milliseconds timeout)
    : session_(std::move(session)) {
  try {
    comm_ = DuplicateWorld(timeout);
  } catch (...) {
    session_->Abandon();
    throw;
  }
  MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
  MPI_Comm_rank(comm_, &rank_);
  MPI_Comm_size(comm_, &size_);
  const int bits = OperationBits(comm_, kChunkBits);
  if (bits < kLeastOperationBits) {
    session_->Abandon();
    throw InvalidArgument("this MPI library's tags are too small (MPI_TAG_UB): Weir needs " +
                          std::to_string(kLeastOperationBits + kChunkBits) +
                          " bits. MPICH and Open MPI have them");
  }
  operation_mask_ = (std::uint32_t{1} << bits) - 1;
  description_ = "MPI (" + LibraryVersion() + ")";
}

Transport::~Transport() { Close(); }

void Transport::Close() {
  if (session_ == nullptr) return;
  if (free_.size() != slots_.size()) session_->Abandon();
  if (!session_->abandoned()) MPI_Comm_free(&comm_);
  session_.reset();
}

int Transport::MpiTag(Tag tag) const {
  constexpr std::uint32_t kChunkMask = (std::uint32_t{1} << kChunkBits) - 1;
  return static_cast<int>((tag.operation & operation_mask_) << kChunkBits |
                          (tag.chunk & kChunkMask));
}

Transport::Request Transport::TakeSlot(int peer, bool sending, std::size_t bytes) {
  WEIR_CHECK(peer >= 0 && peer < size_);
  WEIR_CHECK(bytes <= static_cast<std::size_t>(std::numeric_limits<int>::max()));
  if (session_->abandoned()) {
    throw PeerLost("the network of this job has failed; no message can be sent any more",
                   {.tensor = {}, .ranks = {peer}, .phase = "exchange"});
  }
  if (free_.empty()) {
    free_.push_back(static_cast<Request>(slots_.size()));
    slots_.emplace_back();
    free_.reserve(slots_.capacity());
  }
  const Request request = free_.back();
  free_.pop_back();
  slots_[request] = {.request = MPI_REQUEST_NULL,
                     .peer = peer,
                     .sending = sending,
                     .bytes = static_cast<int>(bytes)};
  return request;
}

Transport::Request Transport::Send(int peer, Tag tag, std::span<const std::byte> data) {
  const Request request = TakeSlot(peer, true, data.size());
  Slot& slot = slots_[request];
  const int code =
      MPI_Isend(data.data(), slot.bytes, MPI_BYTE, peer, MpiTag(tag), comm_, &slot.request);
  if (code != MPI_SUCCESS) Fail(code, slot);
  return request;
}

Transport::Request Transport::Receive(int peer, Tag tag, std::span<std::byte> buffer) {
  const Request request = TakeSlot(peer, false, buffer.size());
  Slot& slot = slots_[request];
  const int code =
      MPI_Irecv(buffer.data(), slot.bytes, MPI_BYTE, peer, MpiTag(tag), comm_, &slot.request);
  if (code != MPI_SUCCESS) Fail(code, slot);
  return request;
}

std::optional<std::size_t> Transport::Test(Request request) {
  Slot& slot = slots_[request];
  int done = 0;
  MPI_Status status;
  const int code = MPI_Test(&slot.request, &done, &status);
  if (code != MPI_SUCCESS) {
    free_.push_back(request);
    Fail(code, slot);
  }
  if (done == 0) return {};
  free_.push_back(request);
  if (slot.sending) {
    totals_.sent_bytes += static_cast<std::uint64_t>(slot.bytes);
    ++totals_.sent_messages;
    return static_cast<std::size_t>(slot.bytes);
  }
  int bytes = 0;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  totals_.received_bytes += static_cast<std::uint64_t>(bytes);
  ++totals_.received_messages;
  return static_cast<std::size_t>(bytes);
}

void Transport::Cancel(Request request) {
  Slot& slot = slots_[request];
  free_.push_back(request);
  if (session_->abandoned()) return;
  int done = 0;
  const bool tested = MPI_Test(&slot.request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS;
  if (tested && done == 0 && !slot.sending) {
    MPI_Cancel(&slot.request);
    MPI_Test(&slot.request, &done, MPI_STATUS_IGNORE);
  }
  if (!tested || done == 0) session_->Abandon();
}

void Transport::Fail(int code, const Slot& slot) {
  session_->Abandon();
  const ErrorContext context{.tensor = {}, .ranks = {slot.peer}, .phase = "exchange"};
  const std::string peer = std::to_string(slot.peer);
  if (ClassOf(code) == MPI_ERR_TRUNCATE) {
    throw Corrupt("rank " + peer + " sent a message longer than the " + std::to_string(slot.bytes) +
                      " bytes allowed: " + TextOf(code),
                  context);
  }
  throw PeerLost((slot.sending ? "sending to rank " : "receiving from rank ") + peer +
                     " failed: " + TextOf(code),
                 context);
}

}  // namespace weir::mpi
