#include "ops/rendezvous/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <exception>
#include <future>
#include <string>
#include <vector>

#include "common/supervision/addresses.h"
#include "common/supervision/supervision.h"
#include "ops/membership/abort_text.h"
#include "ops/membership/supervisor_membership.h"
#include "tests/ops/membership/fake_supervisor.h"
#include "weir/error.h"

namespace weir {
namespace {

using namespace std::chrono_literals;
using supervision::MessageType;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr auto kLong = 60s;

class SupervisorRendezvous : public testing::Test {
 protected:
  SupervisorRendezvous() : membership_(supervisor_.TakeEngineEnd()) { supervisor_.Hear(); }

  /// Tells the rank the addresses, as rank 1.
  void TellAddresses(const std::vector<std::string>& addresses, int ranks) {
    for (const std::string& text : supervision::AddressTexts(addresses)) {
      supervisor_.Tell({.type = MessageType::kAddresses, .rank = 1, .code = ranks, .text = text});
    }
  }
  std::future<Rendezvous::Meeting> Meet(const std::string& address) {
    return std::async(std::launch::async,
                      [this, address] { return membership_.Meet(address, kLong); });
  }

  FakeSupervisor supervisor_;
  SupervisorMembership membership_;
};

TEST_F(SupervisorRendezvous, GivesAnAddressAndGetsThoseOfAll) {
  const std::vector<std::string> all = {"zero", std::string(3000, '\0'), "two"};
  for (int meeting = 0; meeting < 2; ++meeting) {
    auto met = Meet(all[1]);
    const auto message = supervisor_.Hear();
    EXPECT_EQ(message.type, MessageType::kAddress);
    EXPECT_EQ(message.text, all[1]);
    TellAddresses({all[0], all[1]}, 3);
    TellAddresses({all[2]}, 3);
    const Rendezvous::Meeting result = met.get();
    EXPECT_EQ(result.rank, 1);
    EXPECT_EQ(result.addresses, all);
  }
}

TEST_F(SupervisorRendezvous, ARankThatDiesFirstIsNamed) {
  auto met = Meet("mine");
  supervisor_.Tell(
      {.type = MessageType::kPeerLost, .rank = 2, .host = "node-b", .text = "signal 9 (Killed)"});
  try {
    met.get();
    ADD_FAILURE() << "met a dead rank";
  } catch (const PeerLost& error) {
    EXPECT_STREQ(error.what(),
                 "rank 2 on node-b is lost before it joined the job: signal 9 (Killed)");
    EXPECT_EQ(error.context().ranks, std::vector<int>{2});
  }
}

// All ranks throw the same kind of error, however the first one ended the job.
TEST_F(SupervisorRendezvous, ARankThatEndsTheJobSaysWhy) {
  auto met = Meet("mine");
  supervisor_.Tell({.type = MessageType::kAbort,
                    .rank = 0,
                    .text = AbortText(std::make_exception_ptr(TimedOut("too late")))});
  EXPECT_THAT([&] { met.get(); }, ThrowsMessage<TimedOut>(HasSubstr("too late")));
}

TEST_F(SupervisorRendezvous, AnAddressThatIsTooLongIsRefused) {
  EXPECT_THAT([&] { membership_.Meet(std::string(supervision::kMaxAddress + 1, 'x'), kLong); },
              ThrowsMessage<InvalidArgument>(HasSubstr("has 8193 bytes")));
}

TEST_F(SupervisorRendezvous, TheEndOfTheLauncherEndsIt) {
  auto met = Meet("mine");
  supervisor_.Die();
  EXPECT_THAT([&] { met.get(); },
              ThrowsMessage<PeerLost>(HasSubstr("the launcher of this job is gone")));
}

TEST_F(SupervisorRendezvous, HasADeadline) {
  EXPECT_THAT([&] { membership_.Meet("mine", 1ms); },
              ThrowsMessage<TimedOut>(HasSubstr("not all ranks joined the job within 1 ms")));
}

// What comes before anybody listens is told to the first who does.
TEST_F(SupervisorRendezvous, LosesNoEvent) {
  auto met = Meet("mine");
  supervisor_.Tell({.type = MessageType::kRecordFlight, .code = 7});
  TellAddresses({"zero", "mine"}, 2);
  met.get();
  std::promise<int> heard;
  membership_.Listen([&](const MembershipEvent& event) { heard.set_value(event.number); });
  EXPECT_EQ(heard.get_future().get(), 7);
  membership_.Listen(nullptr);
}

TEST_F(SupervisorRendezvous, TakesNoAddressesThatDoNotFit) {
  auto met = Meet("mine");
  supervisor_.Tell({.type = MessageType::kAddresses, .rank = 5, .code = 2, .text = ""});
  TellAddresses({"a", "b", "c"}, 2);
  TellAddresses({"zero", "mine"}, 2);
  EXPECT_EQ(met.get().addresses, (std::vector<std::string>{"zero", "mine"}));
}

}  // namespace
}  // namespace weir
