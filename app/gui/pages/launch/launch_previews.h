#pragma once
// What each variation would keep and cost: asked of the daemon one after the other, what is ticked
// first, and kept for as long as its rows are the same.
//
// A figure belongs to a stream (the rows and what becomes of them) of a plan (the files as they
// are), so variations of one stream are counted once, and an edit that changes no row asks nothing.
// Threads: the GUI thread. Owns: the question under way, which ends when nobody wants it any more.
// Bounded: beyond kMostKept only figures that a variation has are kept.
#include <QHash>
#include <QObject>
#include <QStringList>
#include <QTimer>
#include <memory>
#include <string>
#include <vector>

#include "app/gui/bridge/daemon_bridge.h"
#include "app/gui/models/sheet/sheet_preview.h"

namespace millrace::gui {

class LaunchPreviews final : public QObject {
    Q_OBJECT

 public:
    static constexpr std::size_t kMostKept = 256;
    static constexpr int kRestMs = 400;            ///< of the keys, before it counts
    static constexpr double kSampleSeconds = 1.5;  ///< of one question

    explicit LaunchPreviews(DaemonBridge& daemon, QObject* parent = nullptr);

    /// The runs of a spec that is right, those in `first` before the others. What was asked for
    /// before and is not among them is given up.
    void want(const values::SpecSource& spec, const std::vector<values::CheckedRun>& runs,
              const QStringList& first);
    /// Gives up what is under way and what waits; figures stay.
    void stop();
    /// Nothing is counted for a page that nobody sees; what is left is when it is shown again. Not
    /// in sight at first.
    void setInSight(bool isInSight);
    /// Another daemon: other files.
    void forget();
    bool isIdle() const { return !timer_.isActive() && asking_ == nullptr; }

    /// By name of the variation, "" for the base.
    QHash<QString, SheetPreview> previews() const;

 Q_SIGNALS:
    void changed();

 private:
    struct Wanted {
        std::string variation, key;
    };
    struct Kept {
        std::string key;
        SheetPreview preview;
    };

    bool isWanted(const std::string& key) const;
    const SheetPreview* find(const std::string& key) const;
    void keep(const std::string& key, SheetPreview preview);
    void askNext();
    void answered(const std::string& key, const Result<values::PreviewReply>& reply);

    DaemonBridge& daemon_;
    QTimer timer_;
    values::SpecSource spec_;
    std::vector<Wanted> wanted_;
    std::vector<Kept> kept_;
    std::string askedKey_;
    bool isStopped_ = true, isInSight_ = false;
    std::unique_ptr<Following> asking_;
};

}  // namespace millrace::gui
