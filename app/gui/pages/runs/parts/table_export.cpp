#include "app/gui/pages/runs/parts/table_export.h"

#include <QClipboard>
#include <QFileDialog>
#include <QGuiApplication>
#include <QMenu>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/run_text.h"

namespace millrace::gui {

TableExport::TableExport(DaemonBridge& daemon, TableOf tableOf, QWidget* window)
    : QObject(window), daemon_(daemon), tableOf_(std::move(tableOf)), window_(window) {}

void TableExport::copy() {
    const TextTable table = tableOf_();
    put(asTsv(table),
        tr("Copied %n rows as a table.", nullptr, static_cast<int>(table.rows.size())));
}

void TableExport::copyMarkdown() {
    const TextTable table = tableOf_();
    put(asMarkdown(table),
        tr("Copied %n rows as Markdown.", nullptr, static_cast<int>(table.rows.size())));
}

void TableExport::put(const QString& text, const QString& sentence) {
    QGuiApplication::clipboard()->setText(text);
    say(Notice::Kind::kInfo, sentence);
}

void TableExport::save() {
    auto* dialog = new QFileDialog(window_, tr("Save the rows"), QString(),
                                   tr("CSV (*.csv);;Markdown (*.md)"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setFileMode(QFileDialog::AnyFile);
    dialog->setDefaultSuffix(QStringLiteral("csv"));
    connect(dialog, &QFileDialog::filterSelected, dialog, [dialog](const QString& filter) {
        dialog->setDefaultSuffix(filter.contains("*.md") ? QStringLiteral("md")
                                                         : QStringLiteral("csv"));
    });
    connect(dialog, &QFileDialog::fileSelected, this, &TableExport::write);
    dialog->open();
}

void TableExport::write(const QString& path) {
    const TextTable table = tableOf_();
    const bool isMarkdown = path.endsWith(QLatin1String(".md"), Qt::CaseInsensitive);
    const QString text = isMarkdown ? asMarkdown(table) : asCsv(table);
    daemon_.writeTextFile(path.toStdString(), text.toStdString(), this,
                          [this, path](const Result<std::string>& written) {
                              if (written.ok()) {
                                  say(Notice::Kind::kDone, tr("Saved %1.").arg(path));
                              } else {
                                  say(Notice::Kind::kError,
                                      qtext(std::string(messageOf(written.status()))));
                              }
                          });
}

void TableExport::addTo(QMenu& menu) {
    menu.addAction(tr("Copy rows as a table"), this, &TableExport::copy);
    menu.addAction(tr("Copy rows as Markdown"), this, &TableExport::copyMarkdown);
    menu.addAction(tr("Save rows as CSV or Markdown …"), this, &TableExport::save);
}

void TableExport::say(Notice::Kind kind, const QString& text) {
    Q_EMIT said({kind, text});
}

}  // namespace millrace::gui
