#include "monitor_gui/window/page_docks.h"

#include <QAction>

namespace weir::monitor {
namespace {

/// Docks behind other tabs count as visible, but are moved out of the window.
bool IsSeen(const QWidget& page) {
  const QWidget& window = *page.window();
  return page.isVisible() &&
         window.rect().intersects(QRect(page.mapTo(&window, QPoint()), page.size()));
}

}  // namespace

void PageDocks::Add(const QString& name, const QString& title, const QList<QKeySequence>& keys,
                    Page* page) {
  auto* dock = new QDockWidget(QString(title).remove('&'), &window_);
  dock->setObjectName(name);
  dock->setWidget(page);
  window_.addDockWidget(Qt::TopDockWidgetArea, dock);
  if (!pages_.empty()) window_.tabifyDockWidget(pages_.back().first, dock);
  auto* show = new QAction(title, &window_);
  show->setShortcuts(keys);
  connect(show, &QAction::triggered, this, [this, name] { Show(name); });
  window_.addAction(show);
  Connect(*dock, *page);
  pages_.emplace_back(dock, page);
}

void PageDocks::Connect(const QDockWidget& dock, const Page& page) {
  connect(&page, &Page::RefreshWanted, this, &PageDocks::RefreshWanted);
  connect(&page, &Page::StepChosen, this, &PageDocks::StepChosen);
  connect(&page, &Page::StepHovered, this, [this](std::optional<std::int64_t> step) {
    for (const auto& [seen, other] : pages_) {
      if (IsSeen(*other)) other->Hover(step);
    }
  });
  connect(&page, &Page::LayerChosen, this, &PageDocks::Select);
  connect(&page, &Page::PageWanted, this, &PageDocks::Show);
  connect(&dock, &QDockWidget::visibilityChanged, this, [this](bool visible) {
    if (visible) emit Uncovered();
  });
  for (const auto& changed : {&QDockWidget::topLevelChanged, &QDockWidget::visibilityChanged})
    connect(&dock, changed, this, &PageDocks::ShowTitles, Qt::QueuedConnection);
}

void PageDocks::Select(const QString& layer) {
  for (const auto& [dock, page] : pages_) page->Select(layer);
  emit RefreshWanted();
}

void PageDocks::ShowTitles() {
  // A tab already has the title.
  for (const auto& [dock, page] : pages_) {
    const bool tabbed = !dock->isFloating() && !window_.tabifiedDockWidgets(dock).isEmpty();
    const bool hidden = dock->titleBarWidget() != nullptr;
    if (tabbed != hidden) dock->setTitleBarWidget(tabbed ? new QWidget(dock) : nullptr);
  }
}

bool PageDocks::Show(const QString& name) {
  for (const auto& [dock, page] : pages_) {
    if (dock->objectName() != name) continue;
    dock->show();
    dock->raise();
    page->setFocus();
    return true;
  }
  return false;
}

void PageDocks::Refresh(const Look& look) {
  for (const auto& [dock, page] : pages_) {
    if (IsSeen(*page)) page->Refresh(look);
  }
}

Page& PageDocks::current() const {
  Page* seen = nullptr;
  for (const auto& [dock, page] : pages_) {
    if (page->isAncestorOf(window_.focusWidget())) return *page;
    if (seen == nullptr && IsSeen(*page)) seen = page;
  }
  return seen == nullptr ? *pages_.front().second : *seen;
}

}  // namespace weir::monitor
