#include "coordinator/work/exchanger.h"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "coordinator/work/operation_numbers.h"
#include "ops/local/transport.h"

namespace weir {
namespace {

using Numbers = std::vector<std::uint32_t>;
constexpr std::size_t kCredit = 1000;

/// A collective that is over when the test says so.
class FakeCollective : public Collective {
 public:
  void Start(std::uint32_t operation) override {
    started.push_back(operation);
    over = false;
  }
  bool Poll() override { return over; }
  void Cancel() override { cancelled = true; }
  void Limit(std::size_t bytes) override { limit = bytes; }
  std::size_t posted_bytes() const override { return posted; }

  Numbers started;
  std::size_t limit = 0;
  std::size_t posted = 0;
  bool over = false;
  bool cancelled = false;
};

class FakeBucket : public Bucket {
 public:
  explicit FakeBucket(int exchanges) {
    for (int i = 0; i < exchanges; ++i) {
      if (i > 0) stages_.push_back(BucketStage::kRelay);
      stages_.push_back(BucketStage::kExchange);
    }
    run.bucket = this;
    run.staged = true;
  }
  /// Makes one that overtakes others.
  FakeBucket(int exchanges, int priority) : FakeBucket(exchanges) { priority_ = priority; }

  const std::string& name() const override { return name_; }
  int priority() const override { return priority_.value_or(100); }
  bool overtakes() const override { return priority_.has_value(); }
  std::span<const BucketStage> stages() const override { return stages_; }
  void Run(BucketStage) override {}
  Collective* BindExchange(std::size_t /*chunk_bytes*/) override {
    bound.push_back(exchanges_before());
    return agreement_alone ? nullptr : &collective;
  }
  void Done() override {}
  void Failed(const std::exception_ptr&) override {}
  TrafficOp traffic_op() const override { return TrafficOp::kOther; }
  Traffic traffic() const override { return {.wire_bytes = payload}; }

  /// The worker has done what lies between two exchanges.
  void Relay() {
    cursor += 1;
    run.staged = true;
  }

  LiveRun run;
  FakeCollective collective;
  bool agreement_alone = false;
  std::uint64_t payload = 0;
  std::vector<std::size_t> bound;

 private:
  const std::string name_ = "bucket";
  std::optional<int> priority_;
  std::vector<BucketStage> stages_;
};

class ExchangerTest : public testing::Test {
 protected:
  void End(FakeBucket& bucket) {
    bucket.collective.over = true;
    exchanger_.Poll(0);
  }
  std::vector<Bucket*> finished_;
  Exchanger exchanger_{{.at_once = 2, .credit_bytes = kCredit}, [this](const LiveRun& run) {
                         ++run.bucket->cursor;
                         finished_.push_back(run.bucket);
                       }};
};

TEST_F(ExchangerTest, StartsInTheAgreedOrderAndNoMoreThanItsBound) {
  FakeBucket first(1), second(1), third(1);
  first.run.staged = false;
  for (FakeBucket* bucket : {&first, &second, &third}) exchanger_.Enqueue(bucket->run);
  EXPECT_FALSE(exchanger_.Poll(0));
  EXPECT_EQ(exchanger_.queued(), 3U);
  first.run.staged = true;
  EXPECT_TRUE(exchanger_.Poll(0));
  EXPECT_EQ(first.collective.started, Numbers{kFirstExchange});
  EXPECT_EQ(second.collective.started, Numbers{kFirstExchange + 1});
  EXPECT_EQ(third.collective.started, Numbers{});
  End(second);
  EXPECT_EQ(finished_, std::vector<Bucket*>{&second});
  exchanger_.Poll(0);
  EXPECT_EQ(third.collective.started, Numbers{kFirstExchange + 2});
}

TEST_F(ExchangerTest, ABucketWithTwoExchangesKeepsItsPlaceAndItsNumbers) {
  FakeBucket twice(2), once(1), later(1);
  for (FakeBucket* bucket : {&twice, &once, &later}) exchanger_.Enqueue(bucket->run);
  exchanger_.Poll(0);
  End(twice);
  EXPECT_EQ(finished_, std::vector<Bucket*>{&twice});
  End(once);
  // The relay takes its time: the place next to it is free, its own is not.
  FakeBucket last(1);
  exchanger_.Enqueue(last.run);
  exchanger_.Poll(0);
  EXPECT_EQ(later.collective.started, Numbers{kFirstExchange + 3});
  EXPECT_EQ(last.collective.started, Numbers{});
  twice.Relay();
  EXPECT_TRUE(exchanger_.Poll(0));
  EXPECT_EQ(twice.collective.started, (Numbers{kFirstExchange, kFirstExchange + 1}));
  EXPECT_EQ(twice.bound, (std::vector<std::size_t>{0, 1}));
  End(twice);
  EXPECT_EQ(finished_, (std::vector<Bucket*>{&twice, &once, &twice}));
  exchanger_.Poll(0);
  EXPECT_EQ(last.collective.started, Numbers{kFirstExchange + 4});
}

TEST_F(ExchangerTest, NothingIsOnTheNetworkBetweenTwoExchanges) {
  FakeBucket twice(2);
  exchanger_.Enqueue(twice.run);
  exchanger_.Poll(0);
  EXPECT_TRUE(exchanger_.under_way());
  End(twice);
  EXPECT_FALSE(exchanger_.under_way());
  EXPECT_FALSE(exchanger_.Poll(0));
  exchanger_.Cancel();
  EXPECT_FALSE(twice.collective.cancelled);
}

TEST_F(ExchangerTest, NumbersOfTwoExchangesMayWrapAround) {
  std::vector<std::unique_ptr<FakeBucket>> buckets;
  for (std::uint32_t i = 0; i + 1 < kExchangeNumbers; ++i) {
    buckets.push_back(std::make_unique<FakeBucket>(1));
    exchanger_.Enqueue(buckets.back()->run);
    exchanger_.Poll(0);
    End(*buckets.back());
  }
  FakeBucket twice(2), next(1);
  exchanger_.Enqueue(twice.run);
  exchanger_.Enqueue(next.run);
  exchanger_.Poll(0);
  End(twice);
  twice.Relay();
  exchanger_.Poll(0);
  EXPECT_EQ(twice.collective.started,
            (Numbers{kFirstExchange + kExchangeNumbers - 1, kFirstExchange}));
  EXPECT_EQ(next.collective.started, Numbers{kFirstExchange + 1});
}

TEST_F(ExchangerTest, AgreementAloneIsOverAtOnce) {
  FakeBucket agreement(1);
  agreement.agreement_alone = true;
  exchanger_.Enqueue(agreement.run);
  EXPECT_TRUE(exchanger_.Poll(0));
  EXPECT_EQ(finished_, std::vector<Bucket*>{&agreement});
  EXPECT_FALSE(exchanger_.under_way());
}

TEST_F(ExchangerTest, TheMostUrgentOneStartsAtOnce) {
  FakeBucket other(1), first(1, 1), second(1, 2), less(1, 0), urgent(1, 7), after(1, 6);
  for (FakeBucket* bucket : {&first, &second, &other, &less, &urgent, &after}) {
    exchanger_.Enqueue(bucket->run);
  }
  exchanger_.Poll(0);
  EXPECT_EQ(first.collective.started, Numbers{kFirstOvertaking});
  EXPECT_EQ(second.collective.started, Numbers{kFirstOvertaking + 1});
  EXPECT_EQ(urgent.collective.started, Numbers{kFirstOvertaking + 3})
      << "as agreed, not as started";
  for (FakeBucket* bucket : {&other, &less, &after})
    EXPECT_EQ(bucket->collective.started, Numbers{});
  End(urgent);
  exchanger_.Poll(0);
  EXPECT_EQ(after.collective.started, Numbers{kFirstOvertaking + 4});
  EXPECT_EQ(other.collective.started, Numbers{}) << "its turn has not come";
  for (FakeBucket* bucket : {&after, &second, &first}) End(*bucket);
  exchanger_.Poll(0);
  EXPECT_EQ(other.collective.started, Numbers{kFirstExchange});
  EXPECT_EQ(less.collective.started, Numbers{kFirstOvertaking + 2});
}

TEST_F(ExchangerTest, NoneOvertakesOneThatIsAsUrgent) {
  FakeBucket low(1, 1), lower(1, 0), first(1, 5), second(1, 5);
  first.run.staged = false;
  for (FakeBucket* bucket : {&low, &lower, &first, &second}) exchanger_.Enqueue(bucket->run);
  exchanger_.Poll(0);
  EXPECT_EQ(second.collective.started, Numbers{}) << "other ranks may wait for the first";
  first.run.staged = true;
  exchanger_.Poll(0);
  EXPECT_EQ(first.collective.started, Numbers{kFirstOvertaking + 2});
  EXPECT_EQ(second.collective.started, Numbers{});
}

TEST_F(ExchangerTest, LaterOnesShareWhatEarlierOnesHaveNotPosted) {
  FakeBucket first(1), second(1), third(1);
  first.collective.posted = kCredit / 4;
  second.collective.posted = kCredit;
  for (FakeBucket* bucket : {&first, &second, &third}) exchanger_.Enqueue(bucket->run);
  exchanger_.Poll(0);
  EXPECT_EQ(first.collective.limit, Collective::kUnlimited) << "ranks would block each other";
  EXPECT_EQ(second.collective.limit, kCredit - kCredit / 4);
  End(first);
  exchanger_.Poll(0);
  EXPECT_EQ(second.collective.limit, Collective::kUnlimited);
  EXPECT_EQ(third.collective.limit, 0U);
}

TEST_F(ExchangerTest, TheMostUrgentOneIsTheFirst) {
  FakeBucket other(1), low(1, 1), middle(1, 2), high(1, 3);
  for (FakeBucket* bucket : {&other, &low, &middle, &high}) {
    bucket->collective.posted = kCredit / 2;
    exchanger_.Enqueue(bucket->run);
    exchanger_.Poll(0);
  }
  EXPECT_EQ(high.collective.limit, Collective::kUnlimited);
  EXPECT_EQ(middle.collective.limit, kCredit / 2);
  EXPECT_EQ(low.collective.limit, 0U);
  EXPECT_EQ(other.collective.limit, Collective::kUnlimited) << "it is of another kind";
  End(high);
  exchanger_.Poll(0);
  EXPECT_EQ(middle.collective.limit, Collective::kUnlimited);
  EXPECT_EQ(low.collective.limit, kCredit / 2);
}

TEST_F(ExchangerTest, NoNumberIsUsedAgainWhileAnOldOneIsUnderWay) {
  FakeBucket old(1, 0);
  exchanger_.Enqueue(old.run);
  exchanger_.Poll(0);
  std::vector<std::unique_ptr<FakeBucket>> buckets;
  for (std::uint32_t i = 0; i < kOvertakingNumbers; ++i) {
    buckets.push_back(std::make_unique<FakeBucket>(1, 1));
    exchanger_.Enqueue(buckets.back()->run);
    exchanger_.Poll(0);
    End(*buckets.back());
  }
  EXPECT_EQ(buckets[kOvertakingNumbers - 2]->collective.started.size(), 1U);
  EXPECT_EQ(buckets.back()->collective.started, Numbers{});
  End(old);
  exchanger_.Poll(0);
  EXPECT_EQ(buckets.back()->collective.started, Numbers{kFirstOvertaking});
}

/// Sends a byte to its own rank when it starts, and one whenever it is polled.
class SendingCollective : public FakeCollective {
 public:
  explicit SendingCollective(Transport& network) : network_(network) {}
  void Start(std::uint32_t operation) override {
    FakeCollective::Start(operation);
    SendByte();
  }
  bool Poll() override {
    SendByte();
    return over;
  }

 private:
  void SendByte() {
    const auto received = network_.Receive(0, {1, 0}, received_);
    const auto sent = network_.Send(0, {1, 0}, sent_);
    while (!network_.Test(sent)) std::this_thread::yield();
    while (!network_.Test(received)) std::this_thread::yield();
  }
  Transport& network_;
  std::array<std::byte, 1> sent_{}, received_{};
};

class SendingBucket : public FakeBucket {
 public:
  explicit SendingBucket(Transport& network) : FakeBucket(1), sending(network) {}
  Collective* BindExchange(std::size_t /*chunk_bytes*/) override { return &sending; }
  SendingCollective sending;
};

TEST(MeteredExchanger, CountsEachBucketsMessagesAndThePayloadUnderWay) {
  local::Network network(1);
  const auto endpoint = network.Endpoint(0);
  LinkBytes others, first_bytes, second_bytes;
  MeteredTransport metered(*endpoint, {Link::kIntra}, {.bytes = &others});
  SendingBucket first(metered), second(metered);
  first.payload = 12;
  second.payload = 5;
  std::atomic<std::int64_t> under_way = 0;
  Exchanger exchanger(
      {.at_once = 2}, [](LiveRun&) {},
      ExchangeMeter{.network = &metered,
                    .use_of =
                        [&](const Bucket& bucket) {
                          return MeteredTransport::Use{.bytes = &bucket == &first ? &first_bytes
                                                                                  : &second_bytes};
                        },
                    .under_way_bytes = &under_way});
  exchanger.Enqueue(first.run);
  exchanger.Enqueue(second.run);
  exchanger.Poll(0);
  EXPECT_EQ(under_way, 17);
  exchanger.Poll(0);
  first.sending.over = true;
  exchanger.Poll(0);
  EXPECT_EQ(under_way, 5);
  exchanger.Poll(0);
  EXPECT_EQ(first_bytes.total_sent(), 4U) << "started, and polled three times";
  EXPECT_EQ(second_bytes.total_sent(), 5U);
  EXPECT_EQ(others.total_sent(), 0U);
  exchanger.Cancel();
  EXPECT_EQ(under_way, 0);
}

TEST(MeteredExchanger, MeasuresWhatItSendsToOtherHosts) {
  local::Network network(1);
  const auto endpoint = network.Endpoint(0);
  LinkBytes bytes;
  MeteredTransport intra(*endpoint, {Link::kIntra}, {.bytes = &bytes});
  MeteredTransport inter(*endpoint, {Link::kInter}, {.bytes = &bytes});
  const auto found_fast = [&](MeteredTransport& metered, std::int64_t ns) {
    std::int64_t now = 100;
    NetworkSpeed speed({.least_bytes = 1});
    SendingBucket bucket(metered);
    FakeBucket agreement(1);
    agreement.agreement_alone = true;
    Exchanger exchanger(
        {.at_once = 2}, [](LiveRun&) {},
        ExchangeMeter{
            .network = &metered,
            .use_of = [&](const Bucket&) { return MeteredTransport::Use{.bytes = &bytes}; },
            .speed = &speed,
            .clock = [&] { return now; }});
    exchanger.Enqueue(agreement.run);
    exchanger.Enqueue(bucket.run);
    exchanger.Poll(0);
    bucket.sending.over = true;
    now += ns;
    exchanger.Poll(0);  // Three bytes by now: started, and polled twice.
    return speed.fast();
  };
  EXPECT_TRUE(found_fast(inter, 3 * 5));
  EXPECT_FALSE(found_fast(inter, 3 * 6));
  EXPECT_FALSE(found_fast(intra, 1));
}

}  // namespace
}  // namespace weir
