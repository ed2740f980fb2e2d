#include "monitor_gui/view/pages/help_page.h"

#include <QEvent>
#include <QTimer>
#include <QVBoxLayout>
#include <utility>

#include "monitor_gui/view/pages/help_text.h"

namespace weir::monitor {
namespace {

constexpr int kTextWidth = 800;
constexpr int kPageWidth = 960;
constexpr qreal kScale = 0.8;  // Scale of a page in its picture.
constexpr int kLayoutMs = 50;  // Lists lay themselves out when they have time.

QImage ScaledPictureOf(QWidget& page) {
  const QImage image = page.grab().toImage();
  return image.scaled(image.size() * kScale, Qt::IgnoreAspectRatio, Qt::SmoothTransformation);
}

QUrl PictureOf(const HelpTopic& topic) { return QUrl("picture:" + topic.name); }

}  // namespace

HelpPage::HelpPage(MakePage make_page, LoadRun load_run, QWidget* parent)
    : Page(parent),
      make_page_(std::move(make_page)),
      load_run_(std::move(load_run)),
      text_(new QTextBrowser(this)) {
  text_->setFrameShape(QFrame::NoFrame);
  text_->setAccessibleName(tr("help"));
  text_->document()->setDocumentMargin(24);
  // Longer lines are hard to read.
  text_->setLineWrapMode(QTextEdit::FixedPixelWidth);
  text_->setLineWrapColumnOrWidth(kTextWidth);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(text_);
  setFocusProxy(text_);
}

void HelpPage::Refresh(const Look& /*look*/) {
  if (run_ != nullptr) return;
  run_ = std::make_unique<Run>(load_run_());
  ShowText();
  DrawNext();
}

Table HelpPage::Export(const Look& /*look*/) const { return {}; }

bool HelpPage::IsReady() const {
  return run_ != nullptr && (run_->ranks().empty() || next_ == HelpTopics().size());
}

void HelpPage::ShowText() {
  QString html = "<h1>" + tr("How to read this") + "</h1>" + HelpIntroduction() + "<h2>" +
                 tr("Keys") + "</h2>" + HelpKeys();
  for (const HelpTopic& topic : HelpTopics()) {
    html += "<h2>" + topic.title + "</h2>" + topic.text + "<p><img width=\"" +
            QString::number(qRound(kPageWidth * kScale)) + "\" height=\"" +
            QString::number(qRound(topic.height * kScale)) + "\" src=\"" +
            PictureOf(topic).toString() + "\"></p>";
  }
  text_->setHtml(html);
}

void HelpPage::DrawNext() {
  if (next_ == HelpTopics().size() || run_->ranks().empty()) return;
  const HelpTopic& topic = HelpTopics()[next_];
  drawn_ = make_page_(topic.name);
  drawn_->setPalette(palette());
  drawn_->resize(kPageWidth, topic.height);
  // Laid out as if visible, but on no screen.
  drawn_->setAttribute(Qt::WA_DontShowOnScreen);
  drawn_->show();
  drawn_->Refresh({.run = *run_, .at = MomentOf(*run_, StepsOf(*run_).last)});
  QTimer::singleShot(kLayoutMs, this, [this, &topic] {
    drawn_->Refresh({.run = *run_, .at = MomentOf(*run_, StepsOf(*run_).last)});
    text_->document()->addResource(QTextDocument::ImageResource, PictureOf(topic),
                                   ScaledPictureOf(*drawn_));
    drawn_.reset();
    ++next_;
    DrawNext();
    text_->document()->markContentsDirty(0, text_->document()->characterCount());
  });
}

void HelpPage::changeEvent(QEvent* event) {
  Page::changeEvent(event);
  if (event->type() != QEvent::PaletteChange || run_ == nullptr) return;
  if (std::exchange(next_, 0) == HelpTopics().size()) DrawNext();
}

}  // namespace weir::monitor
