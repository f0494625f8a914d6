#pragma once
// TableExport: copies a table to the clipboard, for spreadsheets or as Markdown, or saves it to a
// file.
//
// Threads: the GUI thread; files are written on the bridge's. Failure: a notice.
#include <QObject>
#include <functional>

#include "app/gui/models/text_table.h"
#include "app/gui/pages/page.h"

class QMenu;
class QWidget;

namespace millrace::gui {

class DaemonBridge;

class TableExport final : public QObject {
    Q_OBJECT

 public:
    using TableOf = std::function<TextTable()>;
    /// `tableOf`: called at each use.
    TableExport(DaemonBridge& daemon, TableOf tableOf, QWidget* window);

    void copy();
    void copyMarkdown();
    /// Asks for a path; a file named *.md becomes Markdown, others CSV.
    void save();
    /// Adds the three actions as entries.
    void addTo(QMenu& menu);

 Q_SIGNALS:
    void said(const millrace::gui::Notice& notice);

 private:
    void put(const QString& text, const QString& sentence);
    void write(const QString& path);
    void say(Notice::Kind kind, const QString& text);

    DaemonBridge& daemon_;
    TableOf tableOf_;
    QWidget* window_;
};

}  // namespace millrace::gui
