#include "coordinator/rank/failure.h"

#include "weir/error.h"

namespace weir {

std::string WhatOf(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& reason) {
    return reason.what();
  }
}

AbortReason ReasonOf(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const PeerLost&) {
    return AbortReason::kPeerLost;
  } catch (const TimedOut&) {
    return AbortReason::kTimedOut;
  } catch (const Corrupt&) {
    return AbortReason::kCorrupt;
  } catch (...) {
    return AbortReason::kOther;
  }
}

std::vector<int> RanksOf(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& reason) {
    return reason.context().ranks;
  } catch (...) {
    return {};
  }
}

bool IsInvalidArgument(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const InvalidArgument&) {
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace weir
