#include "monitor_gui/view/pages/decisions_page.h"

#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>
#include <map>
#include <ranges>
#include <utility>

#include "monitor_gui/run/summary.h"
#include "monitor_gui/view/tables/view_table.h"

namespace weir::monitor {
namespace {

constexpr std::ptrdiff_t kStagesLookedAt = 20'000;
constexpr std::int64_t kSteps = Summary::kSteps;  // The newest, as in the strip.

struct Measured {
  std::uint8_t route = 0;
  std::int64_t step = -1;
  double steps = 0;
  double exchange_seconds = 0;
  double compress_seconds = 0;
  double payload = 0;
  double dense = 0;
};

std::map<std::uint32_t, Measured> MeasuredOf(const RankRun& rank, std::int64_t until_ns) {
  std::map<std::uint32_t, Measured> buckets;
  const auto end = rank.stages().begin() + rank.StagesUntil(until_ns);
  const std::ranges::subrange looked_at(
      end - std::min(end - rank.stages().begin(), kStagesLookedAt), end);
  std::int64_t newest = -1;
  for (const StageRow& row : looked_at) newest = std::max(newest, row.step);
  for (const StageRow& row : looked_at) {
    if (row.step < 0 || row.step <= newest - kSteps) continue;
    Measured& bucket = buckets[row.bucket];
    const double seconds = static_cast<double>(row.end_ns - row.start_ns) * 1e-9;
    if (row.stage == Stage::kCompress) bucket.compress_seconds += seconds;
    if (row.stage != Stage::kExchange) continue;
    bucket.route = row.route;
    if (std::exchange(bucket.step, row.step) != row.step) bucket.steps += 1;
    bucket.exchange_seconds += seconds;
    bucket.payload += static_cast<double>(row.bytes_in);
    bucket.dense += static_cast<double>(row.bytes_out);
  }
  return buckets;
}

}  // namespace

DecisionsPage::DecisionsPage(QWidget* parent)
    : Page(parent),
      table_(
          {{tr("Run"), tr("A, or B that it is compared with.")},
           {tr("Bucket"), tr("Gradients that are negotiated and exchanged as one.")},
           {tr("Compressor"), tr("What makes its payload.")},
           {tr("Route"), tr("How its newest exchange went.")},
           {tr("Why"), tr("Who decided that.")},
           {tr("Payload"),
            tr("Bytes that rank 0 puts into its exchanges in a step, mean of the newest steps, of "
               "50 at most."),
            true, "B"},
           {tr("Wire ratio"), tr("Dense bytes over payload, of the same steps."), true, "ratio"},
           {tr("Compress"), tr("Time of compression in a step, mean of these."), true, "s"},
           {tr("Exchange"), tr("Time of its exchanges in a step, measured, mean of these."), true,
            "s"},
           {tr("Predicted"), tr("Time of an exchange as a cost model would have it."), true, "s"}},
          this) {
  auto* note =
      new QLabel(tr("Ways are decided by options, and never carry more than dense would. There is "
                    "no cost model yet: nothing is predicted, and nothing planned anew while a job "
                    "runs."),
                 this);
  note->setWordWrap(true);
  note->setContentsMargins(12, 8, 12, 8);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(note);
  view_ = table_.MakeView(1, tr("No bucket has been exchanged in a step yet."), this);
  layout->addWidget(view_, 1);
}

void DecisionsPage::Refresh(const Look& look) {
  std::vector<Cells> rows;
  for (const Side& side : look.sides()) {
    if (side.run.ranks().empty()) continue;
    const RankRun& rank = side.run.ranks().begin()->second;
    for (const auto& [number, bucket] : MeasuredOf(rank, side.at.end_ns)) {
      if (bucket.steps == 0) continue;
      const NameInfo& info = rank.NameOf(number);
      const QString route =
          bucket.route < info.routes.size() ? info.routes[bucket.route].second : QString("?");
      rows.push_back({side.label, info.name, info.compressor, route, tr("options"),
                      BytesCell(bucket.payload / bucket.steps),
                      bucket.payload > 0 ? TimesCell(bucket.dense / bucket.payload) : UnknownCell(),
                      SecondsCell(bucket.compress_seconds / bucket.steps),
                      SecondsCell(bucket.exchange_seconds / bucket.steps), UnknownCell()});
    }
  }
  view_->setColumnHidden(0, look.other == nullptr);
  table_.Show(std::move(rows));
}

Table DecisionsPage::Export(const Look& /*look*/) const { return TableOf(*view_); }

}  // namespace weir::monitor
