#pragma once
// LaunchPreviews: requests from the daemon what each variation would keep and cost, one after the
// other, ticked ones first, and caches it while its rows are the same.
//
// A figure belongs to a stream (the rows and their processing) of a plan (the files as they are),
// so variations of one stream are counted once, and an edit that changes no row makes no request.
// Threads: the GUI thread. Owns: the pending request, which is cancelled when it is no longer
// needed. Bounded: beyond kMostKept only figures of present variations are kept.
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
    static constexpr int kRestMs = 400;            ///< pause in typing before counting starts
    static constexpr double kSampleSeconds = 1.5;  ///< per request

    explicit LaunchPreviews(DaemonBridge& daemon, QObject* parent = nullptr);

    /// Sets the runs of a valid spec, those in `first` before the others. Cancels earlier requests
    /// for other runs.
    void want(const values::SpecSource& spec, const std::vector<values::CheckedRun>& runs,
              const QStringList& first);
    /// Cancels running and waiting requests; figures stay.
    void stop();
    /// While the page is hidden nothing is counted; the rest follows when it is shown again. Hidden
    /// at first.
    void setInSight(bool isInSight);
    /// Another daemon has other files: forgets all figures.
    void forget();
    bool isIdle() const { return !timer_.isActive() && asking_ == nullptr; }

    /// By the variation's name, "" for the base.
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
