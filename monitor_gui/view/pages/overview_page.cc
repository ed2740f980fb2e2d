#include "monitor_gui/view/pages/overview_page.h"

#include <QHBoxLayout>

#include "monitor_gui/view/tables/view_table.h"

namespace weir::monitor {

OverviewPage::OverviewPage(QWidget* parent)
    : Page(parent), charts_(new OverviewCharts(*this)), lists_(new OverviewLists(*this)) {
  auto* const layout = new QHBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(1);  // A line between them.
  layout->addWidget(charts_, 58);
  layout->addWidget(lists_, 42);
}

void OverviewPage::Refresh(const Look& look) {
  charts_->Refresh(look);
  lists_->Refresh(look);
}

void OverviewPage::Select(const QString& layer) {
  charts_->Select(layer);
  lists_->Select(layer);
}

Table OverviewPage::Export(const Look& /*look*/) const { return TableOf(charts_->charts()); }

}  // namespace weir::monitor
