#pragma once

#include <QTextBrowser>
#include <functional>
#include <memory>

#include "monitor_gui/view/page.h"

namespace weir::monitor {

/// How to read each page, with a picture of each that the page itself draws of a run; and the keys.
/// Nothing is drawn before it is first seen.
class HelpPage final : public Page {
  Q_OBJECT
 public:
  /// Makes a page of a name, or nullptr where there is none.
  using MakePage = std::function<std::unique_ptr<Page>(const QString& name)>;
  /// The run of the pictures, empty where there is none.
  using LoadRun = std::function<Run()>;
  HelpPage(MakePage make_page, LoadRun load_run, QWidget* parent = nullptr);

  void Refresh(const Look& look) override;
  /// It has no numbers.
  Table Export(const Look& look) const override;
  bool IsReady() const override;

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void ShowText();
  /// Draws the next page, and then those behind it.
  void DrawNext();

  const MakePage make_page_;
  const LoadRun load_run_;
  QTextBrowser* const text_;
  std::unique_ptr<Run> run_;
  std::unique_ptr<Page> drawn_;  // The page that lays itself out to be drawn.
  std::size_t next_ = 0;
};

}  // namespace weir::monitor
