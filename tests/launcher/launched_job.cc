#include "tests/launcher/launched_job.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/paths.h"

namespace weir::launcher {

LaunchedJob::LaunchedJob(const std::vector<std::string>& arguments,
                         const std::map<std::string, std::string>& environment,
                         const std::string& input, const std::string& shell) {
  int standard_input[2];
  EXPECT_EQ(pipe2(standard_input, O_CLOEXEC), 0);
  const UniqueFd input_end(standard_input[0]);
  EXPECT_EQ(write(standard_input[1], input.data(), input.size()),
            static_cast<ssize_t>(input.size()));
  close(standard_input[1]);
  int output[2];
  int lifeline[2];
  EXPECT_EQ(pipe2(output, O_CLOEXEC), 0);
  EXPECT_EQ(pipe2(lifeline, O_CLOEXEC), 0);
  pipe_.reset(output[0]);
  lifeline_.reset(lifeline[0]);
  const UniqueFd output_end(output[1]);
  const UniqueFd lifeline_end(lifeline[1]);
  std::vector<std::string> words = {BuildPath("bin/weirrun")};
  if (!shell.empty()) {
    words = {"/bin/sh", "-c", shell + "; exec \"$@\"", "sh", BuildPath("bin/weirrun")};
  }
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    for (const char* batch : {"SLURM_JOB_NODELIST", "PBS_NODEFILE"}) unsetenv(batch);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    prctl(PR_SET_PDEATHSIG, SIGTERM);  // A test that is ended ends its job.
    fcntl(lifeline_end.get(), F_SETFD, 0);
    dup2(input_end.get(), STDIN_FILENO);
    dup2(output_end.get(), STDOUT_FILENO);
    dup2(output_end.get(), STDERR_FILENO);
    execv(argv[0], argv.data());
    _exit(126);
  }
}

LaunchedJob::~LaunchedJob() {
  if (pid_ < 0) return;
  kill(pid_, SIGTERM);
  WaitStatus();
}

std::string LaunchedJob::WaitForLine(const std::string& text) {
  while (true) {
    for (std::size_t end = 0; (end = output_.find('\n', searched_)) != std::string::npos;) {
      const std::string line = output_.substr(searched_, end - searched_);
      searched_ = end + 1;
      if (line.find(text) != std::string::npos) return line;
    }
    if (!ReadMore()) break;
  }
  ADD_FAILURE() << "no line with '" << text << "' in:\n" << output_;
  return {};
}

std::vector<std::string> LaunchedJob::WaitForLines(const std::string& text, int count) {
  std::vector<std::string> lines;
  for (int i = 0; i < count && !testing::Test::HasFailure(); ++i)
    lines.push_back(WaitForLine(text));
  return lines;
}

void LaunchedJob::Signal(int signal) const { kill(pid_, signal); }

int LaunchedJob::WaitStatus() {
  while (ReadMore()) {
  }
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  return status;
}

int LaunchedJob::ExitCode() {
  const int status = WaitStatus();
  EXPECT_TRUE(WIFEXITED(status)) << output_;
  return WEXITSTATUS(status);
}

void LaunchedJob::WaitForLastProcess() {
  char byte = 0;
  EXPECT_EQ(read(lifeline_.get(), &byte, 1), 0);
}

bool LaunchedJob::ReadMore() {
  char bytes[4096];
  const ssize_t n = read(pipe_.get(), bytes, sizeof bytes);
  if (n > 0) output_.append(bytes, static_cast<std::size_t>(n));
  return n > 0;
}

namespace {

/// Ids of this machine's System V segments.
std::set<std::string> Segments() {
  std::ifstream table("/proc/sysvipc/shm");
  std::set<std::string> ids;
  std::string line, key, id;
  std::getline(table, line);  // The heads.
  while (std::getline(table, line)) {
    std::istringstream(line) >> key >> id;
    ids.insert(id);
  }
  return ids;
}

}  // namespace

void ExpectNothingLeft(LaunchedJob& job) {
  job.WaitForLastProcess();
  const std::set<std::string> segments = Segments();
  const std::regex shared("shm (/dev/shm/\\S+|segment (\\d+))");
  int found = 0;
  for (std::sregex_iterator i(job.output().begin(), job.output().end(), shared), end; i != end;
       ++i, ++found) {
    EXPECT_FALSE(std::filesystem::exists((*i)[1].str())) << i->str();
    EXPECT_FALSE(segments.contains((*i)[2].str())) << i->str();
  }
  EXPECT_GT(found, 0) << "the ranks share no memory; this test sees nothing";
}

}  // namespace weir::launcher
