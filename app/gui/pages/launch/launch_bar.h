#pragma once
// LaunchBar: the settings of a launch: project, tags, note, the summary, and the button. Above
// them, if the spec has overrides or is a run's: the overrides, and the differences from the run.
//
// Threads: the GUI thread.
#include <QFrame>
#include <QLineEdit>
#include <QPushButton>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/widgets/badge.h"
#include "app/gui/widgets/panels.h"
#include "backend/values/run_summary.h"
#include "backend/values/submit.h"

class QSettings;

namespace millrace::gui {

class SpecDocument;

class LaunchBar final : public QFrame {
    Q_OBJECT

 public:
    explicit LaunchBar(QWidget* parent = nullptr);

    QString project() const { return project_->text().trimmed(); }
    QString note() const { return note_->text().trimmed(); }
    /// Parses "key=value, key=value"; `problem` receives the error.
    std::map<std::string, std::string> tags(QString* problem = nullptr) const;
    QString tagText() const { return tags_->text(); }
    /// Parses "batch.seed=144 'dataset.where=rating > 3'"; nothing while a quote is open.
    std::optional<std::vector<std::string>> sets() const;
    void showSets(const std::vector<std::string>& sets);
    /// Opens the field for overrides.
    void editSets();
    /// Shows the differences from the run that the document was opened from, if any.
    void showOrigin(const SpecDocument& document, bool hasErrors);
    const ElidedLabel* origin() const { return origin_; }
    /// Fills in a run's settings; the next document removes them, but not what the user typed.
    void fillFrom(const values::RunSummary& run);
    void dropFilled();
    void save(QSettings& settings) const;
    void restore(QSettings& settings);
    void setFields(const QString& project, const QString& tags, const QString& note);

    /// "3 runs: base, keep-30, keep-10", or what must be done first.
    void showSummary(const QString& summary, bool canLaunch);
    void showLaunching(bool isLaunching);
    const ElidedLabel* summary() const { return summary_; }
    QPushButton* button() const { return launch_; }

 Q_SIGNALS:
    void setsChanged();
    void launchWanted();
    void copyWanted();

 private:
    QWidget* buildUpper();
    QLineEdit* field(QHBoxLayout& row, const QString& label, const QString& placeholder, int width);
    void checkTags();

    void showOrigin(Tone tone, const QString& sentence);

    QWidget* upper_ = nullptr;
    std::pair<QString, QString> filled_;  ///< project and tags
    QLineEdit *project_, *tags_, *note_, *sets_ = nullptr;
    ElidedLabel* origin_ = nullptr;
    ElidedLabel* summary_;
    QPushButton *copy_, *launch_;
    bool canLaunch_ = false, isLaunching_ = false;
};

/// The number of errors in the base, in all runs, or in a variation among `ticked`: the reader
/// reports the variation of an error.
int numBlocking(const std::vector<values::SpecError>& errors, const QStringList& ticked);
QString launchSummary(const QStringList& variations, bool hasBase);
/// The command for the same launch; `path`: the spec's saved path.
QString launchCommand(const QString& path, const QStringList& variations, bool hasBase, bool areAll,
                      const LaunchBar& bar);
/// "team=t0, why='a, b'": in the format of the tags field.
QString tagsText(const std::map<std::string, std::string>& tags);

}  // namespace millrace::gui
