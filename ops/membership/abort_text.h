#pragma once

#include <exception>
#include <string>

#include "ops/membership/membership.h"
#include "weir/error.h"

namespace weir {

/// Returns the text that a failing rank sends to the others (Membership::Abort). It marks deadlines
/// and damaged bytes, so that all ranks throw the same error for them.
std::string AbortText(const std::exception_ptr& error);

/// Returns a process's name for messages. Processes from number `ranks` on are summation servers.
std::string NameOf(const MembershipEvent& event, int ranks);

/// Returns the error for an abort by `who`; InvalidArgument when it is no rank's. `during` and
/// `under_way` say what this rank was doing.
std::exception_ptr ErrorOfAbort(const MembershipEvent& event, const std::string& who,
                                const std::string& during, const ErrorContext& under_way);

}  // namespace weir
