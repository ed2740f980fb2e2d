#include "launcher/start/host_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "weir/error.h"

namespace weir::launcher {
namespace {

const HostJob kJob{.addresses = "10.0.0.1:5,127.0.0.1:5",
                   .token = "0123",
                   .grace_seconds = "0.5",
                   .folder = "/a folder",
                   .servers = 1,
                   .hosts = {"a", "b", "b"},
                   .environment = {"EMPTY=", "LINES=one\ntwo"},
                   .command = {"sh", "-c", ""},
                   .server = {"weir-server"}};

TEST(HostJob, ArrivesAsItWasSent) {
  const std::string sent = EncodeHostJob(kJob);
  ASSERT_EQ(HostJobBytes(sent.substr(0, kHostJobHeader)), sent.size() - kHostJobHeader);
  const HostJob job = DecodeHostJob(sent.substr(kHostJobHeader));
  EXPECT_EQ(job.addresses, kJob.addresses);
  EXPECT_EQ(job.token, kJob.token);
  EXPECT_EQ(job.grace_seconds, kJob.grace_seconds);
  EXPECT_EQ(job.folder, kJob.folder);
  EXPECT_EQ(job.servers, 1);
  EXPECT_EQ(job.hosts, kJob.hosts);
  EXPECT_EQ(job.environment, kJob.environment);
  EXPECT_EQ(job.command, kJob.command);
  EXPECT_EQ(job.server, kJob.server);
}

TEST(HostJob, WhatIsCutOffOrTooLongIsRefused) {
  const std::string bytes = EncodeHostJob(kJob).substr(kHostJobHeader);
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THROW(DecodeHostJob(bytes.substr(0, length)), Corrupt) << length;
  }
  EXPECT_THROW(DecodeHostJob(bytes + "more"), Corrupt);
}

TEST(HostJob, PartsThatDoNotFitAreRefused) {
  HostJob job = kJob;
  job.servers = 4;
  EXPECT_THROW(DecodeHostJob(EncodeHostJob(job).substr(kHostJobHeader)), Corrupt);
  job = kJob;
  job.command.clear();
  EXPECT_THROW(DecodeHostJob(EncodeHostJob(job).substr(kHostJobHeader)), Corrupt);
}

TEST(HostJob, ALengthIsBounded) {
  EXPECT_EQ(HostJobBytes("weirrun host job 0000000007\n"), 7U);
  EXPECT_THROW(HostJobBytes("weirrun host job 9999999999\n"), Corrupt);
  EXPECT_THROW(HostJobBytes("weirrun host job -000000007\n"), Corrupt);
  EXPECT_THROW(HostJobBytes("GET / HTTP/1.1\r\nHost: a.b.c\r"), Corrupt);
  EXPECT_THROW(HostJobBytes(""), Corrupt);
}

}  // namespace
}  // namespace weir::launcher
