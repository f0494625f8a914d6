#pragma once
// SpecDocument: the open spec: its text, its file, and the daemon's last reply about it.
//
// Shared by the Launch and the Data page. Plain state with signals: it makes no requests (Launch
// checks it). Threads: the GUI thread.
#include <QObject>
#include <QString>
#include <memory>
#include <string>
#include <vector>

#include "backend/values/inspection.h"
#include "backend/values/run_detail.h"

namespace millrace::gui {

class SpecDocument final : public QObject {
    Q_OBJECT

 public:
    using QObject::QObject;

    const QString& text() const { return text_; }
    /// Its file; "" before it was saved.
    const QString& path() const { return path_; }
    /// Absolute; the base of the spec's relative paths.
    const QString& baseDir() const { return baseDir_; }
    bool isModified() const { return text_ != savedText_; }
    bool isEmpty() const { return text_.trimmed().isEmpty(); }
    /// Counts the changes of text, directory and sets; a reply belongs to one of them.
    int revision() const { return revision_; }

    /// Overrides of the text for this launch, as `--set`: "batch.seed=144".
    const std::vector<std::string>& sets() const { return sets_; }
    /// The run whose spec was opened for editing; null: none.
    const std::shared_ptr<const values::RunDetail>& origin() const { return origin_; }

    /// Opens a file, or (path "") a pasted spec or a run's.
    void open(const QString& text, const QString& path, const QString& baseDir);
    /// The spec was opened from a run: takes over the run's overrides.
    void setOrigin(std::shared_ptr<const values::RunDetail> run);
    void setSets(std::vector<std::string> sets);
    void setText(const QString& text);
    /// For a spec that was pasted, or whose data is elsewhere.
    void setBaseDir(const QString& baseDir);
    void saved(const QString& path);

    values::SpecSource source() const;

    /// The newest reply, for revision checkedRevision(). If a broken spec gives no columns, those
    /// of an older reply are kept.
    const values::CheckReply& checkReply() const { return reply_; }
    int checkedRevision() const { return checkedRevision_; }
    bool isChecked() const { return checkedRevision_ == revision_; }
    void setCheckReply(int revision, values::CheckReply reply);

 Q_SIGNALS:
    /// Text, directory or sets changed.
    void changed();
    /// Another document was opened; `changed` follows.
    void opened();
    void checked();

 private:
    QString text_, savedText_, path_, baseDir_;
    std::vector<std::string> sets_;
    std::shared_ptr<const values::RunDetail> origin_;
    int revision_ = 0, checkedRevision_ = -1;
    values::CheckReply reply_;
};

}  // namespace millrace::gui
