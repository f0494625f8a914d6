#pragma once
// The lead feed's scheduler: decides which data worker computes which segment.
//
// Segments have numbers in the order of delivery and are given earliest first. A segment goes to
// the worker with a free place that has read most of its files; a worker with an idle thread comes
// before workers that would queue it. The earliest undelivered segment may exceed a worker's places
// by one: without it nothing could progress. The first answer counts and others are withdrawn, so
// one generation of a segment at a time can be delivered.
//
// A segment is given again, with the next generation, if its worker died, fell silent or left. If
// the earliest segment is late, it is also given to a second worker, for at most a tenth of all
// segments.
//
// If a worker died on a segment, the segment goes to one worker at a time, which may be any. It is
// given up, and ends the stream at its position, in two cases:
// - a second worker dies on it that got it after the first death;
// - two workers that had it at once died, and aloneAfterDeathNs passed without a worker.
// The feed computes it only if a single worker died on it and that time passed without a worker.
// The feed also computes segments that two workers lost otherwise or that no present worker can
// compute, and all segments after aloneNs without any worker.
//
// Time is an argument, in nanoseconds of any clock. Steps back count as 0, and a step forward as at
// most a second (then the feed itself did not run), so that no clock jump makes a worker late.
// Threads: one owner. Failure: none; a report about a segment that the worker does not hold returns
// false and changes nothing.
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

namespace millrace::stream {

using WorkerId = std::int64_t;  ///< from join(); never reused

class StreamMaster {
 public:
    struct Options {
        std::int64_t silenceNs = 2'000'000'000;    ///< without a report: the worker is lost
        std::int64_t leastLateNs = 2'000'000'000;  ///< a segment is not late before
        double lateMedians = 3;  ///< nor before this many medians of the recent times
        std::int64_t firstLateNs = 30'000'000'000;  ///< instead of the medians while there are none
        double mostTwice = 0.1;  ///< share of the segments that are given to two workers at a time
        std::int64_t aloneNs = 5'000'000'000;  ///< without any worker: the feed computes
        bool isFeedBeside = false;             ///< the feed also computes while it has workers
        /// The same for a segment on which a worker died: longer than starting another worker
        /// takes.
        std::int64_t aloneAfterDeathNs = 15'000'000'000;
        int unablesMost = 3;  ///< consecutive unable() calls after which a worker is sent away
        int workersLeast = 0, workersMost = 0;  ///< for adviseWorkers()
        std::uint32_t firstGeneration = 0;      ///< lowest generation of any order
    };

    /// A segment that one worker holds or computes.
    struct Hand {
        WorkerId worker = 0;
        std::int64_t number = 0;
        std::uint32_t generation = 0;
        bool operator==(const Hand&) const = default;
    };
    struct PoisonSegment {
        std::int64_t number = 0;
        std::vector<std::string> workers;  ///< names of those that died
    };
    /// Actions to take now, in this order.
    struct Decisions {
        std::vector<WorkerId> silent;    ///< lost for lack of reports: ignore all of their messages
        std::vector<WorkerId> unfit;     ///< sent away: unable too often
        std::vector<Hand> withdrawn;     ///< no longer needed
        std::vector<WorkerId> farewell;  ///< leaving workers that hold nothing any more
        std::vector<Hand> orders;
        std::vector<std::int64_t> here;     ///< to be computed in the feed
        std::vector<PoisonSegment> deadly;  ///< each ends the stream at its position
    };
    enum class Loss {
        kDied,   ///< its connection ended without a farewell
        kBroken  ///< its messages cannot be trusted, or a link was cut
    };
    /// Waits of the ranks since the last advice, as shares of that time, 0 to 1.
    struct RankDemand {
        double starved = 0;                       ///< delivery waited for a segment
        std::map<WorkerId, double> awaited = {};  ///< frames that the worker held were awaited
    };

    explicit StreamMaster(const Options& options) : options_(options) {}

    /// Adds the next segment in order, which is not being computed. `files`: indices of those it
    /// reads.
    void add(std::int64_t number, std::span<const std::uint32_t> files);
    /// Number of further segments that could be given out at once.
    std::int64_t room() const;
    /// All of its frames are delivered, or the feed computes it: forgets it.
    void delivered(std::int64_t number);

    /// `places`: segments that it may have at a time, ordered or held for the feed. `threads`: on
    /// which it computes.
    WorkerId join(std::string name, int places, int threads, std::int64_t nowNs);
    /// A sign of life, with its current number of places.
    void report(WorkerId worker, int places, std::int64_t nowNs);
    /// It starts to compute a segment: its death before done() counts against the segment.
    bool started(const Hand& hand);
    /// It holds the segment's frames. True: the first answer, which counts.
    bool done(const Hand& hand, std::int64_t nowNs);
    /// It cannot compute the segment (missing file, too little memory); another worker may.
    bool unable(const Hand& hand);
    /// It releases the segment to have memory for an earlier one: given again, counts against
    /// nobody.
    bool gaveBack(const Hand& hand);
    /// It takes no more segments and goes (Decisions::farewell) once it holds nothing.
    void leave(WorkerId worker);
    /// It is gone.
    void lose(WorkerId worker, Loss loss) { drop(worker, loss == Loss::kDied); }

    /// Call after every change, and every half second.
    Decisions decide(std::int64_t nowNs);

    /// Number of workers that the stream should have, between the options' least and most: more at
    /// once if the ranks starve, fewer if some were idle for half a minute. Not more if the links
    /// are the limit: frames of most workers are awaited, while they compute nothing because all of
    /// their places hold computed segments. Call about every second.
    int adviseWorkers(const RankDemand& demand, std::int64_t nowNs);

    /// Whether it was ordered, and neither answered nor withdrawn.
    bool isComputing(const Hand& hand) const { return holderOf(hand) != nullptr; }
    /// Whether these are the frames that count.
    bool holds(const Hand& hand) const;
    std::size_t numWorkers() const { return workers_.size(); }
    /// Returns true if aloneNs passed without a worker that may get segments.
    bool isAlone() const { return isAloneFor(options_.aloneNs); }
    /// Returns true if the feed computes segments that are not added yet.
    bool computesHere() const { return options_.isFeedBeside || isAlone(); }
    /// Number of segments that were ordered from a second worker while the first computed.
    std::int64_t numTwice() const { return numTwice_; }

 private:
    /// The files that a worker read last: a small cache; each place holds the last file mapped to
    /// it.
    class FilesRead {
     public:
        void add(std::span<const std::uint32_t> files);
        std::size_t count(std::span<const std::uint32_t> files) const;

     private:
        static constexpr std::size_t kPlaces = 1024;
        std::vector<std::uint32_t> files_ = std::vector<std::uint32_t>(kPlaces, ~0U);
    };
    struct Holder {
        WorkerId worker = 0;
        std::uint32_t generation = 0;
        std::int64_t orderedNs = 0, startedNs = -1;
    };
    struct Segment {
        std::vector<std::uint32_t> files;
        std::vector<Holder> holders;        ///< workers that compute it: two at most
        std::optional<Holder> keeper;       ///< the worker that answered first
        std::uint32_t generation = 0;       ///< of the next order
        bool isHere = false;                ///< computed in the feed, or given up
        std::uint32_t deathGeneration = 0;  ///< orders below it were given before the last death
        std::vector<std::string> dead;      ///< names of workers that died on it
        std::vector<std::string> deadToo;   ///< of those that had it when one of `dead` died
        std::set<WorkerId> losers;          ///< workers that lost it otherwise
    };
    struct Worker {
        std::string name;
        int places = 0, threads = 1, unables = 0;
        std::int64_t heardNs = 0;
        double linkBound = 0;  ///< recent share of the advices at which its link was its limit
        bool isLeaving = false;
        std::set<std::int64_t> numbers;  ///< of the segments that it has
        FilesRead files;
    };
    using Segments = std::map<std::int64_t, Segment>;

    void advance(std::int64_t nowNs);
    Holder* holderOf(const Hand& hand);
    const Holder* holderOf(const Hand& hand) const;
    void withdraw(const Segment& segment, std::int64_t number, WorkerId exceptFor);
    void letGo(WorkerId id, std::int64_t number);
    static void blame(Segment& segment, const Holder& holder, const std::string* deadName);
    void giveAgain(std::int64_t number, const Segment& segment);
    void drop(WorkerId id, bool isDeath);
    bool isAble(const Segment& segment, WorkerId id, const Worker& worker) const;
    /// Returns false if all workers are leaving, and so get no segments.
    bool hasStaying() const;
    bool isAloneFor(std::int64_t ns) const {
        return !hasStaying() && elapsedNs_ - presentNs_ >= ns;
    }
    bool isDeadly(const Segment& segment) const;
    bool mustBeHere(const Segment& segment) const;
    bool give(std::int64_t number, Segment& segment, bool isForemost);
    void loseSilent();
    void giveLate();
    void giveWaiting();
    void sayFarewell();
    std::int64_t lateNs() const;
    bool isFull(WorkerId id, const Worker& worker) const;
    bool areLinksTheLimit(const RankDemand& demand);
    Segments::iterator foremost();

    const Options options_;
    std::optional<std::int64_t> lastNs_;
    std::int64_t elapsedNs_ = 0;  ///< time since the first call, without jumps
    std::int64_t presentNs_ = 0;  ///< when there was a worker last
    WorkerId nextWorker_ = 1;
    std::map<WorkerId, Worker> workers_;
    Segments segments_;               ///< added and not delivered
    std::set<std::int64_t> waiting_;  ///< not being computed
    Decisions decisions_;
    std::int64_t numGiven_ = 0, numTwice_ = 0;
    static constexpr std::size_t kTimes = 64;
    std::array<std::int64_t, kTimes> times_{};  ///< from order to answer, most recent ones
    std::size_t numTimes_ = 0;

    double busyNs_ = 0;  ///< threads' time since the last advice
    std::int64_t advisedNs_ = 0, idleSinceNs_ = -1;
    int advice_ = 0;
};

}  // namespace millrace::stream
