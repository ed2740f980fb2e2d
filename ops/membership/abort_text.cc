#include "ops/membership/abort_text.h"

#include <string_view>

namespace weir {
namespace {

constexpr std::string_view kTimedOutPrefix = "timed out: ";
constexpr std::string_view kCorruptPrefix = "corrupt: ";
constexpr std::string_view kMismatchPrefix = "mismatch: ";

}  // namespace

std::string AbortText(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const TimedOut& reason) {
    return std::string(kTimedOutPrefix) + reason.what();
  } catch (const Corrupt& reason) {
    return std::string(kCorruptPrefix) + reason.what();
  } catch (const Mismatch& reason) {
    return std::string(kMismatchPrefix) + reason.what();
  } catch (const std::exception& reason) {
    return reason.what();
  }
}

std::string NameOf(const MembershipEvent& event, int ranks) {
  return (event.rank < ranks ? "rank " + std::to_string(event.rank)
                             : "summation server " + std::to_string(event.rank - ranks)) +
         (event.host.empty() ? "" : " on " + event.host);
}

std::exception_ptr ErrorOfAbort(const MembershipEvent& event, const std::string& who,
                                const std::string& during, const ErrorContext& under_way) {
  if (event.text.starts_with(kTimedOutPrefix)) {
    return std::make_exception_ptr(
        TimedOut(event.text.substr(kTimedOutPrefix.size()), {"", {}, "negotiate"}));
  }
  if (event.text.starts_with(kCorruptPrefix)) {
    return std::make_exception_ptr(
        Corrupt(who + " ended the job: " + event.text.substr(kCorruptPrefix.size()),
                {"", {event.rank}, "exchange"}));
  }
  if (event.text.starts_with(kMismatchPrefix)) {
    return std::make_exception_ptr(
        Mismatch(event.text.substr(kMismatchPrefix.size()), {"", {event.rank}, "negotiate"}));
  }
  // Not a rank's end: the hub refuses this process, and says what to do.
  if (event.rank < 0) return std::make_exception_ptr(InvalidArgument(event.text));
  return std::make_exception_ptr(
      PeerLost(who + " ended the job: " + event.text + during, under_way));
}

}  // namespace weir
