#pragma once

#include <exception>
#include <string>

#include "ops/membership/membership.h"
#include "weir/error.h"

namespace weir {

/// What a rank that fails tells the others (Membership::Abort): text alone, which says, too, when
/// it was a deadline or damaged bytes, so that all ranks throw the same.
std::string AbortText(const std::exception_ptr& error);

/// What messages call a process of the job: behind the ranks are the summation servers.
std::string NameOf(const MembershipEvent& event, int ranks);

/// The error of a rank that hears so; `who` is the other one, `during` what is under way here.
std::exception_ptr ErrorOfAbort(const MembershipEvent& event, const std::string& who,
                                const std::string& during, const ErrorContext& under_way);

}  // namespace weir
