#include "tests/emulated_gpu/nccl.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <utility>

#include "common/half.h"

using namespace weir::emulated;  // NOLINT(google-build-using-namespace)
using weir::nccl::Comm;
using weir::nccl::Config;
using weir::nccl::DataType;
using weir::nccl::RedOp;
using weir::nccl::ScalarResidence;
using weir::nccl::UniqueId;
using Code = weir::nccl::Result;

namespace {

constexpr int kFirstOperator = 1000;

/// Calls of the ranks in one group.
struct Group {
  explicit Group(std::size_t ranks) : calls(ranks), missing(ranks) {}
  std::vector<std::vector<Call>> calls;  ///< By rank.
  std::size_t missing;                   ///< Ranks that have not made it.
  std::optional<std::vector<std::vector<Result>>> results;
  bool fails = false;  ///< In its middle: what is received is anything.
};

/// A communicator of all its ranks. Guarded by TheMutex.
struct World {
  int ranks = 0;
  int joined = 0;
  bool aborted = false;  ///< By one of them: nothing gets through any more.
  bool failed = false;
  int members = 0;                                         ///< That have neither left nor aborted.
  std::map<std::uint64_t, std::shared_ptr<Group>> groups;  ///< That some rank has not made.
  std::vector<Factors> factors;
};

struct Member {
  std::shared_ptr<World> world;
  int rank = 0;
  std::uint64_t groups = 0;  ///< So many has this rank made,
  std::shared_ptr<Group> last;
  int operators = kFirstOperator;
  bool told_of_launch = false;  ///< Of the failed launch.
};

/// Groups of calls until one fails; 0: none does.
int& UntilFailure() {
  static int until = 0;
  return until;
}

std::map<std::uint64_t, std::shared_ptr<World>>& Worlds() {
  static auto* const worlds = new std::map<std::uint64_t, std::shared_ptr<World>>;
  return *worlds;
}

Member& MemberOf(Comm comm) { return *reinterpret_cast<Member*>(comm); }

/// State of this thread: its depth in groups, and its calls there.
struct Calls {
  int depth = 0;
  Comm comm = nullptr;
  std::vector<Call> calls;
};
Calls& TheCalls() {
  thread_local Calls calls;
  return calls;
}

/// Communicators stay in progress while this is more than 0: so often they are asked.
int& AskedInVain() {
  static int asked = 0;
  return asked;
}

bool InProgress(const Member& member) {
  if (AskedInVain() > 0) return true;
  return member.world->joined < member.world->ranks ||
         (member.last != nullptr && member.last->missing > 0);
}

void Fail(const std::string& what) {
  std::fprintf(stderr, "emulated NCCL: %s\n", what.c_str());
  std::abort();
}

/// Work of one rank's stream, once all ranks have made the calls.
void Run(const World& world, Group& group, std::size_t rank,
         const std::vector<std::pair<std::shared_ptr<Stream>, std::uint64_t>>& places) {
  if (!group.results) {
    for (const auto& [stream, at] : places) {
      if (stream != nullptr) RunUntil(*stream, at);
    }
    try {
      group.results = Compute(group.calls, world.factors);
    } catch (const std::logic_error& error) {
      Fail(error.what());
    }
  }
  for (Result& result : (*group.results)[rank]) {
    if (group.fails) std::ranges::fill(result.bytes, std::byte{0x66});
    std::memcpy(result.to, result.bytes.data(), result.bytes.size());
  }
}

void Launch(const std::shared_ptr<World>& world, const std::shared_ptr<Group>& group) {
  std::vector<std::pair<std::shared_ptr<Stream>, std::uint64_t>> places;
  for (const auto& calls : group->calls) {
    if (calls.empty()) {
      places.emplace_back();
    } else {
      places.emplace_back(calls[0].stream, calls[0].stream->given);
    }
  }
  for (std::size_t r = 0; r < places.size(); ++r) {
    Stream* const stream = places[r].first.get();
    if (stream == nullptr) continue;
    stream->queue.push_back([=] { Run(*world, *group, r, places); });
    ++stream->given;
  }
}

Code Add(Comm comm, Call call, weir::nccl::Stream stream) {
  Calls& calls = TheCalls();
  if (calls.depth == 0 || (calls.comm != nullptr && calls.comm != comm)) return Code::kInvalidUsage;
  const std::scoped_lock lock(TheMutex());
  if (InProgress(MemberOf(comm))) return Code::kInvalidUsage;
  call.stream = StreamOf(static_cast<cudaStream_t>(stream));
  if (call.stream == nullptr || call.stream->device != CurrentDevice()) return Code::kInvalidUsage;
  calls.comm = comm;
  calls.calls.push_back(std::move(call));
  return Code::kSuccess;
}

const std::byte* BytesOf(const void* memory) { return static_cast<const std::byte*>(memory); }
std::byte* BytesOf(void* memory) { return static_cast<std::byte*>(memory); }

}  // namespace

extern "C" {

Code ncclGetVersion(int* version) {
  *version = 22803;
  return Code::kSuccess;
}

const char* ncclGetErrorString(Code result) {
  return result == Code::kInvalidUsage ? "invalid usage" : "an error of the emulated NCCL";
}

const char* ncclGetLastError(Comm) { return ""; }

Code ncclGetUniqueId(UniqueId* id) {
  const std::scoped_lock lock(TheMutex());
  static std::uint64_t next = 1;
  std::memset(id->internal, 0, sizeof id->internal);
  std::memcpy(id->internal, &next, sizeof next);
  ++next;
  return Code::kSuccess;
}

Code ncclCommInitRankConfig(Comm* comm, int ranks, UniqueId id, int rank, Config* config) {
  if (config->blocking != 0) return Code::kInvalidUsage;
  std::uint64_t number = 0;
  std::memcpy(&number, id.internal, sizeof number);
  const std::scoped_lock lock(TheMutex());
  std::shared_ptr<World>& world = Worlds()[number];
  if (world == nullptr) {
    world = std::make_shared<World>();
    world->ranks = ranks;
    world->factors.resize(static_cast<std::size_t>(ranks));
  }
  ++world->joined;
  ++world->members;
  *comm = reinterpret_cast<Comm>(new Member{.world = world, .rank = rank});
  return Code::kInProgress;
}

Code ncclCommFinalize(Comm) { return Code::kSuccess; }

Code ncclCommDestroy(Comm comm) {
  const std::scoped_lock lock(TheMutex());
  World& world = *MemberOf(comm).world;
  if (--world.members == 0 && world.failed) HoldSoon(false);
  delete &MemberOf(comm);
  return Code::kSuccess;
}

Code ncclCommAbort(Comm comm) {
  const std::scoped_lock lock(TheMutex());
  MemberOf(comm).world->aborted = true;
  return ncclCommDestroy(comm);
}

Code ncclCommGetAsyncError(Comm comm, Code* error) {
  const std::scoped_lock lock(TheMutex());
  Member& member = MemberOf(comm);
  if (AskedInVain() > 0) --AskedInVain();
  *error = InProgress(member) ? Code::kInProgress : Code::kSuccess;
  // It was launched before it failed.
  const bool failed = member.world->failed && *error == Code::kSuccess;
  if (failed && std::exchange(member.told_of_launch, true)) *error = Code::kRemoteError;
  return Code::kSuccess;
}

/// For tests: that many times communicators are asked in vain whether they are through.
void EmulatedNcclIsSlow(int asked) {
  const std::scoped_lock lock(TheMutex());
  AskedInVain() = asked;
}

/// For tests: of the groups of calls that are complete from now on, this one fails.
void EmulatedNcclFailAt(int group) {
  const std::scoped_lock lock(TheMutex());
  UntilFailure() = group;
}

Code ncclRedOpCreatePreMulSum(RedOp* op, void* scalar, DataType type, ScalarResidence, Comm comm) {
  const std::scoped_lock lock(TheMutex());
  Member& member = MemberOf(comm);
  *op = member.operators++;
  double factor = 0.0;
  if (type == DataType::kFloat64) {
    std::memcpy(&factor, scalar, sizeof factor);
  } else if (type == DataType::kFloat32) {
    float single = 0.0f;
    std::memcpy(&single, scalar, sizeof single);
    factor = single;
  } else {
    std::uint16_t bits = 0;
    std::memcpy(&bits, scalar, sizeof bits);
    factor = type == DataType::kFloat16 ? weir::HalfToFloat(bits) : weir::BFloat16ToFloat(bits);
  }
  member.world->factors[static_cast<std::size_t>(member.rank)][*op] = factor;
  return Code::kSuccess;
}

Code ncclRedOpDestroy(RedOp, Comm) { return Code::kSuccess; }

Code ncclAllReduce(const void* in, void* out, std::size_t count, DataType type, RedOp op, Comm comm,
                   weir::nccl::Stream stream) {
  return Add(comm, {CallKind::kAllReduce, BytesOf(in), BytesOf(out), count, type, op}, stream);
}

Code ncclReduce(const void* in, void* out, std::size_t count, DataType type, RedOp op, int root,
                Comm comm, weir::nccl::Stream stream) {
  return Add(comm, {CallKind::kReduce, BytesOf(in), BytesOf(out), count, type, op, root}, stream);
}

Code ncclReduceScatter(const void* in, void* out, std::size_t count, DataType type, RedOp op,
                       Comm comm, weir::nccl::Stream stream) {
  return Add(comm, {CallKind::kReduceScatter, BytesOf(in), BytesOf(out), count, type, op}, stream);
}

Code ncclAllGather(const void* in, void* out, std::size_t count, DataType type, Comm comm,
                   weir::nccl::Stream stream) {
  return Add(comm, {CallKind::kAllGather, BytesOf(in), BytesOf(out), count, type}, stream);
}

Code ncclBroadcast(const void* in, void* out, std::size_t count, DataType type, int root, Comm comm,
                   weir::nccl::Stream stream) {
  return Add(comm, {CallKind::kBroadcast, BytesOf(in), BytesOf(out), count, type, 0, root}, stream);
}

Code ncclSend(const void* in, std::size_t count, DataType type, int peer, Comm comm,
              weir::nccl::Stream stream) {
  return Add(comm, {CallKind::kSend, BytesOf(in), nullptr, count, type, 0, peer}, stream);
}

Code ncclRecv(void* out, std::size_t count, DataType type, int peer, Comm comm,
              weir::nccl::Stream stream) {
  return Add(comm, {CallKind::kRecv, nullptr, BytesOf(out), count, type, 0, peer}, stream);
}

Code ncclGroupStart() {
  ++TheCalls().depth;
  return Code::kSuccess;
}

Code ncclGroupEnd() {
  Calls& calls = TheCalls();
  if (--calls.depth > 0 || calls.comm == nullptr) return Code::kSuccess;
  const std::scoped_lock lock(TheMutex());
  Member& member = MemberOf(std::exchange(calls.comm, nullptr));
  std::shared_ptr<World>& world = member.world;
  std::shared_ptr<Group>& group = world->groups[member.groups];
  const auto ranks = static_cast<std::size_t>(world->ranks);
  if (group == nullptr) group = std::make_shared<Group>(ranks);
  member.last = group;
  group->calls[static_cast<std::size_t>(member.rank)] = std::exchange(calls.calls, {});
  if (world->aborted) return Code::kInProgress;
  if (--group->missing > 0) {
    ++member.groups;
    return Code::kInProgress;
  }
  world->groups.erase(member.groups++);
  if (UntilFailure() == 1) {
    world->failed = member.last->fails = true;
    HoldSoon(true);  // Until all have aborted it: it is stuck.
  }
  if (UntilFailure() > 0) --UntilFailure();
  Launch(world, member.last);
  return Code::kSuccess;
}

}  // extern "C"
