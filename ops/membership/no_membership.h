#pragma once

#include "ops/membership/membership.h"

namespace weir {

/// Membership of a process that nobody watches: a job of one rank, or one started by a plain
/// mpiexec. Reports nothing and sends nothing. Thread-safe.
class NoMembership : public Membership {
 public:
  void Listen(Listener) override {}
  void Joined() override {}
  void Abort(const std::string&) override {}
  void RequestStatus() override {}
  void SendStatus(const std::string&) override {}
  void Leave() override {}
};

}  // namespace weir
