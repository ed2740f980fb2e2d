#include "ops/hub/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weir/error.h"

namespace weir {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

using Variables = std::map<std::string, std::string>;

ReadVariable Reader(const Variables& variables) {
  return [variables](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

std::optional<Launch> Read(const Variables& variables) {
  return LaunchFromEnvironment(Reader(variables));
}

const Variables kTorchrun = {{"RANK", "5"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"LOCAL_WORLD_SIZE", "4"},
                             {"MASTER_ADDR", "node-0"},
                             {"MASTER_PORT", "29500"},
                             {"TORCHELASTIC_RUN_ID", "abc"}};
const Variables kSlurm = {{"SLURM_PROCID", "3"},
                          {"SLURM_STEP_NUM_TASKS", "4"},
                          {"SLURM_LOCALID", "1"},
                          {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                          {"SLURM_STEP_NODELIST", "n[08-09]"},
                          {"SLURM_JOB_ID", "71"},
                          {"SLURM_STEP_ID", "0"}};

Variables With(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

TEST(Launch, OfTorchrun) {
  const auto launch = Read(kTorchrun);
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->by, Launch::kTorchrun);
  EXPECT_EQ(launch->rank, 5);
  EXPECT_EQ(launch->ranks, 8);
  EXPECT_EQ(launch->local_rank, 1);
  EXPECT_EQ(launch->local_size, 4);
  EXPECT_EQ(launch->hub_host, "node-0");
}

TEST(Launch, OfSlurm) {
  const auto launch = Read(kSlurm);
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->by, "srun");
  EXPECT_EQ(launch->rank, 3);
  EXPECT_EQ(launch->ranks, 4);
  EXPECT_EQ(launch->local_rank, 1);
  EXPECT_EQ(launch->local_size, 2);
  EXPECT_EQ(launch->hub_host, "n08");
}

TEST(Launch, OfOpenMpiKnowsRankZeroOnOneHostOnly) {
  Variables variables = {{"OMPI_COMM_WORLD_RANK", "1"},
                         {"OMPI_COMM_WORLD_SIZE", "2"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}};
  EXPECT_EQ(Read(variables)->hub_host, "127.0.0.1");
  variables["OMPI_COMM_WORLD_SIZE"] = "4";
  EXPECT_EQ(Read(variables)->hub_host, "");
}

TEST(Launch, HostsOfSlurmAreWrittenInManyWays) {
  for (const auto& [list, first] : Variables{{"a", "a"},
                                             {"a,b", "a"},
                                             {"n[1-3]", "n1"},
                                             {"n[07,9-11]", "n07"},
                                             {"n[1-2]-ib,m", "n1-ib"},
                                             {"n[3],m[1-2]", "n3"},
                                             {"n12,m[1-2]", "n12"}}) {
    EXPECT_EQ(Read(With(kSlurm, "SLURM_STEP_NODELIST", list))->hub_host, first) << list;
  }
}

TEST(Launch, OfTorchrunUnderSlurmIsTorchruns) {
  Variables both = kSlurm;
  both.insert(kTorchrun.begin(), kTorchrun.end());
  EXPECT_EQ(Read(both)->ranks, 8);
}

TEST(Launch, RanksOfOneJobHaveOnePortAndThoseOfAnotherHaveAnother) {
  const std::uint16_t port = Read(kTorchrun)->hub_port;
  EXPECT_EQ(Read(With(kTorchrun, "RANK", "0"))->hub_port, port);
  EXPECT_NE(Read(With(kTorchrun, "TORCHELASTIC_RUN_ID", "abd"))->hub_port, port);
  EXPECT_NE(Read(With(kTorchrun, "MASTER_PORT", "29501"))->hub_port, port);
  EXPECT_GE(port, 20000);
  EXPECT_LT(port, 32000);
}

TEST(Launch, HostsThatAreNotAlikeAreTaken) {
  const auto launch = Read(With(kSlurm, "SLURM_STEP_TASKS_PER_NODE", "1,3"));
  EXPECT_EQ(launch->local_rank, 1);
  EXPECT_EQ(launch->local_size, 2);
}

TEST(Launch, NobodyHasStartedWhatHasNoVariables) {
  EXPECT_EQ(Read({}), std::nullopt);
  EXPECT_EQ(Read({{"RANK", "1"}}), std::nullopt);
  EXPECT_EQ(Read({{"RANK", "0"}, {"WORLD_SIZE", ""}}), std::nullopt);
  EXPECT_EQ(Read({{"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "71"}}), std::nullopt)
      << "the script of sbatch is no task";
}

TEST(Launch, AProcessThatIsOneOfSeveralIsToldSo) {
  for (const auto& [name, value] : {std::pair{"RANK", "2"},
                                    {"WORLD_SIZE", "4"},
                                    {"LOCAL_RANK", "1"},
                                    {"LOCAL_WORLD_SIZE", "2"},
                                    {"SLURM_PROCID", "2"},
                                    {"SLURM_STEP_NUM_TASKS", "4"},
                                    {"OMPI_COMM_WORLD_RANK", "1"},
                                    {"OMPI_COMM_WORLD_SIZE", "4"},
                                    {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                    {"HOROVOD_SIZE", "2"},
                                    {"MV2_COMM_WORLD_RANK", "1"},
                                    {"PMI_RANK", "1"},
                                    {"PMIX_RANK", "1"},
                                    {"FLUX_JOB_SIZE", "2"},
                                    {"JSM_NAMESPACE_RANK", "3"}}) {
    const Variables variables = {{name, value}};
    EXPECT_EQ(Read(variables), std::nullopt) << name;
    EXPECT_THAT([&] { ThrowIfOneOfSeveral(Reader(variables)); },
                ThrowsMessage<InvalidArgument>(HasSubstr(std::string(name) + "=" + value)));
  }
  EXPECT_THROW(ThrowIfOneOfSeveral(Reader({{"RANK", "0"}, {"MASTER_ADDR", "node-0"}})),
               InvalidArgument);
}

TEST(Launch, AProcessThatIsAloneIsLeftAlone) {
  for (const Variables& variables :
       std::vector<Variables>{{},
                              {{"RANK", "0"}},
                              {{"RANK", "mine"}},
                              {{"WORLD_SIZE", "1"}, {"LOCAL_RANK", "0"}},
                              {{"MASTER_ADDR", "node-0"}},
                              {{"SLURM_PROCID", "0"}, {"SLURM_JOB_ID", "71"}}}) {
    EXPECT_NO_THROW(ThrowIfOneOfSeveral(Reader(variables)));
    EXPECT_EQ(MaybeOneOfSeveral(Reader(variables)), "");
  }
  EXPECT_THAT(MaybeOneOfSeveral(Reader({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}})),
              HasSubstr("alone in a Slurm job of 4 tasks"));
}

TEST(Launch, NumbersThatCannotBeAreNamed) {
  for (const char* rank : {"8", "-1", "x", "1.5"}) {
    EXPECT_THAT([&] { Read(With(kTorchrun, "RANK", rank)); },
                ThrowsMessage<InvalidArgument>(HasSubstr(std::string("RANK=") + rank)));
  }
  EXPECT_THAT([] { Read(With(kTorchrun, "WORLD_SIZE", "0")); },
              ThrowsMessage<InvalidArgument>(HasSubstr("a number from 1 to 65535")));
}

}  // namespace
}  // namespace weir
