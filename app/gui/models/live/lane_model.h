#pragma once
// LaneModel: the runs that Watch shows as lanes: active and queued ones, those that ended recently,
// and those that the user selected.
//
// Order: active, queued, ended; within each the oldest first, so that variations keep the order of
// their launch. Rows move when their state changes. Every report of a run goes through its
// LaneTracker, even while the lane is not visible.
//
// Threads: the GUI thread. Owns: its rows. Failure: none; values that a run does not report are
// empty.
#include <QAbstractListModel>
#include <QString>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "app/gui/models/live/lane_tracker.h"
#include "app/gui/models/live/rank_lane.h"
#include "app/session/run_progress.h"
#include "backend/values/run_summary.h"

namespace millrace::gui {

struct LaneState {
    values::RunSummary run;
    LaneTracker tracker;
    session::RunProgress progress;
    std::vector<RankLane> ranks;  ///< by rank; kept after the rank's end
    std::int64_t sawEndMs = 0;  ///< when it was seen to end, by this machine's clock; 0: it was not

    /// "keep-30" of "movielens-dlrm", or the name of a run without a variation.
    QString title() const;
    /// "movielens-dlrm / keep-30".
    QString label() const;
    /// The sentence for the state: the trouble and how long it lasts, why it waits, why it failed,
    /// or its present activity.
    QString sentence(std::int64_t nowMs) const;
    std::optional<double> progressShare() const { return session::shareDone(run); }  ///< 0 to 1
    std::optional<double> secondsLeft(std::int64_t nowMs) const {
        return progress.secondsLeft(run, nowMs);
    }
    /// The age of the rates in seconds; nothing while they are current.
    std::optional<double> oldRatesSeconds(std::int64_t nowMs) const {
        return progress.oldRatesSeconds(run, nowMs);
    }
    double elapsedMs(std::int64_t nowMs) const {
        return 1'000 * session::elapsedSeconds(run, nowMs);
    }
    bool isEnded() const { return values::isEnded(run.state); }
    bool isGoing() const { return session::isGoing(run); }
};

/// "step 12,345 of 50,000", "step 120" if the total is unknown.
QString stepText(const values::Progress& progress);
/// "epoch 2 of 3", "" if unknown.
QString epochText(const values::Progress& progress);

class LaneModel : public QAbstractListModel {
    Q_OBJECT

 public:
    /// How long an ended run stays. The last ones that were seen to end stay until others end.
    static constexpr std::int64_t kRecentMs = 5 * 60'000;
    static constexpr int kNumEndedKept = 8;
    enum Role { kIdRole = Qt::UserRole, kStateRole, kShareRole, kSentenceRole };

    explicit LaneModel(QObject* parent = nullptr);

    /// Applies a delivery of the bridge (live_values.h has the shape); nowMs: this machine's clock.
    /// Strips survive a reset: runs that are not listed again are removed when the list is
    /// complete.
    void apply(bool isReset, const std::vector<values::RunSummary>& changed,
               const std::vector<std::string>& removed, std::int64_t nowMs);
    void listComplete();
    /// These runs stay in any state, until others are pinned. `runs`: as they are now.
    void pin(const std::vector<values::RunSummary>& runs, std::int64_t nowMs);
    /// Advances the clock: removes runs that ended too long ago. Cheap if there are none.
    void refresh(std::int64_t nowMs);
    /// Adds the stored times of a run or of one of its ranks; ignores unknown runs.
    void setHistory(const std::string& id, std::span<const LaneTracker::Point> points);
    void setRankHistory(const std::string& id, int rank,
                        std::span<const LaneTracker::Point> points);
    void clear();

    int numLanes() const { return static_cast<int>(lanes_.size()); }
    const LaneState& lane(int row) const { return *lanes_[static_cast<std::size_t>(row)]; }
    /// Null if there is none. Valid until the next change.
    const LaneState* find(const std::string& id) const;
    int rowOf(const std::string& id) const;  ///< -1: none
    int numGoing() const;

    int rowCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;

 private:
    bool isRecent(const values::RunSummary& run) const { return endOf(run) >= nowMs_ - kRecentMs; }
    /// The later of the daemon's end time and, if the end was seen, this machine's.
    std::int64_t endOf(const values::RunSummary& run) const;
    bool isWanted(const values::RunSummary& run) const;
    LaneState& take(const values::RunSummary& run);
    /// Sorts the rows; `touched`: ids whose rows changed.
    void arrange(const std::set<std::string>& touched);
    std::vector<std::string> wantedOrder() const;
    void removeUnwanted(const std::set<std::string>& wanted);

    std::map<std::string, std::shared_ptr<LaneState>> known_;  ///< also while no row shows it
    std::vector<std::shared_ptr<LaneState>> lanes_;
    std::set<std::string> pinned_, unconfirmed_;
    std::int64_t nowMs_ = 0;
};

}  // namespace millrace::gui
