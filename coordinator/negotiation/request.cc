#include "coordinator/negotiation/request.h"

#include <array>

#include "common/byte_stream.h"
#include "common/check.h"
#include "common/shape_bytes.h"

namespace weir {
namespace {

// Smallest size of an item, so that a count can be bounded before anything is allocated.
constexpr std::size_t kLeastMember = 6;
constexpr std::size_t kLeastRequest = 53;
constexpr std::size_t kLeastResponse = 26;
constexpr int kReduceOps = static_cast<int>(ReduceOp::kProduct) + 1;
constexpr int kResponseKinds = static_cast<int>(Response::Kind::kPlanned) + 1;

template <typename Enum>
Enum GetEnum(ByteReader& in, int count) {
  const auto value = in.Get<std::uint8_t>();
  if (value >= count) in.Fail("an unknown code");
  return static_cast<Enum>(value);
}

// Strict, so that every message has one reading and one spelling.
bool GetBool(ByteReader& in, const char* trouble) {
  const auto value = in.Get<std::uint8_t>();
  if (value > 1) in.Fail(trouble);
  return value == 1;
}

void PutRows(ByteWriter& out, const std::vector<std::int64_t>& rows) {
  out.Put(static_cast<std::uint32_t>(rows.size()));
  for (const std::int64_t count : rows) out.Put(count);
}

std::vector<std::int64_t> GetRows(ByteReader& in) {
  std::vector<std::int64_t> rows(in.GetCount(sizeof(std::int64_t)));
  for (std::int64_t& count : rows) {
    count = in.Get<std::int64_t>();
    if (count < 0) in.Fail("a negative number of rows");
  }
  return rows;
}

void PutRequest(ByteWriter& out, const Request& request) {
  out.Put(request.kind);
  out.PutString(request.name);
  out.Put(request.dtype);
  PutShape(out, request.shape);
  out.Put(request.op);
  out.Put(request.prescale);
  out.Put(request.postscale);
  out.Put(request.root);
  out.Put(request.priority);
  PutRows(out, request.splits);
  out.Put(static_cast<std::uint32_t>(request.members.size()));
  for (const Request::Member& member : request.members) {
    out.PutString(member.name);
    out.Put(member.dtype);
    PutShape(out, member.shape);
  }
  out.Put(static_cast<std::uint32_t>(request.settings.size()));
  for (const auto& [key, value] : request.settings) {
    out.PutString(key);
    out.PutString(value);
  }
  out.Put(request.slots);
  out.PutString(request.gpu);
  out.Put(static_cast<std::uint8_t>(request.gpu_alone));
}

Request GetRequest(ByteReader& in) {
  Request request;
  request.kind = GetEnum<RequestKind>(in, kRequestKinds);
  request.name = in.GetString();
  request.dtype = GetEnum<DType>(in, kDTypeCount);
  request.shape = GetShape(in);
  request.op = GetEnum<ReduceOp>(in, kReduceOps);
  request.prescale = in.Get<double>();
  request.postscale = in.Get<double>();
  request.root = in.Get<std::int32_t>();
  request.priority = in.Get<std::int32_t>();
  request.splits = GetRows(in);
  request.members.resize(in.GetCount(kLeastMember));
  for (Request::Member& member : request.members) {
    member.name = in.GetString();
    member.dtype = GetEnum<DType>(in, kDTypeCount);
    member.shape = GetShape(in);
  }
  request.settings.resize(in.GetCount(2 * sizeof(std::uint32_t)));
  for (auto& [key, value] : request.settings) {
    key = in.GetString();
    value = in.GetString();
  }
  request.slots = in.Get<std::uint32_t>();
  if (request.slots > kMostSlots) throw Corrupt("a negotiation message wants too many slots");
  request.gpu = in.GetString();
  request.gpu_alone = GetBool(in, "neither a demand for the GPU nor none");
  return request;
}

void PutResponse(ByteWriter& out, const Response& response) {
  out.Put(response.kind);
  out.PutString(response.name);
  out.Put(response.slot);
  PutRows(out, response.rows);
  out.PutString(response.text);
  out.Put(static_cast<std::uint32_t>(response.ranks.size()));
  for (const int rank : response.ranks) out.Put(static_cast<std::int32_t>(rank));
  out.Put(static_cast<std::uint32_t>(response.gpus.size()));
  for (const std::string& gpu : response.gpus) out.PutString(gpu);
  out.Put(static_cast<std::uint8_t>(response.request.has_value()));
  if (response.request) PutRequest(out, *response.request);
}

Response GetResponse(ByteReader& in) {
  Response response;
  response.kind = GetEnum<Response::Kind>(in, kResponseKinds);
  response.name = in.GetString();
  response.slot = in.Get<std::uint32_t>();
  if (response.slot != kNoSlot && response.slot > kMostSlots) {
    in.Fail("an impossible slot");
  }
  response.rows = GetRows(in);
  response.text = in.GetString();
  response.ranks.resize(in.GetCount(sizeof(std::int32_t)));
  for (int& rank : response.ranks) rank = in.Get<std::int32_t>();
  response.gpus.resize(in.GetCount(sizeof(std::uint32_t)));
  for (std::string& gpu : response.gpus) gpu = in.GetString();
  if (GetBool(in, "neither a request nor none")) response.request = GetRequest(in);
  return response;
}

template <typename T, typename Put>
std::vector<std::byte> EncodeAll(std::span<const T> items, Put put) {
  ByteWriter out;
  out.Put(static_cast<std::uint32_t>(items.size()));
  for (const T& item : items) put(out, item);
  return out.Take();
}

template <typename T, typename Get>
std::vector<T> DecodeAll(std::span<const std::byte> message, std::size_t least, Get get) {
  ByteReader in(message, "a negotiation message");
  std::vector<T> items(in.GetCount(least));
  for (T& item : items) item = get(in);
  in.ExpectEnd();
  return items;
}

}  // namespace

std::string_view Name(RequestKind kind) {
  constexpr std::array<std::string_view, kRequestKinds> kNames = {
      "ALLREDUCE", "ALLGATHER", "BROADCAST", "ALLTOALL", "REDUCESCATTER", "SPARSE_ALLREDUCE",
      "BARRIER",   "JOIN",      "DROP_STEP", "UNUSED",   "PLAN",          "REGISTER"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string StepRequestName(RequestKind kind, const std::string& group) {
  switch (kind) {
    case RequestKind::kDropStep:
      return "weir:drop of a step of " + group;
    case RequestKind::kUnused:
      return "weir:unused in a step of " + group;
    default:
      WEIR_CHECK(kind == RequestKind::kPlan);
      return "weir:plan of " + group;
  }
}

std::string Request::tensor_name(std::size_t tensor) const {
  if (members.empty()) return name;
  const std::string& own = members[tensor].name;
  return own.empty() ? name + "[" + std::to_string(tensor) + "]" : own;
}

std::vector<std::byte> Encode(std::span<const Request> requests) {
  return EncodeAll(requests, PutRequest);
}
std::vector<Request> DecodeRequests(std::span<const std::byte> message) {
  return DecodeAll<Request>(message, kLeastRequest, GetRequest);
}
std::vector<std::byte> Encode(std::span<const Response> responses) {
  return EncodeAll(responses, PutResponse);
}
std::vector<Response> DecodeResponses(std::span<const std::byte> message) {
  return DecodeAll<Response>(message, kLeastResponse, GetResponse);
}

}  // namespace weir
