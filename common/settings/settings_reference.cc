#include "common/settings/settings_table.h"

namespace weir {
namespace {

constexpr const char* kIntroduction =
    R"(# Settings

Weir reads its settings once, from environment variables, when it is initialised. `weirrun` sets the
same variables from its flags. For every variable that is not set, the spelling in the second column
is read, so a job script written for Horovod keeps its meaning; that spelling works with the prefix
`WEIR_` too. An empty variable counts as not set. A value that is not allowed is an error; a
`WEIR_*` variable that does not exist, or a `HOROVOD_*` one that Horovod does not have either, is warned
about, with the one that was probably meant. `WEIR_LOG_LEVEL=info` prints every setting, its value,
where it came from, and which network carries the messages; so does [`/run`](monitoring.md#the-endpoint) of the metrics port.

| variable | Horovod's | default | allowed | what it does |
|---|---|---|---|---|
)";

constexpr const char* kClosing = R"(
## Strict

With `WEIR_STRICT=1` (`weirrun --strict`) these are errors, before training starts or in the step where
they happen, instead of a line or nothing:

* an option of `weirrun`, or a key of its config file, that has no effect;
* a `WEIR_*` or `HOROVOD_*` variable that nobody knows;
* a variable of Horovod's that asks for something and has no effect here (`HOROVOD_TORUS_ALLREDUCE=1`,
  `HOROVOD_CONTROLLER=gloo`); `0` and `false` ask for nothing;
* an argument of the PyTorch optimizer that has no effect (`groups=`);
* `WEIR_COMPRESSION` (`weirrun --compression`) where the program chooses another compression for an
  optimizer itself, and compression options for tensors that it has not;
* hierarchical exchanges between hosts that are not alike;
* a stall that never ends the job (`WEIR_STALL_SHUTDOWN_TIME_SECONDS=0`);
* a bucket that would travel uncompressed because `policy` chose so, unless the compression options say
  `policy=auto` themselves, or because its frame is too large for the compressed exchange.

Everything else that can go wrong is an error without it. Summation servers (`--servers`) to which no gradient has
gone are a warning when the job ends, strict or not: before, nobody knows.

`weir::Settings` (`weir/settings.h`) holds the same values in C++. This page is generated from the
table in `common/settings/settings_table.cc`; a test compares the two.
)";

}  // namespace

std::string SettingsReference() {
  const Settings defaults;
  std::string page = kIntroduction;
  for (const SettingRow& row : SettingTable()) {
    const std::string alias = row.alias.empty() ? "" : "`HOROVOD_" + row.alias + "`";
    const std::string value = Format(row, defaults);
    page += "| `" + row.variable() + "` | " + alias +
            (row.inverted_alias ? " (the opposite)" : "") + " | " +
            (value.empty() ? "" : "`" + value + "`") + " | " + row.allowed + " | " + row.help +
            " |\n";
  }
  return page + kClosing;
}

}  // namespace weir
