#pragma once
// The spec that is open: its text, where it lives, and what the daemon last said about it.
//
// Shared by the Launch and the Data page. Plain state with signals: it asks nobody (Launch has it
// checked). Threads: the GUI thread.
#include <QObject>
#include <QString>
#include <string>

#include "backend/values/inspection.h"

namespace millrace::gui {

class SpecDocument final : public QObject {
    Q_OBJECT

 public:
    using QObject::QObject;

    const QString& text() const { return text_; }
    /// Where it is stored; "" before it was saved.
    const QString& path() const { return path_; }
    /// Absolute; what relative paths of the spec are relative to.
    const QString& baseDir() const { return baseDir_; }
    bool isModified() const { return text_ != savedText_; }
    bool isEmpty() const { return text_.trimmed().isEmpty(); }
    /// Counts the changes of text and directory; a reply belongs to one of them.
    int revision() const { return revision_; }

    /// A file, or (path "") a pasted or a run's spec.
    void open(const QString& text, const QString& path, const QString& baseDir);
    void setText(const QString& text);
    /// Of a spec that was pasted, or whose data lies elsewhere.
    void setBaseDir(const QString& baseDir);
    void saved(const QString& path);

    values::SpecSource source() const;

    /// The newest reply, of revision checkedRevision(); columns are kept from an older one when a
    /// broken spec gives none.
    const values::CheckReply& checkReply() const { return reply_; }
    int checkedRevision() const { return checkedRevision_; }
    bool isChecked() const { return checkedRevision_ == revision_; }
    void setCheckReply(int revision, values::CheckReply reply);

 Q_SIGNALS:
    /// Text or directory changed.
    void changed();
    /// Another document was opened; `changed` follows.
    void opened();
    void checked();

 private:
    QString text_, savedText_, path_, baseDir_;
    int revision_ = 0, checkedRevision_ = -1;
    values::CheckReply reply_;
};

}  // namespace millrace::gui
