#include "monitor_gui/view/pages/lanes_page.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QVBoxLayout>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <utility>

#include "monitor_gui/view/style/empty_text.h"

namespace weir::monitor {
namespace {

constexpr std::int64_t kShortest = 10'000;            // 10 us
constexpr std::int64_t kLongest = 3'600'000'000'000;  // 1 h
constexpr std::int64_t kAtFirst = 1'000'000'000;
constexpr std::size_t kStepsAtFirst = 10;
constexpr double kZoomOfKey = 1.5;
constexpr double kMoveOfKey = 100;  // Pixels.

/// Covers the last steps of the first rank, as many as can be told apart.
std::int64_t LengthOfSteps(const Look& look) {
  for (const auto& [rank, known] : look.run.ranks()) {
    const auto steps = known.StepsUntil(look.at.step, kStepsAtFirst);
    if (!steps.empty()) return steps.back().end_ns - steps.front().start_ns;
  }
  return kAtFirst;
}

}  // namespace

LanesPage::LanesPage(Looking looking, QWidget* parent)
    : Page(parent),
      looking_(std::move(looking)),
      list_(new QListView(this)),
      delegate_(new LaneDelegate(list_)),
      axis_(new TimeAxis(LaneDelegate::kNameWidth, this)) {
  list_->setModel(&model_);
  new EmptyText(*list_, tr("No rank is known yet."));
  list_->setItemDelegate(delegate_);
  list_->setSelectionMode(QAbstractItemView::NoSelection);
  list_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list_->setFrameShape(QFrame::NoFrame);
  list_->setAccessibleName(tr("lanes"));
  list_->viewport()->installEventFilter(this);
  list_->viewport()->setMouseTracking(true);
  list_->installEventFilter(this);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(axis_);
  layout->addWidget(list_);
  setFocusProxy(list_);
}

void LanesPage::Refresh(const Look& look) {
  origin_ns_ = look.run.oldest_ns();
  const std::int64_t end = look.sides().front().end_ns();
  if (goes_with_step_ && end > 0) {
    const std::int64_t length = zoomed_ ? window_.length_ns() : LengthOfSteps(look);
    window_ = {end - length, end};
  }
  model_.Refresh(look, window_, LaneWidth());
  axis_->Show(window_, origin_ns_);
  if (delegate_->FitRows(model_.rowCount(), list_->viewport()->height())) list_->doItemsLayout();
  list_->viewport()->update();
}

void LanesPage::SetWindow(TimeWindow window) {
  zoomed_ = true;
  goes_with_step_ = false;
  window_ = window;
  emit Moved(window.end_ns);
}

int LanesPage::LaneWidth() const {
  return std::max(1, list_->viewport()->width() - LaneDelegate::kNameWidth);
}

std::int64_t LanesPage::TimeAt(double x) const {
  const double part = (x - LaneDelegate::kNameWidth) / LaneWidth();
  return window_.start_ns +
         static_cast<std::int64_t>(part * static_cast<double>(window_.length_ns()));
}

void LanesPage::Zoom(double factor, double x) {
  zoomed_ = true;
  const auto length =
      std::clamp(static_cast<std::int64_t>(static_cast<double>(window_.length_ns()) * factor),
                 kShortest, kLongest);
  // The point under the mouse stays there; the viewed step stays at the edge.
  const std::int64_t fixed = goes_with_step_ ? window_.end_ns : TimeAt(x);
  const double part =
      static_cast<double>(fixed - window_.start_ns) / static_cast<double>(window_.length_ns());
  const std::int64_t start = fixed - static_cast<std::int64_t>(part * static_cast<double>(length));
  window_ = {start, start + length};
  emit RefreshWanted();
}

void LanesPage::Move(double pixels) {
  const auto shift =
      static_cast<std::int64_t>(pixels / LaneWidth() * static_cast<double>(window_.length_ns()));
  SetWindow({window_.start_ns + shift, window_.end_ns + shift});
}

bool LanesPage::eventFilter(QObject* watched, QEvent* event) {
  if (event->type() == QEvent::KeyPress) {
    keyPressEvent(static_cast<QKeyEvent*>(event));
    return event->isAccepted();
  }
  if (watched != list_->viewport()) return false;
  switch (event->type()) {
    case QEvent::Wheel: {
      const auto* wheel = static_cast<QWheelEvent*>(event);
      if (wheel->modifiers().testFlag(Qt::ShiftModifier)) return false;  // Scrolls the list.
      Zoom(std::pow(kZoomOfKey, -wheel->angleDelta().y() / 120.0), wheel->position().x());
      return true;
    }
    case QEvent::MouseButtonPress:
      drag_x_ = static_cast<QMouseEvent*>(event)->position().x();
      return false;
    case QEvent::MouseMove:
      if (drag_x_) {
        const double x = static_cast<QMouseEvent*>(event)->position().x();
        Move(*drag_x_ - x);
        drag_x_ = x;
      } else {
        emit StepHovered(StepAt(static_cast<QMouseEvent*>(event)->position().x()));
      }
      return drag_x_.has_value();
    case QEvent::Leave:
      emit StepHovered(std::nullopt);
      return false;
    case QEvent::MouseButtonRelease:
      drag_x_.reset();
      return false;
    case QEvent::ToolTip: {
      const auto* help = static_cast<QHelpEvent*>(event);
      ShowToolTip(help->pos(), help->globalPos());
      return true;
    }
    default:
      return false;
  }
}

std::optional<std::int64_t> LanesPage::StepAt(double x) const {
  if (x < LaneDelegate::kNameWidth) return std::nullopt;
  std::optional<std::int64_t> step;
  looking_([&](const Look& look) {
    const std::int64_t before = monitor::StepAt(look.run, TimeAt(x));
    const StepSpan steps = StepsOf(look.run);
    // Of the last step that had ended by then, the next one.
    if (!steps.is_empty()) step = std::min(StepFrom(look.run, before, 1), steps.last);
  });
  return step;
}

void LanesPage::Hover(std::optional<std::int64_t> step) {
  looking_([&](const Look& look) { model_.Hover(look, step); });
  list_->viewport()->update();
}

void LanesPage::ShowToolTip(const QPoint& at, const QPoint& global) {
  const QModelIndex index = list_->indexAt(at);
  QString text;
  if (index.isValid() && at.x() > LaneDelegate::kNameWidth) {
    looking_([&](const Look& look) { text = model_.Describe(index.row(), TimeAt(at.x()), look); });
  }
  QToolTip::showText(global, text, list_);
}

void LanesPage::keyPressEvent(QKeyEvent* event) {
  const double middle = LaneDelegate::kNameWidth + LaneWidth() / 2.0;
  const bool moves = event->modifiers().testFlag(Qt::ShiftModifier);
  event->accept();
  switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      return Zoom(1 / kZoomOfKey, middle);
    case Qt::Key_Minus:
      return Zoom(kZoomOfKey, middle);
    case Qt::Key_Left:
      return moves ? Move(-kMoveOfKey) : event->ignore();
    case Qt::Key_Right:
      return moves ? Move(kMoveOfKey) : event->ignore();
    default:
      event->ignore();
  }
}

Table LanesPage::Export(const Look& look) const { return model_.Export(look, origin_ns_); }

}  // namespace weir::monitor
