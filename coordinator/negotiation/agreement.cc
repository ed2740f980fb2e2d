#include "coordinator/negotiation/agreement.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "common/text/exact_text.h"

namespace weir {
namespace {

/// One property in which requests of a name must agree.
struct Aspect {
  std::function<bool(const Request&)> applies;
  std::function<std::string(const Request&)> value;
  /// Horovod's sentence, made from the first rank's request and the differing one's.
  std::function<std::string(const Request&, const Request&)> stem;
};

std::string Dim(const Request& request, std::size_t i) { return std::to_string(request.shape[i]); }

std::string KindName(const Request& request) { return std::string(Name(request.kind)); }

bool IsAny(const Request&) { return true; }
/// True for operations on tensors, for which a group has members.
bool IsOperation(const Request& request) {
  return request.kind != RequestKind::kBarrier && request.kind != RequestKind::kGroup &&
         !CallsOthers(request.kind);
}
bool HasTensor(const Request& request) { return IsOperation(request) && request.members.empty(); }
bool IsReduction(const Request& request) {
  return request.kind == RequestKind::kAllreduce || request.kind == RequestKind::kReducescatter ||
         request.kind == RequestKind::kSparseAllreduce;
}
bool IsBroadcast(const Request& request) { return request.kind == RequestKind::kBroadcast; }
/// True if ranks may differ in the first dimension.
bool HasFreeRows(const Request& request) {
  return HasTensor(request) &&
         (GathersRows(request.kind) || request.kind == RequestKind::kAlltoall);
}
/// True unless the members have the shapes: a sparse tensor has a whole one, too.
bool HasWholeShape(const Request& request) {
  if (request.kind == RequestKind::kSparseAllreduce) return !request.members.empty();
  return HasTensor(request) && !HasFreeRows(request);
}

std::string GroupText(const Request& request) {
  const std::size_t members = request.members.size();
  if (members == 0) return "a single tensor";
  return "a group of " + std::to_string(members) + (members == 1 ? " tensor" : " tensors");
}

std::string WithoutFirstDim(const Request& request) {
  if (request.shape.rank() == 0) return "[]";
  return Shape(request.shape.dims().subspan(1)).ToString();
}

const std::vector<Aspect>& Aspects() {
  static const std::vector<Aspect> aspects = {
      {IsAny, KindName,
       [](const Request& a, const Request& b) {
         return "Mismatched operations: One rank did an " + KindName(a) +
                ", but another rank did an " + KindName(b) + ".";
       }},
      {IsOperation, GroupText,
       [](const Request& a, const Request& b) {
         return "Mismatched " + KindName(a) + " groups: One rank sent " + GroupText(a) +
                ", but another rank sent " + GroupText(b) + ".";
       }},
      {HasTensor, [](const Request& r) { return std::string(Name(r.dtype)); },
       [](const Request& a, const Request& b) {
         return "Mismatched data types: One rank had type " + std::string(Name(a.dtype)) +
                ", but another rank had type " + std::string(Name(b.dtype)) + ".";
       }},
      {HasWholeShape, [](const Request& r) { return r.shape.ToString(); },
       [](const Request& a, const Request& b) {
         return "Mismatched " + KindName(a) + " tensor shapes: One rank sent a tensor of shape " +
                a.shape.ToString() + ", but another rank sent a tensor of shape " +
                b.shape.ToString() + ".";
       }},
      {HasFreeRows, [](const Request& r) { return std::to_string(r.shape.rank()); },
       [](const Request& a, const Request& b) {
         return "Mismatched " + KindName(a) + " tensor shapes: One rank sent a tensor of rank " +
                std::to_string(a.shape.rank()) + ", but another rank sent a tensor of rank " +
                std::to_string(b.shape.rank()) + ".";
       }},
      {HasFreeRows, WithoutFirstDim,
       [](const Request& a, const Request& b) {
         std::size_t i = 1;
         while (a.shape[i] == b.shape[i]) ++i;
         return "Mismatched " + KindName(a) +
                " tensor shapes: One rank sent a tensor with dimension " + std::to_string(i) +
                " equal to " + Dim(a, i) + ", but another rank sent a tensor with dimension " +
                std::to_string(i) + " equal to " + Dim(b, i) + ".";
       }},
      {IsReduction, [](const Request& r) { return std::string(Name(r.op)); },
       [](const Request& a, const Request& b) {
         return "Mismatched reduction operation: One rank sent reduction op " +
                std::to_string(static_cast<int>(a.op)) + ", but another rank sent reduction op " +
                std::to_string(static_cast<int>(b.op)) + ".";
       }},
      {IsReduction,
       [](const Request& r) { return ExactText(r.prescale) + "/" + ExactText(r.postscale); },
       [](const Request& a, const Request& b) {
         return "Mismatched prescale and/or postscale factors: One rank sent factors (" +
                ExactText(a.prescale) + ", " + ExactText(a.postscale) +
                "), but another rank sent factors (" + ExactText(b.prescale) + ", " +
                ExactText(b.postscale) + ").";
       }},
      {IsReduction, [](const Request& r) { return std::to_string(r.priority); },
       [](const Request& a, const Request& b) {
         return "Mismatched priorities: One rank gave the priority " + std::to_string(a.priority) +
                ", but another rank gave the priority " + std::to_string(b.priority) + ".";
       }},
      {IsBroadcast, [](const Request& r) { return std::to_string(r.root); },
       [](const Request& a, const Request& b) {
         return "Mismatched BROADCAST root ranks: One rank specified root rank " +
                std::to_string(a.root) + ", but another rank specified root rank " +
                std::to_string(b.root) + ".";
       }},
  };
  return aspects;
}

Disagreement Describe(const std::string& stem, const std::string& name, int a, int b,
                      const std::string& value_a, const std::string& value_b) {
  return {stem + " (tensor '" + name + "': rank " + std::to_string(a) + " has " + value_a +
              ", rank " + std::to_string(b) + " has " + value_b + ")",
          {a, b}};
}

/// Finds the first aspect in which the ranks differ.
std::optional<Disagreement> CompareAspects(std::span<const Request> requests,
                                           std::span<const int> ranks) {
  const Request& first = requests.front();
  for (const Aspect& aspect : Aspects()) {
    if (!aspect.applies(first)) continue;
    const std::string expected = aspect.value(first);
    for (std::size_t r = 1; r < requests.size(); ++r) {
      const std::string found = aspect.value(requests[r]);
      if (found == expected) continue;
      return Describe(aspect.stem(first, requests[r]), first.name, ranks[0], ranks[r], expected,
                      found);
    }
  }
  if (GathersRows(first.kind) && HasTensor(first) && first.shape.rank() == 0) {
    return Disagreement{"Process-set rank zero tried to " + KindName(first) +
                            " a rank-zero tensor. (tensor '" + first.name + "')",
                        {ranks[0]}};
  }
  return std::nullopt;
}

/// Compares the tensors of a grouped operation one by one, each as if it were alone.
std::optional<Disagreement> CompareTensors(std::span<const Request> requests,
                                           std::span<const int> ranks) {
  for (std::size_t t = 0; t < requests.front().members.size(); ++t) {
    std::vector<Request> alone;
    for (const Request& request : requests) {
      alone.push_back({.kind = request.kind,
                       .name = request.tensor_name(t),
                       .dtype = request.members[t].dtype,
                       .shape = request.members[t].shape});
    }
    if (auto found = CompareAspects(alone, ranks)) return found;
  }
  return std::nullopt;
}

/// Compares registrations, tensor by tensor.
std::optional<Disagreement> CompareRegistered(const std::string& stem, const Request& a,
                                              const Request& b, int rank_a, int rank_b) {
  if (a.members.size() != b.members.size()) {
    return Describe(stem + " the numbers of tensors differ.", a.name, rank_a, rank_b,
                    std::to_string(a.members.size()), std::to_string(b.members.size()));
  }
  for (std::size_t i = 0; i < a.members.size(); ++i) {
    const auto& x = a.members[i];
    const auto& y = b.members[i];
    if (x == y) continue;
    const auto text = [](const Request::Member& m) {
      return "'" + m.name + "' " + std::string(Name(m.dtype)) + " " + m.shape.ToString();
    };
    return Describe(stem + " tensor number " + std::to_string(i) + " differs.", x.name, rank_a,
                    rank_b, text(x), text(y));
  }
  return std::nullopt;
}

using Setting = std::pair<std::string, std::string>;

std::optional<Disagreement> CompareSettings(const std::string& stem, const Request& a,
                                            const Request& b, int rank_a, int rank_b) {
  if (a.settings == b.settings && a.slots == b.slots) return std::nullopt;
  const auto value = [](const Request& request, const std::string& key) {
    const auto found = std::ranges::find(request.settings, key, &Setting::first);
    return found == request.settings.end() ? "no " + key : key + "=" + found->second;
  };
  // By key and not by place: beside an extra key of one rank, the other has the next key.
  for (const Request* request : {&a, &b}) {
    for (const auto& [key, unused] : request->settings) {
      const std::string of_a = value(a, key), of_b = value(b, key);
      if (of_a == of_b) continue;
      const bool is_state = key == Request::kNextStep;
      Disagreement found =
          Describe(stem + (is_state ? " the loaded states differ." : " the settings differ."),
                   a.name, rank_a, rank_b, of_a, of_b);
      if (is_state) {
        found.text += ": load states that were saved after the same step";
      } else if (a.kind == RequestKind::kGroup) {
        found.text += ": give all ranks the same options, in WEIR_COMPRESSION too";
      }
      return found;
    }
  }
  return Describe(
      stem + " the settings differ in number.", a.name, rank_a, rank_b,
      std::to_string(a.settings.size()) + " settings, " + std::to_string(a.slots) + " slots",
      std::to_string(b.settings.size()) + " settings, " + std::to_string(b.slots) + " slots");
}

}  // namespace

std::optional<Disagreement> FindDisagreement(std::span<const Request> requests,
                                             std::span<const int> ranks) {
  if (auto found = CompareAspects(requests, ranks)) return found;
  const Request& first = requests.front();
  const bool registers = first.kind == RequestKind::kGroup;
  // Requests of other kinds need not have equal numbers of members.
  if (IsOperation(first)) {
    if (auto found = CompareTensors(requests, ranks)) return found;
  }
  std::string stem = "Mismatched settings:";
  if (registers) stem = "Mismatched registration of '" + first.name + "':";
  if (first.name == kSetChangeName) stem = "Mismatched changes of process sets:";
  for (std::size_t r = 1; r < requests.size(); ++r) {
    const Request& other = requests[r];
    if (registers) {
      if (auto found = CompareRegistered(stem, first, other, ranks[0], ranks[r])) return found;
    }
    if (auto found = CompareSettings(stem, first, other, ranks[0], ranks[r])) return found;
  }
  return std::nullopt;
}

}  // namespace weir
