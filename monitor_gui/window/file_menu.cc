#include "monitor_gui/window/file_menu.h"

#include <QApplication>
#include <QFileDialog>
#include <QInputDialog>
#include <QMenuBar>
#include <QMessageBox>
#include <stdexcept>

#include "monitor_gui/window/demo.h"
#include "monitor_gui/window/main_window.h"

namespace weir::monitor {

FileMenu::FileMenu(MainWindow& window) : QObject(&window), window_(window) {
  QMenu& menu = *window.menuBar()->addMenu(tr("&File"));
  menu.addAction(tr("&Connect to a job…"), QKeySequence("Ctrl+N"), this, &FileMenu::AskForUrl);
  menu.addAction(tr("&Open a run log…"), QKeySequence::Open, this, &FileMenu::AskForFile);
  menu.addAction(tr("Co&mpare with a run log…"), QKeySequence("Ctrl+M"), this,
                 &FileMenu::AskForOther)
      ->setEnabled(!window.session().place().isEmpty());
  menu.addAction(tr("Play the &demo"), QKeySequence("Ctrl+D"), this,
                 [this] { window_.OpenInNewWindow(kDemoPlace); });
  record_ = menu.addAction(tr("&Record to a file…"), QKeySequence("Ctrl+R"), this,
                           &FileMenu::ToggleRecording);
  record_->setCheckable(true);
  record_->setEnabled(window.session().is_live());
  AddExports(*menu.addMenu(tr("&Export")));
  menu.addSeparator();
  menu.addAction(tr("Close the &window"), QKeySequence::Close, &window, &QWidget::close);
  menu.addAction(tr("&Quit"), QKeySequence::Quit, qApp, &QApplication::closeAllWindows);
  connect(&window.session(), &Session::RecordingEnded, this, &FileMenu::OnRecordingEnded);
}

void FileMenu::AddExports(QMenu& menu) {
  const auto add = [&](const QString& title, const QString& keys, const QString& ending,
                       const QString& filter) {
    menu.addAction(title, QKeySequence(keys), this, [this, title, ending, filter] {
      AskForExport(QString(title).remove('&').remove("…"), ending, filter);
    });
  };
  add(tr("Window as &PNG…"), "Ctrl+E", "png", tr("Images (*.png)"));
  add(tr("Numbers of the page as &CSV…"), "Ctrl+Shift+E", "csv", tr("Tables (*.csv)"));
  add(tr("Run as Perfetto &trace…"), "Ctrl+T", "json", tr("Chrome traces (*.json)"));
}

void FileMenu::AskForFile() {
  const QString path = QFileDialog::getOpenFileName(&window_, tr("Open a run log"), {},
                                                    tr("Run logs (*.weirlog);;All files (*)"));
  if (!path.isEmpty()) window_.OpenInNewWindow(path);
}

void FileMenu::AskForOther() {
  const QString path = QFileDialog::getOpenFileName(&window_, tr("Compare with a run log"), {},
                                                    tr("Run logs (*.weirlog);;All files (*)"));
  if (!path.isEmpty()) window_.OpenInNewWindow(window_.session().place(), path);
}

void FileMenu::AskForUrl() {
  bool well = false;
  const QString url =
      QInputDialog::getText(&window_, tr("Connect to a job"),
                            tr("Address of rank 0 (weirrun --metrics-port 9400 opens it):"),
                            QLineEdit::Normal, "http://localhost:9400", &well);
  if (well && !url.isEmpty()) window_.OpenInNewWindow(url);
}

void FileMenu::ToggleRecording(bool wanted) {
  if (!wanted) return window_.session().StopRecording();
  const QString path = QFileDialog::getSaveFileName(&window_, tr("Record to a file"), "run.weirlog",
                                                    tr("Run logs (*.weirlog)"));
  record_->setChecked(!path.isEmpty());
  if (!path.isEmpty()) window_.session().Record(path);
}

void FileMenu::OnRecordingEnded(const QString& why) {
  record_->setChecked(false);
  if (!why.isEmpty()) QMessageBox::warning(&window_, tr("The recording has ended"), why);
}

void FileMenu::AskForExport(const QString& title, const QString& ending, const QString& filter) {
  const QString path = QFileDialog::getSaveFileName(&window_, title, "weir." + ending, filter);
  if (path.isEmpty()) return;
  try {
    window_.ExportTo(path.endsWith("." + ending) ? path : path + "." + ending);
  } catch (const std::runtime_error& why) {
    QMessageBox::warning(&window_, title, QString::fromUtf8(why.what()));
  }
}

}  // namespace weir::monitor
